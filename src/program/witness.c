/* Witness on the CPU: level by level, instances of a level in parallel. */
#include <stdlib.h>

#include "base/pool.h"
#include "hash/poseidon.h"
#include "program/exec.h"

#define INSTANCES_PER_CHUNK 4
#define CLEAR_WORDS_PER_CHUNK (1u << 16)

typedef struct witness_job {
    const zk_program *p;
    const uint8_t (*hints)[32];
    zk_witness *w;
    zk_locals *locals;     /* per thread */
    const uint32_t *level; /* instances of the current level */
    uint32_t bad_hint;     /* least hint that is no field element, UINT32_MAX */
} witness_job;

static inline uint8_t lit_value(const uint8_t *v, zk_lit lit) { return v[lit >> 1] ^ (lit & 1); }

static uint64_t word_value(const uint8_t *v, const zk_lit *lits) {
    uint64_t r = 0;
    for (int i = 0; i < 32; i++) r |= (uint64_t)lit_value(v, lits[i]) << i;
    return r;
}

static void report_bad_hint(witness_job *job, uint32_t hint) {
    uint32_t seen = __atomic_load_n(&job->bad_hint, __ATOMIC_RELAXED);
    while (hint < seen &&
           !__atomic_compare_exchange_n(&job->bad_hint, &seen, hint, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static void poseidon(const zk_program *p, const zk_template *t, const zk_op *op, zk_fr *w) {
    const zk_poseidon_params *params = zk_poseidon_get(op->n); /* there: the gadget was recorded with it */
    zk_poseidon_sbox sboxes[ZK_POSEIDON_MAX_SBOXES];
    zk_fr in[ZK_POSEIDON_MAX_ARITY], out, *to = w + op->dst;
    for (unsigned i = 0; i < op->n; i++) in[i] = w[t->lits[op->a + i]];
    zk_poseidon_trace(&out, sboxes, params, &p->coefs[op->b], in);
    unsigned n = zk_poseidon_n_sboxes(params);
    for (unsigned i = 1; i < n; i++) {
        if (i >= params->width) *to++ = sboxes[i].x;
        *to++ = sboxes[i].x2;
        *to++ = sboxes[i].x4;
        *to++ = sboxes[i].y;
    }
    *to = out;
}

static void sum_lc(zk_fr *r, const zk_program *p, const zk_template *t, const zk_locals *l, uint32_t lc) {
    uint32_t first = t->lc_start[lc];
    zk_locals_sum(r, p->coefs, t->kind, l, t->lc_terms + first, t->lc_start[lc + 1] - first);
}

static void run_ops(witness_job *job, const zk_instance *x, const zk_template *t, zk_locals *l) {
    const zk_program *p = job->p;
    uint8_t *v = l->v;
    zk_fr *w = l->w;
    for (const zk_op *op = t->ops, *end = t->ops + t->n_ops; op < end; op++) {
        switch ((zk_op_code)op->code) {
        case ZK_OP_AND:
            v[op->dst] = lit_value(v, op->a) & lit_value(v, op->b);
            break;
        case ZK_OP_XOR:
            v[op->dst] = lit_value(v, op->a) ^ lit_value(v, op->b);
            break;
        case ZK_OP_CH: {
            uint8_t b = lit_value(v, op->b), c = lit_value(v, op->c);
            v[op->dst] = c ^ (lit_value(v, op->a) & (b ^ c));
            break;
        }
        case ZK_OP_MAJ: {
            uint8_t a = lit_value(v, op->a), b = lit_value(v, op->b), c = lit_value(v, op->c);
            v[op->dst] = (a & b) | (c & (a | b));
            break;
        }
        case ZK_OP_SUM32: {
            uint64_t sum = op->c;
            for (uint32_t k = 0; k < op->b; k++) sum += word_value(v, t->lits + op->a + 32 * k);
            for (unsigned i = 0; i < op->n; i++) v[op->dst + i] = sum >> i & 1;
            break;
        }
        case ZK_OP_HINT: {
            uint32_t hint = x->first_hint + op->a;
            if (!zk_fr_from_bytes_le(&w[op->dst], job->hints[hint])) {
                w[op->dst] = zk_fr_zero;
                report_bad_hint(job, hint);
            }
            break;
        }
        case ZK_OP_HINT_BIT:
            v[op->dst] = job->hints[x->first_hint + op->a][op->b / 8] >> (op->b % 8) & 1;
            break;
        case ZK_OP_BITS: {
            uint64_t limbs[4];
            zk_fr_to_limbs(limbs, &w[op->a]);
            for (unsigned i = 0; i < op->n; i++) v[op->dst + i] = limbs[(op->b + i) / 64] >> ((op->b + i) % 64) & 1;
            break;
        }
        case ZK_OP_LC:
            sum_lc(&w[op->dst], p, t, l, op->a);
            break;
        case ZK_OP_MULADD: {
            zk_fr a, b;
            sum_lc(&a, p, t, l, op->a);
            sum_lc(&b, p, t, l, op->b);
            zk_fr_mul(&a, &a, &b);
            if (op->c != ZK_NO_LC) {
                sum_lc(&b, p, t, l, op->c);
                zk_fr_add(&a, &a, &b);
            }
            w[op->dst] = a;
            break;
        }
        case ZK_OP_POSEIDON:
            poseidon(p, t, op, w);
            break;
        case ZK_N_OPS:
            break;
        }
    }
}

/* n values 0 or 1 to bits first .. first+n-1. The words at both ends are shared with other instances. */
static void store_bits(uint64_t *bits, uint32_t first, const uint8_t *v, uint32_t n) {
    uint32_t i = 0;
    while (i < n) {
        uint32_t at = first + i, shift = at % 64, room = 64 - shift, count = n - i < room ? n - i : room;
        uint64_t word = 0;
        uint32_t k = 0;
        /* Eight bytes to eight bits: byte j is moved to bit 56 + j of the product. */
        for (; k + 8 <= count; k += 8) word |= (zk_load_le64(v + i + k) * UINT64_C(0x0102040810204080) >> 56) << k;
        for (; k < count; k++) word |= (uint64_t)v[i + k] << k;
        if (count == 64)
            bits[at / 64] = word;
        else
            __atomic_fetch_or(&bits[at / 64], word << shift, __ATOMIC_RELAXED);
        i += count;
    }
}

static void run_instances(void *ctx, size_t begin, size_t end, unsigned thread) {
    witness_job *job = ctx;
    const zk_program *p = job->p;
    zk_locals *l = &job->locals[thread];
    for (size_t i = begin; i < end; i++) {
        const zk_instance *x = &p->instances[job->level[i]];
        const zk_template *t = &p->templates[x->template_id];
        uint32_t first_own = 1 + t->n_ports, first_aux = first_own + t->n_inputs;
        zk_locals_load_ports(l, p, x, t, job->w);
        for (uint32_t k = 0; k < t->n_wide; k++) l->v[first_aux + t->wide[k]] = 0;
        run_ops(job, x, t, l);
        for (uint32_t k = 0; k < t->n_inputs; k++) job->w->inputs[x->first_input + k] = l->w[first_own + k];
        for (uint32_t k = 0; k < t->n_wide; k++) job->w->wide[x->first_wide + k] = l->w[first_aux + t->wide[k]];
        store_bits(job->w->bits, x->first_aux, l->v + first_aux, t->n_aux);
    }
}

static void clear_bits(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    witness_job *job = ctx;
    memset(job->w->bits + begin, 0, (end - begin) * sizeof *job->w->bits);
}

cuzk_status zk_program_witness(const zk_program *p, const uint8_t (*hints)[32], zk_witness *w, zk_pool *pool,
                               cuzk_err *err) {
    unsigned n_threads = zk_pool_n_threads(pool);
    witness_job job = {.p = p, .hints = hints, .w = w, .bad_hint = UINT32_MAX};
    ZK_TRY(zk_locals_alloc_all(&job.locals, n_threads, p, err));
    zk_pool_for(pool, ((size_t)p->n_aux + 63) / 64, CLEAR_WORDS_PER_CHUNK, clear_bits, &job);
    w->inputs[0] = zk_fr_one;
    for (uint32_t k = 0; k < p->n_levels; k++) {
        job.level = p->order + p->level_start[k];
        size_t n = p->level_start[k + 1] - p->level_start[k];
        size_t grain = n / (4 * n_threads) + 1;
        zk_pool_for(pool, n, grain < INSTANCES_PER_CHUNK ? grain : INSTANCES_PER_CHUNK, run_instances, &job);
    }
    zk_locals_free_all(job.locals, n_threads);
    if (job.bad_hint != UINT32_MAX)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "circuit %s: private value %u is not below r", p->name, job.bad_hint);
    return CUZK_OK;
}
