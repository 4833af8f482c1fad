/* The columns of the QAP at tau, by one walk over templates and instances.
 *
 * L_j(tau) = (tau^n - 1)/n * w^j/(tau - w^j) are the Lagrange polynomials of the domain. A column is the sum over its
 * rows of coefficient times L_row. An instance owns its rows and the variables it adds, so instances run in parallel:
 * what they add to their own variables goes straight into the columns, what they add to earlier variables goes through
 * an array of one element a port and is added up afterwards, by threads that own the variables.
 */
#include "groth16/columns.h"

#include <stdatomic.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/bytes.h"
#include "base/mem.h"

void zk_columns_clear(zk_columns *columns) {
    for (unsigned m = 0; m < 3; m++) zk_mem_free(columns->value[m]);
    *columns = (zk_columns){0};
}

/* ---- Lagrange ---- */

#define LAGRANGE_CHUNK 2048

typedef struct lagrange_job {
    zk_fr *out;
    zk_fr tau, w_inv, scale; /* scale = (tau^n - 1)/n */
    zk_fr *scratch;          /* [n_threads][LAGRANGE_CHUNK] */
} lagrange_job;

/* scale/(tau w^-j - 1), all of a chunk by one inversion: out_j holds the product of the denominators before j, and the
 * inverse of the product of those up to j goes down from the last. */
static void lagrange_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    lagrange_job *job = ctx;
    zk_fr *denominator = job->scratch + (size_t)thread * LAGRANGE_CHUNK, *out = job->out + begin;
    zk_fr x, product = zk_fr_one;
    size_t n = end - begin;
    zk_fr_pow_u64(&x, &job->w_inv, begin);
    zk_fr_mul(&x, &x, &job->tau);
    for (size_t j = 0; j < n; j++) {
        out[j] = product;
        zk_fr_sub(&denominator[j], &x, &zk_fr_one); /* not zero: tau is not in the domain */
        zk_fr_mul(&product, &product, &denominator[j]);
        zk_fr_mul(&x, &x, &job->w_inv);
    }
    zk_fr_inv_var(&product, &product);
    zk_fr_mul(&product, &product, &job->scale);
    for (size_t j = n; j-- > 0;) {
        zk_fr_mul(&out[j], &out[j], &product);
        zk_fr_mul(&product, &product, &denominator[j]);
    }
}

static cuzk_status lagrange(zk_fr **out, const zk_columns *columns, const zk_fr *tau, zk_pool *pool, cuzk_err *err) {
    size_t n = (size_t)1 << columns->log2_n;
    lagrange_job job = {.tau = *tau};
    zk_fr n_fr;
    job.scratch = zk_calloc(zk_pool_n_threads(pool), LAGRANGE_CHUNK * sizeof *job.scratch);
    if (!job.scratch) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "setup: Lagrange values: out of memory");
    cuzk_status status = zk_mem_alloc_shared((void **)&job.out, "setup lagrange", n * sizeof *job.out, err);
    if (status != CUZK_OK) {
        free(job.scratch);
        return status;
    }
    zk_fr_root_of_unity(&job.w_inv, columns->log2_n);
    zk_fr_inv_var(&job.w_inv, &job.w_inv);
    zk_fr_from_u64(&n_fr, n);
    zk_fr_inv_var(&n_fr, &n_fr);
    zk_fr_mul(&job.scale, &columns->t, &n_fr);
    zk_pool_for(pool, n, LAGRANGE_CHUNK, lagrange_range, &job);
    free(job.scratch);
    *out = job.out;
    return CUZK_OK;
}

/* ---- one matrix ---- */

/* What a thread has added up of variable 0, apart from the next thread's. */
typedef struct walk_constant {
    zk_fr sum;
    uint8_t apart[64];
} walk_constant;

typedef struct walk_job {
    const zk_program *program;
    const zk_fr *lagrange;
    unsigned matrix;
    zk_fr *column;           /* [n_inputs + n_aux] */
    zk_fr *port;             /* [n_ports] */
    walk_constant *constant; /* [n_threads] */
    size_t n_parts;          /* of the variables, when ports are added up */
} walk_job;

static void walk_instance(const walk_job *job, const zk_instance *instance, zk_fr *constant) {
    const zk_program *program = job->program;
    const zk_template *t = &program->templates[instance->template_id];
    const zk_matrix *matrix = &t->abc[job->matrix];
    const zk_fr *rows = job->lagrange + instance->first_row;
    zk_fr *ports = job->port + instance->first_port;
    zk_fr *inputs = job->column + instance->first_input;
    zk_fr *aux = job->column + program->n_inputs + instance->first_aux;
    uint32_t first_input = 1 + t->n_ports, first_aux = first_input + t->n_inputs;
    for (uint32_t row = 0; row < t->n_rows; row++)
        for (uint32_t k = matrix->row[row]; k < matrix->row[row + 1]; k++) {
            zk_term term = matrix->terms[k];
            zk_fr *to = term.var >= first_aux     ? &aux[term.var - first_aux]
                        : term.var >= first_input ? &inputs[term.var - first_input]
                        : term.var                ? &ports[term.var - 1]
                                                  : constant;
            if (term.coef == 0) {
                zk_fr_add(to, to, &rows[row]);
            } else if (term.coef == 1) {
                zk_fr_sub(to, to, &rows[row]);
            } else {
                zk_fr v;
                zk_fr_mul(&v, &rows[row], &program->coefs[term.coef]);
                zk_fr_add(to, to, &v);
            }
        }
}

static void walk_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const walk_job *job = ctx;
    for (size_t i = begin; i < end; i++) walk_instance(job, &job->program->instances[i], &job->constant[thread].sum);
}

/* Who adds to the variable of a port. Neighbours belong together, so that threads seldom write to the same line. */
static size_t part_of(uint32_t port, size_t n_parts) {
    return (size_t)(((port >> 6) * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % n_parts;
}

static void add_ports_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const walk_job *job = ctx;
    const zk_program *program = job->program;
    (void)thread;
    for (size_t part = begin; part < end; part++)
        for (uint32_t p = 0; p < program->n_ports; p++) {
            if (part_of(program->ports[p], job->n_parts) != part || zk_fr_is_zero(&job->port[p])) continue;
            zk_var var = zk_program_port_var(program, program->ports[p]);
            zk_fr *to = &job->column[var & ZK_VAR_INPUT ? var & ~ZK_VAR_INPUT : program->n_inputs + var];
            zk_fr_add(to, to, &job->port[p]);
        }
}

/* A variable without any term would have an l point at infinity. Named by the instance that adds it. */
typedef struct lonely_job {
    const zk_columns *columns;
    _Atomic size_t first;
} lonely_job;

static void lonely_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    lonely_job *job = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        size_t at = job->columns->n_inputs + i, seen;
        if (!zk_fr_is_zero(&job->columns->value[0][at]) || !zk_fr_is_zero(&job->columns->value[1][at]) ||
            !zk_fr_is_zero(&job->columns->value[2][at]))
            continue;
        seen = atomic_load(&job->first);
        while (i < seen && !atomic_compare_exchange_weak(&job->first, &seen, i)) {}
        return;
    }
}

static cuzk_status check_constrained(const zk_columns *columns, const zk_program *program, zk_pool *pool,
                                     cuzk_err *err) {
    lonely_job job = {columns, columns->n_aux};
    zk_pool_for(pool, columns->n_aux, 1 << 14, lonely_range, &job);
    if (job.first == columns->n_aux) return CUZK_OK;
    const char *name = "?";
    uint32_t instance = 0;
    for (; instance < program->n_instances; instance++) {
        const zk_instance *in = &program->instances[instance];
        const zk_template *t = &program->templates[in->template_id];
        if (job.first < in->first_aux || job.first - in->first_aux >= t->n_aux) continue;
        name = t->name;
        break;
    }
    return ZK_FAIL(err, CUZK_BAD_INPUT,
                   "circuit %s: unconstrained variable: aux %zu (instance %u, %s) occurs in no row of A, B or C",
                   program->name, (size_t)job.first, instance, name);
}

/* column[v] += sum of the coefficients of v in a matrix, each times the weight of its row; column: [n_inputs + n_aux]
 */
static cuzk_status add_columns(zk_fr *column, const zk_program *program, unsigned matrix, const zk_fr *weights,
                               zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    unsigned n_threads = zk_pool_n_threads(pool);
    walk_job job = {.program = program, .lagrange = weights, .matrix = matrix, .column = column, .n_parts = n_threads};
    ZK_GOTO(zk_mem_alloc((void **)&job.port, "setup ports", program->n_ports * sizeof *job.port, err));
    job.constant = zk_calloc(n_threads, sizeof *job.constant);
    if (!job.constant) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "setup: out of memory"));
    zk_pool_for(pool, program->n_instances, 1, walk_range, &job);
    for (unsigned t = 0; t < n_threads; t++) zk_fr_add(&column[0], &column[0], &job.constant[t].sum);
    zk_pool_for(pool, job.n_parts, 1, add_ports_range, &job);
out:
    zk_mem_free(job.port);
    free(job.constant);
    return status;
}

cuzk_status zk_columns_compute(zk_columns *columns, const zk_program *program, const zk_fr *tau, zk_pool *pool,
                               cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    size_t n_vars = (size_t)program->n_inputs + program->n_aux;
    zk_fr *lagrange_values = NULL;

    *columns = (zk_columns){.n_inputs = program->n_inputs, .n_aux = program->n_aux};
    ZK_TRY(zk_program_log2_domain(&columns->log2_n, program, err));
    zk_fr_pow_u64(&columns->t, tau, UINT64_C(1) << columns->log2_n);
    zk_fr_sub(&columns->t, &columns->t, &zk_fr_one);
    if (zk_fr_is_zero(&columns->t))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "toxic waste: tau lies in the domain of 2^%u rows", columns->log2_n);

    ZK_GOTO(lagrange(&lagrange_values, columns, tau, pool, err));
    for (unsigned m = 0; m < 3; m++) {
        ZK_GOTO(
            zk_mem_alloc_shared((void **)&columns->value[m], "setup columns", n_vars * sizeof *columns->value[m], err));
        ZK_GOTO(add_columns(columns->value[m], program, m, lagrange_values, pool, err));
    }
    for (uint32_t i = 0; i < program->n_inputs; i++)
        zk_fr_add(&columns->value[0][i], &columns->value[0][i], &lagrange_values[program->n_rows + i]);
    ZK_GOTO(check_constrained(columns, program, pool, err));
out:
    zk_mem_free(lagrange_values);
    if (status != CUZK_OK) zk_columns_clear(columns);
    return status;
}

typedef struct reweigh_job {
    zk_fr *weights;
    zk_fr w;
    const zk_fr *scale, *power_scale;
} reweigh_job;

static void reweigh_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const reweigh_job *job = ctx;
    zk_fr power;
    (void)thread;
    zk_fr_pow_u64(&power, &job->w, begin);
    zk_fr_mul(&power, &power, job->power_scale);
    for (size_t i = begin; i < end; i++) {
        zk_fr_mul(&job->weights[i], &job->weights[i], job->scale);
        zk_fr_add(&job->weights[i], &job->weights[i], &power);
        zk_fr_mul(&power, &power, &job->w);
    }
}

cuzk_status zk_columns_reweigh_c(zk_columns *columns, const zk_program *program, const zk_fr *tau, const zk_fr *scale,
                                 const zk_fr *power_scale, zk_pool *pool, cuzk_err *err) {
    reweigh_job job = {.scale = scale, .power_scale = power_scale};
    cuzk_status status = CUZK_OK;
    zk_fr_root_of_unity(&job.w, columns->log2_n);
    ZK_TRY(lagrange(&job.weights, columns, tau, pool, err));
    zk_pool_for(pool, program->n_rows, LAGRANGE_CHUNK, reweigh_range, &job);
    memset(columns->value[2], 0, (columns->n_inputs + columns->n_aux) * sizeof *columns->value[2]);
    status = add_columns(columns->value[2], program, 2, job.weights, pool, err);
    zk_mem_free(job.weights);
    return status;
}

/* ---- inputs in C ---- */

/* Local variables of the template that occur in C, but aux variables: [1 + n_ports + n_inputs] */
static void mark_template(uint8_t *used, const zk_template *t) {
    const zk_matrix *c = &t->abc[2];
    uint32_t n = 1 + t->n_ports + t->n_inputs;
    memset(used, 0, n);
    for (uint32_t k = 0; k < c->row[t->n_rows]; k++)
        if (c->terms[k].var < n) used[c->terms[k].var] = 1;
}

cuzk_status zk_columns_c_inputs(uint64_t *c_input, size_t *n, const zk_program *program, cuzk_err *err) {
    size_t most = 1, first;
    bool range;
    memset(c_input, 0, zk_bitmap_words(program->n_inputs) * 8);
    for (uint32_t i = 0; i < program->n_templates; i++)
        most = zk_max_size(most, 1 + (size_t)program->templates[i].n_ports + program->templates[i].n_inputs);
    uint8_t *used = zk_malloc(most);
    if (!used) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "inputs of circuit %s: out of memory", program->name);
    /* template by template: there are few */
    for (uint32_t id = 0; id < program->n_templates; id++) {
        const zk_template *t = &program->templates[id];
        mark_template(used, t);
        if (!memchr(used, 1, 1 + (size_t)t->n_ports + t->n_inputs)) continue;
        for (uint32_t i = 0; i < program->n_instances; i++) {
            const zk_instance *instance = &program->instances[i];
            const uint32_t *ports = program->ports + instance->first_port;
            if (instance->template_id != id) continue;
            if (used[0]) c_input[0] |= 1;
            for (uint32_t k = 0; k < t->n_ports; k++) {
                uint32_t input = ports[k] & ZK_PORT_INDEX_MASK;
                if (used[1 + k] && (ports[k] & ZK_PORT_KIND_MASK) == ZK_PORT_INPUT)
                    c_input[input / 64] |= UINT64_C(1) << input % 64;
            }
            for (uint32_t k = 0; k < t->n_inputs; k++) {
                uint32_t input = instance->first_input + k;
                if (used[1 + t->n_ports + k]) c_input[input / 64] |= UINT64_C(1) << input % 64;
            }
        }
    }
    free(used);
    *n = zk_bitmap_count(c_input, program->n_inputs, &range, &first);
    return CUZK_OK;
}
