#include "program/builder.h"

#include <string.h>

#include "base/span.h"
#include "program/recorder.h"

/* What the builder knows of a template beyond the template. */
typedef struct known_template {
    uint64_t hash;
    uint32_t *key; /* gadget, parameter, shape */
    size_t key_words;
    zk_lit *out; /* [n_out] in local variables */
    size_t n_out;
} known_template;

typedef struct port_slot {
    uint32_t generation, port, local;
} port_slot;

struct zk_builder {
    const char *name;
    uint64_t start_ns;
    zk_coefs coefs;
    zk_recorder rec;
    ZK_LIST(zk_template) templates;
    ZK_LIST(known_template) known; /* parallel to templates */
    uint32_t *slots;               /* [slot_mask + 1] template number + 1 by hash */
    size_t slot_mask;
    ZK_LIST(zk_instance) instances;
    ZK_LIST(uint32_t) level; /* of each instance */
    ZK_LIST(uint32_t) ports;
    uint32_t n_inputs, n_aux, n_rows, n_wide, n_hints;
    /* Scratch of one call. */
    ZK_LIST(uint32_t) key;
    ZK_LIST(zk_lit) in;
    port_slot *seen; /* [seen_mask + 1] */
    size_t seen_mask;
    uint32_t generation;
    cuzk_err err; /* sticky */
};

static void fail(zk_builder *b, cuzk_status status, const char *what) {
    (void)ZK_FAIL(&b->err, status, "building circuit %s: %s", b->name, what);
}

cuzk_status zk_builder_create(zk_builder **builder, const char *name, cuzk_err *err) {
    *builder = NULL;
    zk_builder *b = zk_calloc(1, sizeof *b);
    if (!b) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "building circuit %s: no memory", name);
    b->name = name;
    b->start_ns = zk_now_ns();
    b->n_inputs = 1;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_coefs_init(&b->coefs, err));
    zk_recorder_init(&b->rec, &b->coefs);
    b->slot_mask = 255;
    b->slots = zk_calloc(b->slot_mask + 1, sizeof *b->slots);
    b->seen_mask = 2047;
    b->seen = zk_calloc(b->seen_mask + 1, sizeof *b->seen);
    /* from the start, so that there is an array to point into before the first port */
    if (!b->slots || !b->seen || !ZK_RESERVE(&b->ports, 1))
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "building circuit %s: no memory", name));
    *builder = b;
    return CUZK_OK;
out:
    zk_builder_destroy(b);
    return status;
}

void zk_builder_destroy(zk_builder *b) {
    if (!b) return;
    for (size_t i = 0; i < b->templates.n; i++) zk_template_free(&b->templates.items[i]);
    for (size_t i = 0; i < b->known.n; i++) {
        free(b->known.items[i].key);
        free(b->known.items[i].out);
    }
    free(b->templates.items);
    free(b->known.items);
    free(b->slots);
    free(b->instances.items);
    free(b->level.items);
    free(b->ports.items);
    free(b->key.items);
    free(b->in.items);
    free(b->seen);
    zk_recorder_free(&b->rec);
    zk_coefs_free(&b->coefs);
    free(b);
}

uint32_t zk_builder_n_hints(const zk_builder *b) { return b->n_hints; }
cuzk_status zk_builder_status(const zk_builder *b) { return b->err.status; }

/* ---- one call ---- */

/* Codes of inputs in a key. */
enum { KEY_CONST = 0, KEY_NEW = 2, KEY_AGAIN = 1u << 31 };

static bool begin_key(zk_builder *b, const zk_gadget *gadget, const void *param, size_t param_bytes, size_t n_in) {
    size_t param_words = (param_bytes + 3) / 4;
    if (n_in > ZK_REC_INDEX_MASK || param_bytes > ZK_REC_INDEX_MASK) return false;
    if (!ZK_RESERVE(&b->key, 4 + param_words + n_in) || !ZK_RESERVE(&b->in, n_in + 1)) return false;
    uint64_t id = (uint64_t)(uintptr_t)gadget;
    uint32_t *key = b->key.items;
    key[0] = (uint32_t)id;
    key[1] = (uint32_t)(id >> 32);
    key[2] = (uint32_t)param_bytes;
    key[3] = (uint32_t)n_in;
    if (param_words) {
        key[3 + param_words] = 0;
        memcpy(key + 4, param, param_bytes);
    }
    b->key.n = 4 + param_words;
    size_t mask = b->seen_mask;
    while (mask < 2 * n_in) mask = 2 * mask + 1;
    if (mask != b->seen_mask) {
        port_slot *seen = zk_calloc(mask + 1, sizeof *seen);
        if (!seen) return false;
        free(b->seen);
        b->seen = seen;
        b->seen_mask = mask;
    }
    if (++b->generation == 0) {
        memset(b->seen, 0, (b->seen_mask + 1) * sizeof *b->seen);
        b->generation = 1;
    }
    return true;
}

/* Key, local literals and ports of the inputs. The ports are appended to the program's. */
static bool bind_inputs(zk_builder *b, const zk_cell *in, size_t n_in, uint32_t *n_ports) {
    uint32_t *key = b->key.items + b->key.n, n = 0;
    if (!ZK_RESERVE(&b->ports, b->ports.n + n_in)) return false;
    uint32_t *ports = b->ports.items + b->ports.n;
    for (size_t i = 0; i < n_in; i++) {
        uint32_t neg = (uint32_t)in[i] & 1, port = (uint32_t)(in[i] >> 1);
        if (port == ZK_PORT_INPUT) {
            key[i] = KEY_CONST | neg;
            b->in.items[i] = neg;
            continue;
        }
        size_t k = (size_t)((port * (uint64_t)0x9e3779b97f4a7c15u) >> 32) & b->seen_mask;
        while (b->seen[k].generation == b->generation && b->seen[k].port != port) k = (k + 1) & b->seen_mask;
        if (b->seen[k].generation == b->generation) {
            key[i] = KEY_AGAIN | b->seen[k].local << 1 | neg;
        } else {
            ports[n++] = port;
            b->seen[k] = (port_slot){b->generation, port, n};
            key[i] = (KEY_NEW + (port >> 30) * 2) | neg;
        }
        b->in.items[i] = b->seen[k].local * 2 | neg;
    }
    b->key.n += n_in;
    *n_ports = n;
    return true;
}

static uint64_t hash_key(const uint32_t *key, size_t n) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ key[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h;
}

static bool grow_slots(zk_builder *b) {
    if (2 * (b->templates.n + 1) <= b->slot_mask) return true;
    size_t mask = 2 * b->slot_mask + 1;
    uint32_t *slots = zk_calloc(mask + 1, sizeof *slots);
    if (!slots) return false;
    for (size_t i = 0; i < b->known.n; i++) {
        size_t k = (size_t)b->known.items[i].hash & mask;
        while (slots[k]) k = (k + 1) & mask;
        slots[k] = (uint32_t)i + 1;
    }
    free(b->slots);
    b->slots = slots;
    b->slot_mask = mask;
    return true;
}

/* The template for the key in b->key, recorded if it is new. UINT32_MAX on failure. */
static uint32_t find_template(zk_builder *b, const zk_gadget *gadget, const void *param, size_t n_in, uint32_t n_ports,
                              size_t n_out) {
    uint64_t h = hash_key(b->key.items, b->key.n);
    size_t k = (size_t)h & b->slot_mask;
    for (; b->slots[k]; k = (k + 1) & b->slot_mask) {
        const known_template *t = &b->known.items[b->slots[k] - 1];
        if (t->hash == h && t->key_words == b->key.n && t->n_out == n_out &&
            !memcmp(t->key, b->key.items, b->key.n * sizeof *t->key))
            return b->slots[k] - 1;
    }
    known_template t = {.hash = h, .key_words = b->key.n, .n_out = n_out};
    t.key = zk_malloc(t.key_words * sizeof *t.key);
    t.out = zk_calloc(n_out + 1, sizeof *t.out);
    if (!t.key || !t.out || !grow_slots(b) || !ZK_RESERVE(&b->templates, b->templates.n + 1) ||
        !ZK_RESERVE(&b->known, b->known.n + 1))
        goto fail;
    memcpy(t.key, b->key.items, t.key_words * sizeof *t.key);
    zk_recorder_begin(&b->rec, b->ports.items + b->ports.n, n_ports);
    gadget->record(&b->rec, param, b->in.items, n_in, t.out, n_out);
    if (zk_recorder_end(&b->rec, &b->templates.items[b->templates.n], gadget->name, t.out, n_out, &b->err) != CUZK_OK)
        goto fail;
    b->templates.n++;
    b->known.items[b->known.n++] = t;
    for (k = (size_t)h & b->slot_mask; b->slots[k];) k = (k + 1) & b->slot_mask;
    b->slots[k] = (uint32_t)b->known.n;
    return (uint32_t)b->known.n - 1;
fail:
    free(t.key);
    free(t.out);
    fail(b, CUZK_OUT_OF_MEMORY, "no memory");
    return UINT32_MAX;
}

/* The instance that made the variable: the last one whose first variable of that kind is not above it. */
static size_t owner(const zk_builder *b, uint32_t port) {
    uint32_t index = port & ZK_PORT_INDEX_MASK, kind = port & ZK_PORT_KIND_MASK;
    size_t lo = 0, hi = b->instances.n;
    while (hi - lo > 1) {
        size_t mid = lo + (hi - lo) / 2;
        const zk_instance *x = &b->instances.items[mid];
        uint32_t first = kind == ZK_PORT_BIT ? x->first_aux : kind == ZK_PORT_WIDE ? x->first_wide : x->first_input;
        if (first <= index)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static uint32_t level_of(const zk_builder *b, const uint32_t *ports, uint32_t n_ports) {
    uint32_t level = 0;
    uint32_t kind = UINT32_MAX, first = 0, last = 0; /* variables of the owner found last */
    for (uint32_t i = 0; i < n_ports; i++) {
        uint32_t index = ports[i] & ZK_PORT_INDEX_MASK;
        if ((ports[i] & ZK_PORT_KIND_MASK) == kind && index >= first && index < last) continue;
        size_t o = owner(b, ports[i]);
        const zk_instance *x = &b->instances.items[o];
        const zk_template *t = &b->templates.items[x->template_id];
        kind = ports[i] & ZK_PORT_KIND_MASK;
        first = kind == ZK_PORT_BIT ? x->first_aux : kind == ZK_PORT_WIDE ? x->first_wide : x->first_input;
        last = first + (kind == ZK_PORT_BIT ? t->n_aux : kind == ZK_PORT_WIDE ? t->n_wide : t->n_inputs);
        if (level <= b->level.items[o]) level = b->level.items[o] + 1;
    }
    return level;
}

static zk_cell cell_of(const zk_template *t, const zk_instance *x, const uint32_t *ports, zk_lit lit) {
    uint32_t var = lit >> 1, neg = lit & 1;
    if (var == 0) return ZK_CELL_TRUE | neg;
    if (var <= t->n_ports) return (zk_cell)ports[var - 1] << 1 | neg;
    uint32_t i = var - 1 - t->n_ports;
    if (i < t->n_inputs) return (zk_cell)(ZK_PORT_INPUT | (x->first_input + i)) << 1 | neg;
    i -= t->n_inputs;
    if (t->kind[var] == ZK_LOCAL_BIT) return (zk_cell)(ZK_PORT_BIT | (x->first_aux + i)) << 1 | neg;
    uint32_t slot = 0;
    for (uint32_t step = t->n_wide; step; step /= 2)
        while (slot + step < t->n_wide && t->wide[slot + step] <= i) slot += step;
    return (zk_cell)(ZK_PORT_WIDE | (x->first_wide + slot)) << 1 | neg;
}

void zk_builder_call(zk_builder *b, const zk_gadget *gadget, const void *param, size_t param_bytes, const zk_cell *in,
                     size_t n_in, zk_cell *out, size_t n_out) {
    if (b->err.status != CUZK_OK) return;
    uint32_t n_ports = 0;
    if (!begin_key(b, gadget, param, param_bytes, n_in) || !bind_inputs(b, in, n_in, &n_ports)) {
        fail(b, CUZK_OUT_OF_MEMORY, "no memory");
        return;
    }
    uint32_t id = find_template(b, gadget, param, n_in, n_ports, n_out);
    if (id == UINT32_MAX) return;
    const zk_template *t = &b->templates.items[id];
    const uint32_t *ports = b->ports.items + b->ports.n;
    zk_instance x = {.template_id = id,
                     .first_aux = b->n_aux,
                     .first_row = b->n_rows,
                     .first_input = b->n_inputs,
                     .first_wide = b->n_wide,
                     .first_hint = b->n_hints,
                     .first_port = (uint32_t)b->ports.n};
    if (!ZK_PUSH(&b->level, level_of(b, ports, n_ports)) || !ZK_PUSH(&b->instances, x)) {
        fail(b, CUZK_OUT_OF_MEMORY, "no memory");
        return;
    }
    if (b->ports.n + n_ports > ZK_PORT_INDEX_MASK || t->n_aux > ZK_PORT_INDEX_MASK - b->n_aux ||
        t->n_rows > ZK_PORT_INDEX_MASK - b->n_rows || t->n_inputs > ZK_PORT_INDEX_MASK - b->n_inputs ||
        t->n_hints > ZK_PORT_INDEX_MASK - b->n_hints) {
        fail(b, CUZK_UNSUPPORTED, "more than 2^30 variables, rows, ports or hints");
        return;
    }
    for (size_t i = 0; i < n_out; i++) out[i] = cell_of(t, &x, ports, b->known.items[id].out[i]);
    b->ports.n += n_ports;
    b->n_aux += t->n_aux;
    b->n_rows += t->n_rows;
    b->n_inputs += t->n_inputs;
    b->n_wide += t->n_wide;
    b->n_hints += t->n_hints;
}

/* ---- the finished program ---- */

/* Gives a list's array away, cut to its length. */
static void *take(void *items, size_t n, size_t item_bytes) {
    void *cut = n ? zk_realloc(items, n * item_bytes) : items;
    return cut ? cut : items;
}
#define TAKE(dst, list)                                                                                                \
    do {                                                                                                               \
        (dst) = take((list)->items, (list)->n, sizeof *(list)->items);                                                 \
        (list)->items = NULL;                                                                                          \
        (list)->n = (list)->cap = 0;                                                                                   \
    } while (0)

static bool schedule(zk_program *p, const uint32_t *level) {
    for (uint32_t i = 0; i < p->n_instances; i++)
        if (level[i] >= p->n_levels) p->n_levels = level[i] + 1;
    p->level_start = zk_calloc((size_t)p->n_levels + 2, sizeof *p->level_start);
    p->order = zk_malloc((p->n_instances + (size_t)1) * sizeof *p->order);
    if (!p->level_start || !p->order) return false;
    uint32_t *next =
        p->level_start + 1; /* next[k]: where the next instance of level k goes; ends as the start of k + 1 */
    for (uint32_t i = 0; i < p->n_instances; i++) next[level[i] + 1]++;
    for (uint32_t k = 0; k < p->n_levels; k++) next[k + 1] += next[k];
    for (uint32_t i = 0; i < p->n_instances; i++) p->order[next[level[i]]++] = i;
    return true;
}

cuzk_status zk_builder_finish(zk_program **program, zk_builder *b, cuzk_err *err) {
    *program = NULL;
    if (b->err.status != CUZK_OK) return ZK_FAIL(err, b->err.status, "%s", b->err.message);
    zk_program *p = zk_calloc(1, sizeof *p);
    if (!p) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "building circuit %s: no memory", b->name);
    p->name = b->name;
    p->n_inputs = b->n_inputs;
    p->n_aux = b->n_aux;
    p->n_rows = b->n_rows;
    p->n_wide = b->n_wide;
    p->n_hints = b->n_hints;
    p->n_templates = (uint32_t)b->templates.n;
    p->n_instances = (uint32_t)b->instances.n;
    p->n_ports = (uint32_t)b->ports.n;
    p->n_coefs = (uint32_t)b->coefs.values.n;
    TAKE(p->templates, &b->templates);
    TAKE(p->instances, &b->instances);
    TAKE(p->ports, &b->ports);
    TAKE(p->coefs, &b->coefs.values);
    if (!schedule(p, b->level.items)) {
        zk_program_destroy(p);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "building circuit %s: no memory", b->name);
    }
    p->bytes = sizeof *p + p->n_instances * (sizeof *p->instances + sizeof *p->order) +
               (size_t)p->n_ports * sizeof *p->ports + (size_t)p->n_coefs * sizeof *p->coefs +
               (p->n_levels + (size_t)1) * sizeof *p->level_start;
    for (uint32_t i = 0; i < p->n_templates; i++) p->bytes += zk_template_bytes(&p->templates[i]);
    p->build_ns = zk_now_ns() - b->start_ns;
    *program = p;
    return CUZK_OK;
}
