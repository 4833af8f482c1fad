/* The reader of C1 JSON: recursive descent over the events of the tokenizer. Conventions: a function that reads a value
 * is entered with the value's first event current (r->event); arrays of bytes must be announced before that event is
 * asked for, so those are read by functions that ask themselves. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/json.h"
#include "field/fr.h"
#include "filecoin/c1_impl.h"

#define MAX_PLACE 16
#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct reader {
    zk_input *input;
    zk_json *json;
    zk_json_event event;
    cuzk_err *err;
    zk_c1 *c1;
    const char *document; /* named in messages */
    struct place {
        const char *name; /* NULL: element `index` */
        uint32_t index;
    } place[MAX_PLACE];
    unsigned n_place;
    bool has_shape;
    char size_name[32];  /* member name of vanilla_proofs */
    uint64_t n_document; /* length, once read */
} reader;

/* ---- Events, places and messages ---- */

static void place_text(char *out, size_t size, const reader *r) {
    size_t n = 0;
    out[0] = 0;
    for (unsigned i = 0; i < r->n_place && n < size; i++) {
        const struct place *p = &r->place[i];
        int wrote = p->name ? snprintf(out + n, size - n, i > 0 ? ".%s" : "%s", p->name)
                            : snprintf(out + n, size - n, "[%u]", p->index);
        n += wrote > 0 ? (size_t)wrote : 0;
    }
    if (r->n_place == 0) snprintf(out, size, "document");
}

__attribute__((format(printf, 2, 3))) static cuzk_status refuse(reader *r, const char *format, ...) {
    char place[200], text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    place_text(place, sizeof place, r);
    return ZK_FAIL(r->err, CUZK_BAD_INPUT, "%s: byte %llu: %s: %s", r->document, (unsigned long long)r->event.offset,
                   place, text);
}

static cuzk_status next(reader *r) {
    for (;;) {
        cuzk_status status = zk_json_next(r->json, &r->event, r->err);
        if (status != CUZK_OK) {
            char place[200];
            place_text(place, sizeof place, r);
            zk_err_prefix(r->err, "%s: %s", r->document, place);
            return status;
        }
        if (r->event.kind != ZK_JSON_MORE) return CUZK_OK;
        const uint8_t *data;
        size_t n;
        bool last;
        ZK_TRY(r->input->read(r->input, &data, &n, &last, r->err));
        r->n_document += n;
        zk_json_feed(r->json, data, n, last);
    }
}

static const char *kind_text(zk_json_kind kind) {
    switch (kind) {
    case ZK_JSON_OBJECT_BEGIN:
        return "an object";
    case ZK_JSON_ARRAY_BEGIN:
        return "an array";
    case ZK_JSON_STRING:
        return "a string";
    case ZK_JSON_NUMBER:
        return "a number";
    case ZK_JSON_TRUE:
    case ZK_JSON_FALSE:
        return "a boolean";
    case ZK_JSON_NULL:
        return "null";
    case ZK_JSON_BYTES:
        return "an array of bytes";
    case ZK_JSON_ARRAY_END:
        return "the end of the array";
    case ZK_JSON_OBJECT_END:
        return "the end of the object";
    case ZK_JSON_DONE:
        return "the end";
    default:
        return "a member name";
    }
}

static cuzk_status expect(reader *r, zk_json_kind kind) {
    if (r->event.kind == kind) return CUZK_OK;
    return refuse(r, "found %s, expected %s", kind_text(r->event.kind), kind_text(kind));
}

static void enter(reader *r, unsigned at, const char *name, uint32_t index) {
    r->n_place = at;
    if (at < MAX_PLACE) r->place[r->n_place++] = (struct place){name, index};
}

/* ---- Objects with a fixed set of members, arrays with a fixed count ----
 *
 *   members m;
 *   ZK_TRY(members_begin(&m, r, names, n));
 *   while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) ... the value of names[m.which] ...
 *   return status;
 *
 * The loop ends without failure only when all members have been there once; arrays work alike.
 */

typedef struct members {
    const char *const *names;
    unsigned n;
    unsigned at;       /* place of the object */
    uint32_t seen;     /* bit i: names[i] */
    uint32_t required; /* likewise */
    unsigned which;    /* the member whose value comes next; n at the object's end */
} members;

static cuzk_status members_begin(members *m, reader *r, const char *const *names, unsigned n) {
    *m = (members){.names = names, .n = n, .at = r->n_place, .required = (1u << n) - 1};
    return expect(r, ZK_JSON_OBJECT_BEGIN);
}

static cuzk_status members_next(members *m, reader *r) {
    r->n_place = m->at;
    ZK_TRY(next(r));
    if (r->event.kind == ZK_JSON_OBJECT_END) {
        m->which = m->n;
        for (unsigned i = 0; i < m->n; i++)
            if (m->required & ~m->seen & 1u << i) return refuse(r, "member \"%s\" is missing", m->names[i]);
        return CUZK_OK;
    }
    for (unsigned i = 0; i < m->n; i++) {
        if (strlen(m->names[i]) != r->event.n_text || memcmp(m->names[i], r->event.text, r->event.n_text) != 0)
            continue;
        if (m->seen & 1u << i) return refuse(r, "member \"%s\" is there twice", m->names[i]);
        m->seen |= 1u << i;
        m->which = i;
        enter(r, m->at, m->names[i], 0);
        return CUZK_OK;
    }
    return refuse(r, "unknown member \"%.*s\"", (int)zk_min_size(r->event.n_text, 64), r->event.text);
}

typedef struct elements {
    uint32_t n, i;    /* i: the element that is current; n at the array's end */
    uint32_t started; /* 0 or 1 */
    unsigned at;
} elements;

/* Reads the array's beginning, too. */
static cuzk_status elements_begin(elements *e, reader *r, uint32_t n) {
    *e = (elements){.n = n, .at = r->n_place};
    ZK_TRY(next(r));
    return expect(r, ZK_JSON_ARRAY_BEGIN);
}

static cuzk_status wrong_count(const elements *e, reader *r, bool ended) {
    r->n_place = e->at;
    return ended ? refuse(r, "found %u elements, expected %u", e->i, e->n)
                 : refuse(r, "found more than the expected %u elements", e->n);
}

/* The element's first event is current afterwards. */
static cuzk_status elements_next(elements *e, reader *r) {
    e->i += e->started;
    e->started = 1;
    enter(r, e->at, NULL, e->i);
    ZK_TRY(next(r));
    bool ended = r->event.kind == ZK_JSON_ARRAY_END;
    if (ended != (e->i == e->n)) return wrong_count(e, r, ended);
    if (ended) r->n_place = e->at;
    return CUZK_OK;
}

/* The next value as 32 bytes: the event that comes must be those, or the end of the array around them. */
static cuzk_status bytes32_next(uint8_t out[32], reader *r) {
    zk_json_want_bytes(r->json, out, 32);
    return next(r);
}

/* Like elements_next for an element of 32 bytes, which are stored. */
static cuzk_status elements_next_bytes32(elements *e, uint8_t out[32], reader *r) {
    e->i += e->started;
    e->started = 1;
    enter(r, e->at, NULL, e->i);
    ZK_TRY(bytes32_next(out, r));
    bool ended = r->event.kind == ZK_JSON_ARRAY_END;
    if (ended != (e->i == e->n)) return wrong_count(e, r, ended);
    if (!ended) return expect(r, ZK_JSON_BYTES);
    r->n_place = e->at;
    return CUZK_OK;
}

/* ---- Values ---- */

static cuzk_status number(uint64_t *out, reader *r, uint64_t max) {
    ZK_TRY(next(r));
    ZK_TRY(expect(r, ZK_JSON_NUMBER));
    if (!r->event.is_u64 || r->event.u64 > max)
        return refuse(r, "found the number %.*s, expected an integer from 0 to %llu",
                      (int)zk_min_size(r->event.n_text, 40), r->event.text, (unsigned long long)max);
    *out = r->event.u64;
    return CUZK_OK;
}

static cuzk_status number_u32(uint32_t *out, reader *r, uint32_t max) {
    uint64_t value = 0;
    cuzk_status status = number(&value, r, max);
    *out = (uint32_t)value;
    return status;
}

static bool is_canonical(const uint8_t node[32]) {
    for (unsigned i = 4; i-- > 0;) {
        uint64_t limb = zk_load_le64(node + 8 * i);
        if (limb != zk_fr_modulus[i]) return limb < zk_fr_modulus[i];
    }
    return false;
}

static cuzk_status bytes32(uint8_t out[32], reader *r) {
    ZK_TRY(bytes32_next(out, r));
    return expect(r, ZK_JSON_BYTES);
}

static cuzk_status check_canonical(const uint8_t node[32], reader *r) {
    if (is_canonical(node)) return CUZK_OK;
    return refuse(r, "the value is not a field element (it is not below r)");
}

static cuzk_status node(uint8_t out[32], reader *r) {
    ZK_TRY(bytes32(out, r));
    return check_canonical(out, r);
}

/* An array of exactly n nodes. */
static cuzk_status node_array(zk_node *out, uint32_t n, reader *r) {
    cuzk_status status;
    elements e;
    zk_node spare; /* for an element too many */
    ZK_TRY(elements_begin(&e, r, n));
    for (uint8_t *at = n > 0 ? out[0] : spare; (status = elements_next_bytes32(&e, at, r)) == CUZK_OK && e.i < e.n;
         at = e.i + 1 < n ? out[e.i + 1] : spare)
        ZK_TRY(check_canonical(at, r));
    return status;
}

/* The parents of a label: 37 nodes, of which only the first n_parents are kept. */
static cuzk_status parent_labels(const zk_c1_labeling *l, reader *r) {
    cuzk_status status;
    elements e;
    zk_node repeat;
    *l->mismatch = ZK_C1_NO_MISMATCH;
    ZK_TRY(elements_begin(&e, r, ZK_LABEL_PARENTS));
    for (uint8_t *at = l->parents[0]; (status = elements_next_bytes32(&e, at, r)) == CUZK_OK && e.i < e.n;
         at = e.i + 1 < l->n_parents ? l->parents[e.i + 1] : repeat) {
        ZK_TRY(check_canonical(at, r));
        if (e.i >= l->n_parents && *l->mismatch == ZK_C1_NO_MISMATCH &&
            memcmp(at, l->parents[e.i % l->n_parents], 32) != 0)
            *l->mismatch = e.i;
    }
    return status;
}

/* ---- Merkle proofs ---- */

/* One node of a path: {hashes, index}. */
static cuzk_status path_node(zk_node *siblings, uint32_t *index, uint32_t arity, reader *r) {
    static const char *const names[] = {"hashes", "index"};
    cuzk_status status;
    members m;
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n)
        ZK_TRY(m.which == 0 ? node_array(siblings, arity - 1, r) : number_u32(index, r, arity - 1));
    return status;
}

/* {path: [node]}: n nodes of one arity. */
static cuzk_status inclusion_path(zk_node *siblings, uint32_t *index, uint32_t n, uint32_t arity, reader *r) {
    static const char *const names[] = {"path"};
    cuzk_status status;
    members m;
    elements e;
    ZK_TRY(next(r));
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) {
        ZK_TRY(elements_begin(&e, r, n));
        while ((status = elements_next(&e, r)) == CUZK_OK && e.i < e.n)
            ZK_TRY(path_node(siblings + (size_t)e.i * (arity - 1), &index[e.i], arity, r));
        ZK_TRY(status);
    }
    return status;
}

/* What a proof in a tree of n_base nodes of arity `arity`, and at most one of sub and one of top, consists of. */
typedef struct proof_shape {
    uint32_t n_base, arity, sub_arity, top_arity;
} proof_shape;

static cuzk_status proof_members(const zk_c1_path *path, const proof_shape *s, reader *r) {
    static const char *const single[] = {"root", "leaf", "path"}, *const composed[] = {"root", "leaf", "base_proof",
                                                                                       "sub_proof", "top_proof"};
    zk_node *sub = path->siblings + (size_t)s->n_base * (s->arity - 1), *top = sub + s->sub_arity - 1;
    cuzk_status status;
    members m;
    ZK_TRY(next(r));
    ZK_TRY(members_begin(&m, r, s->sub_arity ? composed : single, s->top_arity ? 5 : s->sub_arity ? 4 : 3));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) {
        switch (m.which) {
        case 0:
            ZK_TRY(node(*path->root, r));
            break;
        case 1:
            ZK_TRY(node(*path->leaf, r));
            break;
        case 2:
            ZK_TRY(inclusion_path(path->siblings, path->index, s->n_base, s->arity, r));
            break;
        case 3:
            ZK_TRY(inclusion_path(sub, path->index + s->n_base, 1, s->sub_arity, r));
            break;
        default:
            ZK_TRY(inclusion_path(top, path->index + s->n_base + 1, 1, s->top_arity, r));
        }
    }
    return status;
}

/* {data: {Single|Sub|Top: {...}}}: the variant must be that of the tree. */
static cuzk_status merkle_proof(const zk_c1_path *path, const proof_shape *s, reader *r) {
    static const char *const names[] = {"data"}, *const variants[] = {"Single", "Sub", "Top"};
    const char *const *variant = &variants[s->top_arity ? 2 : s->sub_arity ? 1 : 0];
    cuzk_status status;
    members m, v;
    ZK_TRY(next(r));
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) {
        ZK_TRY(next(r));
        ZK_TRY(members_begin(&v, r, variant, 1));
        while ((status = members_next(&v, r)) == CUZK_OK && v.which < v.n) ZK_TRY(proof_members(path, s, r));
        ZK_TRY(status);
    }
    return status;
}

static cuzk_status data_proof(const zk_c1_path *path, reader *r) {
    const proof_shape shape = {r->c1->shape.n_data_nodes, 2, 0, 0};
    return merkle_proof(path, &shape, r);
}

static cuzk_status tree_proof(const zk_c1_path *path, reader *r) {
    const zk_c1_shape *s = &r->c1->shape;
    const proof_shape shape = {s->tree.n_base, 8, s->tree.sub_arity, s->tree.top_arity};
    return merkle_proof(path, &shape, r);
}

/* ---- Challenges ---- */

static cuzk_status null_value(reader *r) {
    ZK_TRY(next(r));
    return expect(r, ZK_JSON_NULL);
}

static cuzk_status column_labels(const zk_c1_column *c, reader *r) {
    static const char *const names[] = {"index", "rows", "_h"};
    cuzk_status status;
    members m;
    ZK_TRY(next(r));
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n)
        ZK_TRY(m.which == 0   ? number_u32(c->node, r, UINT32_MAX)
               : m.which == 1 ? node_array(c->labels, r->c1->shape.n_layers, r)
                              : null_value(r));
    return status;
}

static cuzk_status column(const zk_c1_column *c, reader *r) {
    static const char *const names[] = {"column", "inclusion_proof"};
    cuzk_status status;
    members m;
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n)
        ZK_TRY(m.which == 0 ? column_labels(c, r) : tree_proof(&c->path, r));
    return status;
}

static cuzk_status column_array(const zk_c1_column *c, uint32_t n, reader *r) {
    cuzk_status status;
    elements e;
    ZK_TRY(elements_begin(&e, r, n));
    while ((status = elements_next(&e, r)) == CUZK_OK && e.i < e.n) ZK_TRY(column(&c[e.i], r));
    return status;
}

static cuzk_status columns(const zk_c1_challenge *view, reader *r) {
    static const char *const names[] = {"c_x", "drg_parents", "exp_parents"};
    cuzk_status status;
    members m;
    ZK_TRY(next(r));
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) {
        if (m.which == 0) {
            ZK_TRY(next(r));
            ZK_TRY(column(&view->column, r));
        } else if (m.which == 1) {
            ZK_TRY(column_array(view->parents, ZK_DRG_PARENTS, r));
        } else {
            ZK_TRY(column_array(view->parents + ZK_DRG_PARENTS, ZK_EXP_PARENTS, r));
        }
    }
    return status;
}

static cuzk_status labeling(const zk_c1_labeling *l, reader *r) {
    static const char *const names[] = {"parents", "layer_index", "node"};
    cuzk_status status;
    members m;
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n)
        ZK_TRY(m.which == 0   ? parent_labels(l, r)
               : m.which == 1 ? number_u32(l->layer, r, UINT32_MAX)
                              : number(l->node, r, UINT64_MAX));
    return status;
}

static cuzk_status labeling_array(const zk_c1_labeling *l, uint32_t n, reader *r) {
    cuzk_status status;
    elements e;
    ZK_TRY(elements_begin(&e, r, n));
    while ((status = elements_next(&e, r)) == CUZK_OK && e.i < e.n) ZK_TRY(labeling(&l[e.i], r));
    return status;
}

static cuzk_status challenge(const zk_c1_challenge *view, reader *r) {
    static const char *const names[] = {"comm_d_proofs", "comm_r_last_proof", "replica_column_proofs",
                                        "labeling_proofs", "encoding_proof"};
    cuzk_status status;
    members m;
    ZK_TRY(members_begin(&m, r, names, COUNT(names)));
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) {
        switch (m.which) {
        case 0:
            ZK_TRY(data_proof(&view->data, r));
            break;
        case 1:
            ZK_TRY(tree_proof(&view->replica, r));
            break;
        case 2:
            ZK_TRY(columns(view, r));
            break;
        case 3:
            ZK_TRY(labeling_array(view->labeling, r->c1->shape.n_layers, r));
            break;
        default:
            ZK_TRY(next(r));
            ZK_TRY(labeling(&view->encoding, r));
        }
    }
    return status;
}

/* One partition, whose array's beginning is current. */
static cuzk_status partition(uint32_t p, reader *r) {
    cuzk_status status;
    zk_c1_challenge view;
    elements e = {.n = r->c1->shape.n_challenges, .at = r->n_place};
    ZK_TRY(expect(r, ZK_JSON_ARRAY_BEGIN));
    ZK_TRY(zk_c1_add_partition(r->c1, r->err));
    while ((status = elements_next(&e, r)) == CUZK_OK && e.i < e.n) {
        zk_c1_challenge_get(&view, r->c1, p, e.i);
        ZK_TRY(challenge(&view, r));
    }
    return status;
}

/* All partitions. How many there must be depends on registered_proof, which may come later; the type of this size with
 * the most partitions bounds them here. */
static cuzk_status partitions(reader *r) {
    zk_c1 *c1 = r->c1;
    unsigned at = r->n_place;
    uint32_t max = 0;
    for (unsigned i = 0; i < ZK_N_REGISTERED_SEALS; i++)
        if (zk_registered_seals[i].sector_bytes == c1->shape.sector_bytes && zk_registered_seals[i].n_partitions > max)
            max = zk_registered_seals[i].n_partitions;
    if (c1->seal) max = c1->seal->n_partitions;
    ZK_TRY(next(r));
    ZK_TRY(expect(r, ZK_JSON_ARRAY_BEGIN));
    for (uint32_t p = 0;; p++) {
        enter(r, at, NULL, p);
        ZK_TRY(next(r));
        if (r->event.kind == ZK_JSON_ARRAY_END) break;
        if (p == max) {
            r->n_place = at;
            return refuse(r, "found more than the expected %u partitions", max);
        }
        ZK_TRY(partition(p, r));
    }
    r->n_place = at;
    return CUZK_OK;
}

/* ---- The document ---- */

/* A short string into out (zero-terminated). */
static cuzk_status short_string(char *out, size_t size, reader *r) {
    size_t n = 0;
    do {
        ZK_TRY(next(r));
        ZK_TRY(expect(r, ZK_JSON_STRING));
        if (n + r->event.n_text >= size) return refuse(r, "found a string of more than %zu bytes", size - 1);
        memcpy(out + n, r->event.text, r->event.n_text);
        n += r->event.n_text;
    } while (!r->event.last);
    out[n] = 0;
    return CUZK_OK;
}

static cuzk_status check_size_name(reader *r) {
    const zk_registered_seal *seal = r->c1->seal;
    if (!seal || !r->has_shape || strcmp(r->size_name, seal->size_name) == 0) return CUZK_OK;
    return refuse(r, "registered_proof is %s, which needs vanilla_proofs.%s, found vanilla_proofs.%s", seal->name,
                  seal->size_name, r->size_name);
}

static cuzk_status registered_proof(reader *r) {
    char name[64];
    ZK_TRY(short_string(name, sizeof name, r));
    r->c1->seal = zk_registered_seal_by_name(name, strlen(name));
    if (!r->c1->seal) return refuse(r, "\"%s\" is not the name of a registered seal proof", name);
    return check_size_name(r);
}

static cuzk_status vanilla_proofs(reader *r) {
    unsigned at = r->n_place;
    ZK_TRY(next(r));
    ZK_TRY(expect(r, ZK_JSON_OBJECT_BEGIN));
    for (;;) {
        r->n_place = at;
        ZK_TRY(next(r));
        if (r->event.kind == ZK_JSON_OBJECT_END) break;
        int n = (int)zk_min_size(r->event.n_text, 64);
        if (r->has_shape)
            return refuse(r, "found a second member, \"%.*s\", beside \"%s\"", n, r->event.text, r->size_name);
        const zk_registered_seal *seal = zk_registered_seal_by_size_name(r->event.text, r->event.n_text);
        if (!seal) return refuse(r, "\"%.*s\" is not the name of a sector size", n, r->event.text);
        ZK_TRY(zk_c1_shape_get(&r->c1->shape, seal, r->err));
        r->has_shape = true;
        snprintf(r->size_name, sizeof r->size_name, "%s", seal->size_name);
        ZK_TRY(check_size_name(r));
        enter(r, at, seal->size_name, 0);
        ZK_TRY(partitions(r));
    }
    if (!r->has_shape) return refuse(r, "found no member, expected one named after the sector size");
    return CUZK_OK;
}

static cuzk_status envelope_content(reader *r);

enum {
    REGISTERED_PROOF,
    VANILLA_PROOFS,
    COMM_R,
    COMM_D,
    REPLICA_ID,
    SEED,
    TICKET,
    N_C1_MEMBERS,
    SECTOR_NUM = N_C1_MEMBERS,
    PHASE1_OUT,
    SECTOR_SIZE,
    N_MEMBERS,
};
static const char *const document_names[N_MEMBERS] = {"registered_proof", "vanilla_proofs", "comm_r", "comm_d",
                                                      "replica_id",       "seed",           "ticket", "SectorNum",
                                                      "Phase1Out",        "SectorSize"};
#define C1_MASK ((1u << N_C1_MEMBERS) - 1)

/* The whole document. Which of the two forms it is, its first member tells. */
static cuzk_status document(reader *r, bool envelope_allowed) {
    zk_c1 *c1 = r->c1;
    cuzk_status status;
    members m;
    uint64_t sector_bytes = 0;
    ZK_TRY(next(r));
    ZK_TRY(members_begin(&m, r, document_names, envelope_allowed ? N_MEMBERS : N_C1_MEMBERS));
    m.required = C1_MASK;
    while ((status = members_next(&m, r)) == CUZK_OK && m.which < m.n) {
        bool is_envelope = m.which >= N_C1_MEMBERS;
        uint32_t form = is_envelope ? (1u << N_MEMBERS) - 1 - C1_MASK : C1_MASK;
        if (m.seen & ~form) {
            r->n_place = 0;
            return refuse(r, "member \"%s\" does not go with the members before it (C1 output and envelope mixed)",
                          document_names[m.which]);
        }
        m.required = form;
        switch (m.which) {
        case REGISTERED_PROOF:
            ZK_TRY(registered_proof(r));
            break;
        case VANILLA_PROOFS:
            ZK_TRY(vanilla_proofs(r));
            break;
        case COMM_R:
            ZK_TRY(node(c1->comm_r, r));
            break;
        case COMM_D:
            ZK_TRY(node(c1->comm_d, r));
            break;
        case REPLICA_ID:
            ZK_TRY(node(c1->replica_id, r));
            break;
        case SEED:
            ZK_TRY(bytes32(c1->seed, r));
            break;
        case TICKET:
            ZK_TRY(bytes32(c1->ticket, r));
            break;
        case SECTOR_NUM:
            c1->has_sector_number = true;
            ZK_TRY(number(&c1->sector_number, r, UINT64_MAX));
            break;
        case PHASE1_OUT:
            ZK_TRY(envelope_content(r));
            break;
        default:
            ZK_TRY(number(&sector_bytes, r, UINT64_MAX));
        }
    }
    ZK_TRY(status);
    ZK_TRY(next(r));
    ZK_TRY(expect(r, ZK_JSON_DONE));
    if (m.required != C1_MASK) {
        if (sector_bytes == c1->seal->sector_bytes) return CUZK_OK;
        return refuse(r, "SectorSize is %llu, but %s has sectors of %llu bytes", (unsigned long long)sector_bytes,
                      c1->seal->name, (unsigned long long)c1->seal->sector_bytes);
    }
    if (c1->n_partitions == c1->seal->n_partitions) return CUZK_OK;
    return refuse(r, "found %u partitions, %s has %u", c1->n_partitions, c1->seal->name, c1->seal->n_partitions);
}

/* ---- The envelope: the string Phase1Out as a byte source ---- */

typedef struct string_input {
    zk_input base;
    reader *outer;
    zk_base64 state;
    uint8_t *buffer;
    size_t capacity;
} string_input;

static cuzk_status string_read(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    string_input *in = (string_input *)base;
    reader *r = in->outer;
    *n = 0;
    *last = false;
    while (*n == 0 && !*last) {
        ZK_TRY(next(r));
        ZK_TRY(expect(r, ZK_JSON_STRING));
        if (!zk_grow((void **)&in->buffer, &in->capacity, zk_base64_max_bytes(r->event.n_text), 1))
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "c1: no memory to decode Phase1Out");
        cuzk_status status = zk_base64_decode(in->buffer, n, &in->state, r->event.text, r->event.n_text, err);
        *last = r->event.last;
        if (status == CUZK_OK && *last) status = zk_base64_finish(&in->state, err);
        if (status != CUZK_OK) {
            zk_err_prefix(err, "c1: Phase1Out (string at byte %llu)", (unsigned long long)r->event.offset);
            return status;
        }
    }
    *data = in->buffer;
    return CUZK_OK;
}

static cuzk_status envelope_content(reader *r) {
    cuzk_status status = CUZK_OK;
    string_input in = {{string_read, NULL}, r, {0}, NULL, 0};
    reader inner = {.input = &in.base, .err = r->err, .c1 = r->c1, .document = "c1: in Phase1Out"};
    ZK_GOTO(zk_json_create(&inner.json, NULL, r->err));
    ZK_GOTO(document(&inner, false));
out:
    zk_json_destroy(inner.json);
    free(in.buffer);
    return status;
}

cuzk_status zk_c1_read(zk_c1 **c1, zk_input *input, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    cuzk_err own = {0};
    reader r = {.input = input, .err = err ? err : &own, .document = "c1"};
    r.c1 = zk_calloc(1, sizeof *r.c1);
    if (!r.c1) ZK_GOTO(ZK_FAIL(r.err, CUZK_OUT_OF_MEMORY, "c1: no memory"));
    ZK_GOTO(zk_json_create(&r.json, NULL, r.err));
    ZK_GOTO(document(&r, true));
    r.c1->n_document_bytes = r.n_document;
    *c1 = r.c1;
    r.c1 = NULL;
out:
    zk_json_destroy(r.json);
    zk_c1_destroy(r.c1);
    zk_input_close(input);
    return status;
}

cuzk_status zk_c1_read_file(zk_c1 **c1, const char *path, cuzk_err *err) {
    zk_input *input;
    ZK_TRY(zk_input_open_file(&input, path, err));
    cuzk_status status = zk_c1_read(c1, input, err);
    if (status == CUZK_BAD_INPUT) zk_err_prefix(err, "%s", path);
    return status;
}

cuzk_status zk_c1_read_memory(zk_c1 **c1, const void *data, size_t n, cuzk_err *err) {
    zk_input *input;
    ZK_TRY(zk_input_open_memory(&input, data, n, NULL, err));
    return zk_c1_read(c1, input, err);
}
