/* Small circuits for tests: built, assigned, evaluated, and broken on purpose. */
#ifndef GADGET_RUN_H
#define GADGET_RUN_H

#include "program/builder.h"
#include "zk_test.h"

typedef struct gadget_run {
    zk_program *p;
    zk_witness w;
    zk_fr *abc[3];
} gadget_run;

/* evaluate: with room for the rows. */
static inline void run_alloc(gadget_run *r, zk_program *p, bool evaluate) {
    r->p = p;
    r->w.inputs = malloc(p->n_inputs * sizeof(zk_fr));
    r->w.bits = malloc((p->n_aux / 64 + (size_t)1) * 8);
    r->w.wide = malloc((p->n_wide + (size_t)1) * sizeof(zk_fr));
    for (int m = 0; m < 3 && evaluate; m++) ZK_CHECK((r->abc[m] = malloc((p->n_rows + (size_t)1) * sizeof(zk_fr))));
    ZK_CHECK(r->w.inputs && r->w.bits && r->w.wide);
    memset(r->w.bits, 0xa5, (p->n_aux / 64 + (size_t)1) * 8); /* need not be cleared */
}

static inline void run_free(gadget_run *r) {
    free(r->w.inputs);
    free(r->w.bits);
    free(r->w.wide);
    for (int m = 0; m < 3; m++) free(r->abc[m]);
    zk_program_destroy(r->p);
}

static inline void run_witness(gadget_run *r, const uint8_t (*hints)[32]) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_program_witness(r->p, hints, &r->w, NULL, &err), err);
}

/* First row that fails, or n_rows. */
static inline size_t run_check(gadget_run *r) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_program_eval(r->p, &r->w, r->abc[0], r->abc[1], r->abc[2], NULL, &err), err);
    return zk_program_first_unsatisfied(r->abc[0], r->abc[1], r->abc[2], r->p->n_rows, NULL);
}

static inline void run_satisfied(gadget_run *r) {
    size_t row = run_check(r);
    ZK_CHECKF(row == r->p->n_rows, "row %zu of %u fails", row, r->p->n_rows);
}

static inline zk_fr cell_value(const gadget_run *r, zk_cell cell) {
    uint32_t port = (uint32_t)(cell >> 1), index = port & ZK_PORT_INDEX_MASK;
    zk_fr v;
    switch (port & ZK_PORT_KIND_MASK) {
    case ZK_PORT_BIT:
        zk_fr_from_u64(&v, r->w.bits[index / 64] >> (index % 64) & 1);
        break;
    case ZK_PORT_WIDE:
        v = r->w.wide[index];
        break;
    default:
        v = r->w.inputs[index];
        break;
    }
    if (cell & 1) zk_fr_sub(&v, &zk_fr_one, &v);
    return v;
}

static inline int cell_bit(const gadget_run *r, zk_cell cell) {
    zk_fr v = cell_value(r, cell);
    ZK_CHECK(zk_fr_is_zero(&v) || zk_fr_is_one(&v));
    return zk_fr_is_one(&v);
}

/* The value of aux i, as a field element. */
static inline bool aux_is_wide(const zk_program *p, uint32_t aux, uint32_t *slot) {
    uint32_t lo = 0, hi = p->n_wide;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (zk_program_wide_aux(p, mid) < aux)
            lo = mid + 1;
        else
            hi = mid;
    }
    *slot = lo;
    return lo < p->n_wide && zk_program_wide_aux(p, lo) == aux;
}

static inline zk_fr var_value(const zk_program *p, const zk_witness *w, zk_var var) {
    zk_fr v;
    uint32_t slot;
    if (var & ZK_VAR_INPUT) return w->inputs[var & ~ZK_VAR_INPUT];
    if (aux_is_wide(p, var, &slot)) return w->wide[slot];
    zk_fr_from_u64(&v, w->bits[var / 64] >> (var % 64) & 1);
    return v;
}

/* Adds one to a wide variable, flips a bit. */
static inline void aux_disturb(const zk_program *p, zk_witness *w, uint32_t aux) {
    uint32_t slot;
    if (aux_is_wide(p, aux, &slot))
        zk_fr_add(&w->wide[slot], &w->wide[slot], &zk_fr_one);
    else
        w->bits[aux / 64] ^= (uint64_t)1 << (aux % 64);
}

static inline void aux_restore(const zk_program *p, zk_witness *w, uint32_t aux) {
    uint32_t slot;
    if (aux_is_wide(p, aux, &slot))
        zk_fr_sub(&w->wide[slot], &w->wide[slot], &zk_fr_one);
    else
        w->bits[aux / 64] ^= (uint64_t)1 << (aux % 64);
}

/* A gadget that takes n_out bits, 256 a hint, with their rows. */
static inline void record_test_bits(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                                    size_t n_out) {
    (void)param, (void)in, (void)n_in;
    uint32_t hint = 0;
    for (size_t i = 0; i < n_out; i++) {
        if (i % 256 == 0) hint = zk_rec_hint(rec);
        out[i] = zk_rec_bits(rec, 1);
        zk_rec_op(
            rec, (zk_op){.code = ZK_OP_HINT_BIT, .n = 1, .dst = zk_lit_var(out[i]), .a = hint, .b = (uint32_t)i % 256});
        zk_lc_add_int(rec, zk_rec_a(rec), zk_lit_not(out[i]), 1);
        zk_lc_add_int(rec, zk_rec_b(rec), out[i], 1);
        zk_rec_row(rec);
    }
}
static const zk_gadget gadget_test_bits = {"test bits", record_test_bits};

#endif
