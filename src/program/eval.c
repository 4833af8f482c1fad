/* A, B, C times the assignment on the CPU. */
#include <stdlib.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/alloc.h"
#include "base/pool.h"
#include "program/defined.h"
#include "program/exec.h"

#define INSTANCES_PER_CHUNK 2
#define ROWS_PER_CHUNK 4096

typedef struct eval_job {
    const zk_program *p;
    const zk_witness *w;
    zk_fr *out[3];
    zk_locals *locals;  /* per thread */
    uint32_t **defined; /* [n_templates] rows of A with a known value; NULL: all are added up */
    zk_fr *rows[3];     /* per thread: those of one instance, [rows_of_thread] each */
    size_t rows_of_thread;
    size_t first;                          /* unsatisfied */
    zk_fr small[2 * ZK_ROW_SMALL_MAX + 1]; /* -ZK_ROW_SMALL_MAX .. ZK_ROW_SMALL_MAX */
} eval_job;

/* Results are not read again soon and fill gigabytes: past the caches where the CPU can and the address allows. */
static inline void store(zk_fr *to, const zk_fr *value) {
#if defined(__SSE2__)
    if (((uintptr_t)to & 15) == 0) {
        const __m128i *from = (const __m128i *)value;
        _mm_stream_si128((__m128i *)to, _mm_loadu_si128(from));
        _mm_stream_si128((__m128i *)to + 1, _mm_loadu_si128(from + 1));
        return;
    }
#endif
    *to = *value;
}

static inline void store_fence(void) {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Bits first .. first+n-1 as bytes; writes up to 63 bytes more. */
static void load_bits(uint8_t *v, const uint64_t *bits, uint32_t first, uint32_t n) {
    for (uint32_t i = 0; i < n; i += 64) {
        uint32_t at = first + i, shift = at % 64;
        uint64_t word = bits[at / 64] >> shift;
        if (shift && (n - i < 64 ? n - i : 64) > 64 - shift) word |= bits[at / 64 + 1] << (64 - shift);
        for (int k = 0; k < 8; k++, word >>= 8) {
            uint64_t spread = (word & 255) * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
            zk_store_le64(v + i + 8 * k, (spread + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101));
        }
    }
}

/* defined: NULL, or for each row the variable that has its value. */
static void eval_matrix(const eval_job *job, const zk_template *t, const zk_matrix *m, const uint32_t *defined,
                        const zk_locals *l, zk_fr *out) {
    static const int8_t small_coef[ZK_N_SMALL_COEFS] = {1, -1, 2, -2, 3, -3, 4, -4};
    const zk_fr *small = job->small + ZK_ROW_SMALL_MAX, *coefs = job->p->coefs;
    const uint8_t *v = l->v;
    const zk_term *term = m->terms;
    for (uint32_t r = 0; r < t->n_rows; r++) {
        const zk_term *end = m->terms + m->row[r + 1];
        zk_fr value;
        if (defined && defined[r] != ZK_NOT_DEFINED) {
            store(&out[r], &l->w[defined[r]]);
            term = end;
            continue;
        }
        switch ((zk_row_class)m->row_class[r]) {
        case ZK_ROW_ZERO:
            store(&out[r], small);
            break;
        case ZK_ROW_SMALL: {
            int sum = 0;
            for (const zk_term *k = term; k < end; k++) sum += small_coef[k->coef] * v[k->var];
            store(&out[r], small + sum);
            break;
        }
        case ZK_ROW_BITS:
            zk_locals_sum_bits(&value, coefs, l, term, (size_t)(end - term));
            store(&out[r], &value);
            break;
        case ZK_ROW_WIDE:
            if (end - term == 1 && term->coef == 0) {
                store(&out[r], &l->w[term->var]);
                break;
            }
            zk_locals_sum(&value, coefs, t->kind, l, term, (size_t)(end - term));
            store(&out[r], &value);
            break;
        }
        term = end;
    }
}

static void load_own(zk_locals *l, const zk_instance *x, const zk_template *t, const zk_witness *w) {
    uint32_t first_own = 1 + t->n_ports, first_aux = first_own + t->n_inputs;
    for (uint32_t k = 0; k < t->n_inputs; k++) l->w[first_own + k] = w->inputs[x->first_input + k];
    for (uint32_t k = 0; k < t->n_wide; k++) l->w[first_aux + t->wide[k]] = w->wide[x->first_wide + k];
    load_bits(l->v + first_aux, w->bits, x->first_aux, t->n_aux);
}

static const zk_template *load_instance(zk_locals *l, const eval_job *job, const zk_instance *x) {
    const zk_template *t = &job->p->templates[x->template_id];
    zk_locals_load_ports(l, job->p, x, t, job->w);
    load_own(l, x, t, job->w);
    return t;
}

static void eval_instances(void *ctx, size_t begin, size_t end, unsigned thread) {
    eval_job *job = ctx;
    zk_locals *l = &job->locals[thread];
    for (size_t i = begin; i < end; i++) {
        const zk_instance *x = &job->p->instances[i];
        const zk_template *t = load_instance(l, job, x);
        for (int m = 0; m < 3; m++)
            if (job->out[m])
                eval_matrix(job, t, &t->abc[m], m == 0 && job->defined ? job->defined[x->template_id] : NULL, l,
                            job->out[m] + x->first_row);
    }
    store_fence();
}

static cuzk_status eval(eval_job *job, void (*instances)(void *, size_t, size_t, unsigned), zk_pool *pool,
                        cuzk_err *err) {
    unsigned n_threads = zk_pool_n_threads(pool);
    for (int i = -ZK_ROW_SMALL_MAX; i <= ZK_ROW_SMALL_MAX; i++) zk_fr_from_i64(&job->small[i + ZK_ROW_SMALL_MAX], i);
    ZK_TRY(zk_locals_alloc_all(&job->locals, n_threads, job->p, err));
    zk_pool_for(pool, job->p->n_instances, INSTANCES_PER_CHUNK, instances, job);
    zk_locals_free_all(job->locals, n_threads);
    return CUZK_OK;
}

cuzk_status zk_program_eval(const zk_program *p, const zk_witness *w, zk_fr *a, zk_fr *b, zk_fr *c, zk_pool *pool,
                            cuzk_err *err) {
    eval_job job = {.p = p, .w = w, .out = {a, b, c}};
    return eval(&job, eval_instances, pool, err);
}

cuzk_status zk_program_eval_computed(const zk_program *p, const zk_witness *w, zk_fr *a, zk_fr *b, zk_fr *c,
                                     zk_pool *pool, cuzk_err *err) {
    eval_job job = {.p = p, .w = w, .out = {a, b, c}};
    cuzk_status status = CUZK_OK;
    job.defined = zk_calloc(p->n_templates + (size_t)1, sizeof *job.defined);
    if (!job.defined) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: no memory", p->name);
    for (uint32_t i = 0; i < p->n_templates; i++)
        ZK_GOTO(zk_template_defined_rows(&job.defined[i], &p->templates[i], err));
    ZK_GOTO(eval(&job, eval_instances, pool, err));
out:
    for (uint32_t i = 0; i < p->n_templates; i++) free(job.defined[i]);
    free(job.defined);
    return status;
}

/* ---- check ---- */

/* Keeps the least row that is not satisfied. */
static void note_first(size_t *first, size_t row) {
    size_t seen = __atomic_load_n(first, __ATOMIC_RELAXED);
    while (row < seen && !__atomic_compare_exchange_n(first, &seen, row, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static bool is_satisfied(const zk_fr *a, const zk_fr *b, const zk_fr *c) {
    zk_fr product;
    zk_fr_mul(&product, a, b);
    return zk_fr_eq(&product, c);
}

typedef struct check_job {
    const zk_fr *a, *b, *c;
    size_t first;
} check_job;

static void check_rows(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    check_job *job = ctx;
    if (begin >= __atomic_load_n(&job->first, __ATOMIC_RELAXED)) return;
    for (size_t i = begin; i < end; i++) {
        if (is_satisfied(&job->a[i], &job->b[i], &job->c[i])) continue;
        note_first(&job->first, i);
        return;
    }
}

size_t zk_program_first_unsatisfied(const zk_fr *a, const zk_fr *b, const zk_fr *c, size_t n_rows, zk_pool *pool) {
    check_job job = {a, b, c, n_rows};
    zk_pool_for(pool, n_rows, ROWS_PER_CHUNK, check_rows, &job);
    return job.first;
}

static void check_instances(void *ctx, size_t begin, size_t end, unsigned thread) {
    eval_job *job = ctx;
    zk_locals *l = &job->locals[thread];
    zk_fr *rows[3];
    for (int m = 0; m < 3; m++) rows[m] = job->rows[m] + thread * job->rows_of_thread;
    for (size_t i = begin; i < end; i++) {
        const zk_instance *x = &job->p->instances[i];
        if (x->first_row >= __atomic_load_n(&job->first, __ATOMIC_RELAXED)) continue;
        const zk_template *t = load_instance(l, job, x);
        for (int m = 0; m < 3; m++) eval_matrix(job, t, &t->abc[m], NULL, l, rows[m]);
        store_fence();
        for (uint32_t r = 0; r < t->n_rows; r++) {
            if (is_satisfied(&rows[0][r], &rows[1][r], &rows[2][r])) continue;
            note_first(&job->first, (size_t)x->first_row + r);
            break;
        }
    }
}

cuzk_status zk_program_find_unsatisfied(size_t *row, const zk_program *p, const zk_witness *w, zk_pool *pool,
                                        cuzk_err *err) {
    eval_job job = {.p = p, .w = w, .first = p->n_rows};
    cuzk_status status = CUZK_OK;
    *row = p->n_rows;
    for (uint32_t i = 0; i < p->n_templates; i++)
        if (p->templates[i].n_rows > job.rows_of_thread) job.rows_of_thread = p->templates[i].n_rows;
    size_t n = job.rows_of_thread * zk_pool_n_threads(pool);
    zk_fr *rows = zk_malloc((3 * n + 1) * sizeof *rows);
    if (!rows) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "circuit %s: no memory for rows", p->name);
    for (int m = 0; m < 3; m++) job.rows[m] = rows + m * n;
    ZK_GOTO(eval(&job, check_instances, pool, err));
    *row = job.first;
out:
    free(rows);
    return status;
}
