#include "program/exec.h"

#include "base/alloc.h"

/* Bits are expanded and packed eight at a time and may run over the end by up to 64. */
#define V_SLACK 128

static bool has_wide(const zk_template *t) {
    for (uint32_t i = 0; i < zk_template_n_locals(t); i++)
        if (t->kind[i] >= ZK_LOCAL_WIDE) return true;
    return false;
}

static void locals_free(zk_locals *l) {
    free(l->v);
    free(l->w);
    memset(l, 0, sizeof *l);
}

static cuzk_status locals_alloc(zk_locals *l, const zk_program *p, cuzk_err *err) {
    size_t n_v = 1, n_w = 0;
    for (uint32_t i = 0; i < p->n_templates; i++) {
        size_t n = zk_template_n_locals(&p->templates[i]);
        if (n > n_v) n_v = n;
        if (n > n_w && has_wide(&p->templates[i])) n_w = n;
    }
    l->v = zk_calloc(n_v + V_SLACK, 1);
    l->w = n_w ? zk_malloc(n_w * sizeof *l->w) : NULL;
    if (l->v && (l->w || !n_w)) return CUZK_OK;
    locals_free(l);
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: no memory for %zu local variables", p->name, n_v);
}

cuzk_status zk_locals_alloc_all(zk_locals **all, unsigned n, const zk_program *p, cuzk_err *err) {
    *all = zk_calloc(n, sizeof **all);
    if (!*all) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: no memory", p->name);
    for (unsigned i = 0; i < n; i++) {
        cuzk_status status = locals_alloc(&(*all)[i], p, err);
        if (status != CUZK_OK) {
            zk_locals_free_all(*all, n);
            *all = NULL;
            return status;
        }
    }
    return CUZK_OK;
}

void zk_locals_free_all(zk_locals *all, unsigned n) {
    for (unsigned i = 0; all && i < n; i++) locals_free(&all[i]);
    free(all);
}

void zk_locals_load_ports(zk_locals *l, const zk_program *p, const zk_instance *x, const zk_template *t,
                          const zk_witness *w) {
    const uint32_t *ports = p->ports + x->first_port;
    l->v[0] = 1;
    for (uint32_t i = 0; i < t->n_ports; i++) {
        uint32_t index = ports[i] & ZK_PORT_INDEX_MASK;
        switch (ports[i] & ZK_PORT_KIND_MASK) {
        case ZK_PORT_BIT:
            l->v[1 + i] = __atomic_load_n(&w->bits[index / 64], __ATOMIC_RELAXED) >> (index % 64) & 1;
            break;
        case ZK_PORT_WIDE:
            l->w[1 + i] = w->wide[index];
            break;
        default:
            l->w[1 + i] = w->inputs[index];
            break;
        }
    }
}

/* ---- sums without intermediate reductions: values < 2^64 r in five limbs ---- */

static inline void acc_add(uint64_t acc[5], const zk_fr *a, uint64_t mask) {
    unsigned __int128 t = 0;
    for (int i = 0; i < 4; i++) {
        t += (unsigned __int128)acc[i] + (a->l[i] & mask);
        acc[i] = (uint64_t)t;
        t >>= 64;
    }
    acc[4] += (uint64_t)t;
}

static void acc_reduce(zk_fr *r, const uint64_t acc[5]) {
    zk_fr low = {{acc[0], acc[1], acc[2], acc[3]}}, high;
    for (int k = 0; k < 2; k++) zk_limbs_reduce_once(low.l, low.l, zk_fr_modulus, 4); /* 2^256 < 3 r */
    /* acc[4] 2^256 as a residue is the Montgomery form of acc[4]. */
    zk_fr_from_u64(&high, acc[4]);
    zk_fr_add(r, &low, &high);
}

void zk_locals_sum_bits(zk_fr *r, const zk_fr *coefs, const zk_locals *l, const zk_term *terms, size_t n) {
    uint64_t acc[5] = {0};
    for (size_t i = 0; i < n; i++) acc_add(acc, &coefs[terms[i].coef], -(uint64_t)l->v[terms[i].var]);
    acc_reduce(r, acc);
}

void zk_locals_sum(zk_fr *r, const zk_fr *coefs, const uint8_t *kind, const zk_locals *l, const zk_term *terms,
                   size_t n) {
    uint64_t acc[5] = {0};
    for (size_t i = 0; i < n; i++) {
        const zk_fr *coef = &coefs[terms[i].coef];
        uint32_t var = terms[i].var;
        if (kind[var] < ZK_LOCAL_WIDE) {
            acc_add(acc, coef, -(uint64_t)l->v[var]);
        } else if (terms[i].coef == 0) {
            acc_add(acc, &l->w[var], UINT64_MAX);
        } else {
            zk_fr product;
            zk_fr_mul(&product, coef, &l->w[var]);
            acc_add(acc, &product, UINT64_MAX);
        }
    }
    acc_reduce(r, acc);
}
