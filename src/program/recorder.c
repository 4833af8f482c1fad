#include "program/recorder.h"

#include <string.h>

void zk_recorder_init(zk_recorder *rec, zk_coefs *coefs) {
    memset(rec, 0, sizeof *rec);
    rec->coefs = coefs;
    for (int i = 0; i < (int)(sizeof rec->small / sizeof *rec->small); i++)
        zk_fr_from_i64(&rec->small[i], i - (int)ZK_REC_MAX_INT);
}

void zk_recorder_free(zk_recorder *rec) {
    free(rec->wide.items);
    for (int m = 0; m < 3; m++) {
        free(rec->abc[m].row.items);
        free(rec->abc[m].terms.items);
        free(rec->scratch[m].items);
    }
    free(rec->ops.items);
    free(rec->lits.items);
    free(rec->lc_start.items);
    free(rec->lc_terms.items);
    free(rec->keys.items);
    free(rec->merged);
    memset(rec, 0, sizeof *rec);
}

void zk_recorder_begin(zk_recorder *rec, const uint32_t *ports, uint32_t n_ports) {
    rec->ports = ports;
    rec->n_ports = n_ports;
    rec->n_inputs = rec->n_aux = rec->n_rows = rec->n_hints = rec->n_zero_terms = 0;
    rec->wide.n = rec->ops.n = rec->lits.n = rec->lc_start.n = rec->lc_terms.n = 0;
    for (int m = 0; m < 3; m++) rec->abc[m].row.n = rec->abc[m].terms.n = rec->scratch[m].n = 0;
    if (!ZK_PUSH(&rec->lc_start, 0)) rec->failed = true;
    for (int m = 0; m < 3; m++)
        if (!ZK_PUSH(&rec->abc[m].row, 0)) rec->failed = true;
}

/* ---- variables ---- */

static uint32_t take(zk_recorder *rec, uint32_t *counter, uint32_t n) {
    uint32_t first = *counter;
    if (n > ZK_REC_INDEX_MASK - first) {
        rec->failed = true;
        return 0;
    }
    *counter += n;
    return first;
}

zk_lit zk_rec_bits(zk_recorder *rec, uint32_t n) { return (ZK_REC_AUX + take(rec, &rec->n_aux, n)) * 2; }

zk_lit zk_rec_wides(zk_recorder *rec, uint32_t n) {
    uint32_t first = take(rec, &rec->n_aux, n);
    for (uint32_t i = 0; i < n && !rec->failed; i++)
        if (!ZK_PUSH(&rec->wide, first + i)) rec->failed = true;
    return (ZK_REC_AUX + first) * 2;
}

zk_lit zk_rec_next_aux(const zk_recorder *rec) { return (ZK_REC_AUX + rec->n_aux) * 2; }

zk_lit zk_rec_input(zk_recorder *rec) { return (ZK_REC_INPUT + take(rec, &rec->n_inputs, 1)) * 2; }

uint32_t zk_rec_hint(zk_recorder *rec) { return take(rec, &rec->n_hints, 1); }

/* ---- linear combinations ---- */

static void add_var(zk_recorder *rec, zk_lc *lc, uint32_t var, const zk_fr *coef) {
    if (!ZK_RESERVE(lc, lc->n + 1)) {
        rec->failed = true;
        return;
    }
    lc->items[lc->n].var = var;
    lc->items[lc->n++].coef = *coef;
}

void zk_lc_add(zk_recorder *rec, zk_lc *lc, zk_lit lit, const zk_fr *coef) {
    if (lit == ZK_LIT_FALSE) return;
    if (lit & 1) {
        zk_fr minus;
        zk_fr_neg(&minus, coef);
        add_var(rec, lc, 0, coef);
        add_var(rec, lc, lit >> 1, &minus);
    } else {
        add_var(rec, lc, lit >> 1, coef);
    }
}

void zk_lc_add_int(zk_recorder *rec, zk_lc *lc, zk_lit lit, int coef) {
    zk_lc_add(rec, lc, lit, &rec->small[coef + (int)ZK_REC_MAX_INT]);
}

void zk_lc_add_lc(zk_recorder *rec, zk_lc *lc, const zk_lc *other, const zk_fr *coef) {
    bool one = zk_fr_is_one(coef);
    for (size_t i = 0; i < other->n; i++) {
        if (one) {
            add_var(rec, lc, other->items[i].var, &other->items[i].coef);
        } else {
            zk_fr product;
            zk_fr_mul(&product, &other->items[i].coef, coef);
            add_var(rec, lc, other->items[i].var, &product);
        }
    }
}

void zk_lc_free(zk_lc *lc) {
    free(lc->items);
    memset(lc, 0, sizeof *lc);
}

/* Position in a row: constant, ports that are inputs, new inputs, other ports, new aux. */
static uint32_t sort_key(const zk_recorder *rec, uint32_t var) {
    if (var == 0 || var >= ZK_REC_INPUT) return var;
    bool input = (rec->ports[var - 1] & ZK_PORT_KIND_MASK) == ZK_PORT_INPUT;
    return var + (input ? ZK_REC_INPUT / 2 : ZK_REC_INPUT + ZK_REC_INPUT / 2);
}

static bool sort_keys(zk_recorder *rec, const zk_lc *lc) {
    size_t n = lc->n;
    if (!ZK_RESERVE(&rec->keys, 2 * n)) return false;
    zk_sort_key *keys = rec->keys.items;
    uint32_t last = 0, all = 0;
    bool sorted = true;
    for (size_t i = 0; i < n; i++) {
        keys[i] = (zk_sort_key){sort_key(rec, lc->items[i].var), (uint32_t)i};
        sorted &= keys[i].key >= last;
        all |= keys[i].key ^ keys[0].key;
        last = keys[i].key;
    }
    if (sorted) return true;
    if (n <= 48) {
        for (size_t i = 1; i < n; i++) {
            zk_sort_key k = keys[i];
            size_t j = i;
            for (; j && keys[j - 1].key > k.key; j--) keys[j] = keys[j - 1];
            keys[j] = k;
        }
        return true;
    }
    /* Stable radix sort on the bytes in which the keys differ. */
    zk_sort_key *from = keys, *to = keys + n;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        if (!(all >> shift & 255)) continue;
        uint32_t start[256] = {0}, sum = 0;
        for (size_t i = 0; i < n; i++) start[from[i].key >> shift & 255]++;
        for (int b = 0; b < 256; b++) {
            uint32_t count = start[b];
            start[b] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) to[start[from[i].key >> shift & 255]++] = from[i];
        zk_sort_key *t = from;
        from = to;
        to = t;
    }
    if (from != keys) memcpy(keys, from, n * sizeof *keys);
    return true;
}

/* The combination in its final order into rec->merged; returns its length. */
static size_t merge(zk_recorder *rec, const zk_lc *lc) {
    rec->n_dropped = 0;
    if (!lc || !lc->n || rec->failed) return 0;
    size_t n = 0;
    if (lc->n > UINT32_MAX / 4 || !sort_keys(rec, lc)) goto fail;
    if (lc->n > rec->merged_cap) {
        zk_lc_entry *grown = zk_grown(rec->merged, &rec->merged_cap, lc->n, sizeof *grown);
        if (!grown) goto fail;
        rec->merged = grown;
    }
    for (size_t i = 0; i < lc->n;) {
        const zk_lc_entry *first = &lc->items[rec->keys.items[i].pos];
        zk_lc_entry *e = &rec->merged[n];
        *e = *first;
        for (i++; i < lc->n && lc->items[rec->keys.items[i].pos].var == e->var; i++)
            zk_fr_add(&e->coef, &e->coef, &lc->items[rec->keys.items[i].pos].coef);
        bool zero = zk_fr_is_zero(&e->coef);
        n += !zero;
        rec->n_dropped += zero;
    }
    return n;
fail:
    rec->failed = true;
    return 0;
}

void zk_lc_merge(zk_recorder *rec, zk_lc *lc) {
    size_t n = merge(rec, lc);
    if (rec->failed) return;
    memcpy(lc->items, rec->merged, n * sizeof *lc->items);
    lc->n = n;
}

static bool append(zk_recorder *rec, const zk_lc *lc, zk_term **terms, size_t *n_terms, size_t *cap) {
    size_t n = merge(rec, lc);
    if (rec->failed) return false;
    if (*n_terms + n > *cap) {
        zk_term *grown = zk_grown(*terms, cap, *n_terms + n, sizeof *grown);
        if (!grown) return false;
        *terms = grown;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t coef = zk_coefs_index(rec->coefs, &rec->merged[i].coef);
        if (coef == UINT32_MAX) return false;
        (*terms)[(*n_terms)++] = (zk_term){rec->merged[i].var, coef};
    }
    return *n_terms <= UINT32_MAX;
}

void zk_rec_enforce(zk_recorder *rec, const zk_lc *a, const zk_lc *b, const zk_lc *c) {
    const zk_lc *lcs[3] = {a, b, c};
    for (int m = 0; m < 3; m++) {
        bool ok = append(rec, lcs[m], &rec->abc[m].terms.items, &rec->abc[m].terms.n, &rec->abc[m].terms.cap) &&
                  ZK_PUSH(&rec->abc[m].row, (uint32_t)rec->abc[m].terms.n);
        if (!ok) rec->failed = true;
        rec->n_zero_terms += rec->n_dropped;
    }
    take(rec, &rec->n_rows, 1);
}

zk_lc *zk_rec_a(zk_recorder *rec) { return &rec->scratch[0]; }
zk_lc *zk_rec_b(zk_recorder *rec) { return &rec->scratch[1]; }
zk_lc *zk_rec_c(zk_recorder *rec) { return &rec->scratch[2]; }

void zk_rec_row(zk_recorder *rec) {
    zk_rec_enforce(rec, &rec->scratch[0], &rec->scratch[1], &rec->scratch[2]);
    for (int m = 0; m < 3; m++) rec->scratch[m].n = 0;
}

/* ---- operations ---- */

void zk_rec_op(zk_recorder *rec, zk_op op) {
    if (!ZK_PUSH(&rec->ops, op)) rec->failed = true;
}

uint32_t zk_rec_lits(zk_recorder *rec, const zk_lit *lits, size_t n) {
    uint32_t first = (uint32_t)rec->lits.n;
    if (rec->lits.n + n > ZK_REC_INDEX_MASK || !ZK_RESERVE(&rec->lits, rec->lits.n + n)) {
        rec->failed = true;
        return 0;
    }
    memcpy(rec->lits.items + first, lits, n * sizeof *lits);
    rec->lits.n += n;
    return first;
}

uint32_t zk_rec_lc(zk_recorder *rec, const zk_lc *lc) {
    bool ok = append(rec, lc, &rec->lc_terms.items, &rec->lc_terms.n, &rec->lc_terms.cap) &&
              ZK_PUSH(&rec->lc_start, (uint32_t)rec->lc_terms.n);
    if (!ok) {
        rec->failed = true;
        return 0;
    }
    return (uint32_t)rec->lc_start.n - 2;
}

uint32_t zk_rec_coef(zk_recorder *rec, const zk_fr *coef) {
    uint32_t index = zk_coefs_index(rec->coefs, coef);
    if (index == UINT32_MAX) rec->failed = true;
    return index;
}

void zk_rec_fail(zk_recorder *rec) { rec->failed = true; }

/* ---- from the record to a template ---- */

static uint32_t local_var(const zk_recorder *rec, uint32_t var) {
    if (var < ZK_REC_INPUT) return var;
    uint32_t index = var & ZK_REC_INDEX_MASK;
    return 1 + rec->n_ports + (var >= ZK_REC_AUX ? rec->n_inputs : 0) + index;
}

static uint32_t local_lit(const zk_recorder *rec, zk_lit lit) { return local_var(rec, lit >> 1) * 2 | (lit & 1); }

static void renumber_ops(zk_recorder *rec) {
    for (size_t i = 0; i < rec->ops.n; i++) {
        zk_op *op = &rec->ops.items[i];
        op->dst = local_var(rec, op->dst);
        switch ((zk_op_code)op->code) {
        case ZK_OP_HINT:
        case ZK_OP_HINT_BIT:
        case ZK_OP_LC:
        case ZK_OP_MULADD:
            break;
        case ZK_OP_BITS:
            op->a = local_var(rec, op->a);
            break;
        case ZK_OP_CH:
        case ZK_OP_MAJ:
            op->c = local_lit(rec, op->c); /* fall through */
        case ZK_OP_AND:
        case ZK_OP_XOR:
            op->a = local_lit(rec, op->a);
            op->b = local_lit(rec, op->b);
            break;
        case ZK_OP_SUM32:
            for (uint32_t k = 0; k < 32 * op->b; k++)
                rec->lits.items[op->a + k] = local_lit(rec, rec->lits.items[op->a + k]);
            break;
        case ZK_OP_POSEIDON:
            for (uint32_t k = 0; k < op->n; k++)
                rec->lits.items[op->a + k] = local_var(rec, rec->lits.items[op->a + k]);
            break;
        case ZK_N_OPS:
            break;
        }
    }
}

static void fill_kinds(const zk_recorder *rec, zk_template *t) {
    t->kind[0] = ZK_LOCAL_ONE;
    for (uint32_t i = 0; i < t->n_ports; i++) {
        uint32_t kind = rec->ports[i] & ZK_PORT_KIND_MASK;
        t->kind[1 + i] = kind == ZK_PORT_BIT ? ZK_LOCAL_BIT : kind == ZK_PORT_WIDE ? ZK_LOCAL_WIDE : ZK_LOCAL_INPUT;
    }
    memset(t->kind + 1 + t->n_ports, ZK_LOCAL_INPUT, t->n_inputs);
    uint8_t *aux = t->kind + 1 + t->n_ports + t->n_inputs;
    memset(aux, ZK_LOCAL_BIT, t->n_aux);
    for (uint32_t i = 0; i < t->n_wide; i++) {
        aux[t->wide[i]] = ZK_LOCAL_WIDE;
        t->wide_mask[t->wide[i] / 64] |= (uint64_t)1 << (t->wide[i] % 64);
    }
}

static zk_row_class classify(const zk_template *t, const zk_term *terms, size_t n) {
    if (!n) return ZK_ROW_ZERO;
    bool small = true;
    int sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (t->kind[terms[i].var] >= ZK_LOCAL_WIDE) return ZK_ROW_WIDE;
        small = small && terms[i].coef < ZK_N_SMALL_COEFS;
        if (small) sum += abs(zk_small_coef(terms[i].coef));
        small = small && sum <= ZK_ROW_SMALL_MAX;
    }
    return small ? ZK_ROW_SMALL : ZK_ROW_BITS;
}

static void *copy(const void *items, size_t n, size_t item_bytes, bool *ok) {
    void *p = zk_malloc(n ? n * item_bytes : 1);
    if (!p)
        *ok = false;
    else if (n)
        memcpy(p, items, n * item_bytes);
    return p;
}

cuzk_status zk_recorder_end(zk_recorder *rec, zk_template *t, const char *name, zk_lit *out, size_t n_out,
                            cuzk_err *err) {
    memset(t, 0, sizeof *t);
    if (rec->failed) goto fail;
    *t = (zk_template){.name = name,
                       .n_ports = rec->n_ports,
                       .n_inputs = rec->n_inputs,
                       .n_aux = rec->n_aux,
                       .n_wide = (uint32_t)rec->wide.n,
                       .n_rows = rec->n_rows,
                       .n_hints = rec->n_hints,
                       .n_zero_terms = rec->n_zero_terms,
                       .n_ops = (uint32_t)rec->ops.n,
                       .n_lits = (uint32_t)rec->lits.n,
                       .n_lcs = (uint32_t)rec->lc_start.n - 1};
    renumber_ops(rec);
    bool ok = true;
    t->ops = copy(rec->ops.items, t->n_ops, sizeof *t->ops, &ok);
    t->lits = copy(rec->lits.items, t->n_lits, sizeof *t->lits, &ok);
    t->lc_start = copy(rec->lc_start.items, t->n_lcs + 1, sizeof *t->lc_start, &ok);
    t->lc_terms = copy(rec->lc_terms.items, rec->lc_terms.n, sizeof *t->lc_terms, &ok);
    t->wide = copy(rec->wide.items, t->n_wide, sizeof *t->wide, &ok);
    t->wide_mask = zk_calloc(t->n_aux / 64 + 1, sizeof *t->wide_mask);
    t->kind = zk_malloc(zk_template_n_locals(t));
    ok = ok && t->wide_mask && t->kind;
    for (int m = 0; m < 3; m++) {
        zk_matrix *x = &t->abc[m];
        x->row = copy(rec->abc[m].row.items, t->n_rows + 1, sizeof *x->row, &ok);
        x->terms = copy(rec->abc[m].terms.items, rec->abc[m].terms.n, sizeof *x->terms, &ok);
        x->row_class = zk_malloc(t->n_rows + 1);
        ok = ok && x->row_class;
    }
    if (!ok) goto fail;
    fill_kinds(rec, t);
    for (size_t i = 0; i < rec->lc_terms.n; i++) t->lc_terms[i].var = local_var(rec, t->lc_terms[i].var);
    for (int m = 0; m < 3; m++) {
        zk_matrix *x = &t->abc[m];
        for (uint32_t i = 0; i < x->row[t->n_rows]; i++) x->terms[i].var = local_var(rec, x->terms[i].var);
        for (uint32_t i = 0; i < t->n_rows; i++)
            x->row_class[i] = (uint8_t)classify(t, x->terms + x->row[i], x->row[i + 1] - x->row[i]);
    }
    for (size_t i = 0; i < n_out; i++) out[i] = local_lit(rec, out[i]);
    return CUZK_OK;
fail:
    zk_template_free(t);
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "recording gadget %s: out of memory or more than 2^28 variables", name);
}

void zk_template_free(zk_template *t) {
    free(t->ops);
    free(t->lits);
    free(t->lc_start);
    free(t->lc_terms);
    free(t->wide);
    free(t->wide_mask);
    free(t->kind);
    for (int m = 0; m < 3; m++) {
        free(t->abc[m].row);
        free(t->abc[m].terms);
        free(t->abc[m].row_class);
    }
    memset(t, 0, sizeof *t);
}

size_t zk_template_bytes(const zk_template *t) {
    size_t bytes = sizeof *t + t->n_ops * sizeof *t->ops + t->n_lits * sizeof *t->lits +
                   (t->n_lcs + (size_t)1) * sizeof *t->lc_start + t->lc_start[t->n_lcs] * sizeof *t->lc_terms +
                   t->n_wide * sizeof *t->wide + (t->n_aux / 64 + 1) * sizeof *t->wide_mask + zk_template_n_locals(t);
    for (int m = 0; m < 3; m++)
        bytes +=
            (t->n_rows + (size_t)1) * (sizeof *t->abc[m].row + 1) + t->abc[m].row[t->n_rows] * sizeof *t->abc[m].terms;
    return bytes;
}
