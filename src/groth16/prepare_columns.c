#include <stdatomic.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/mem.h"
#include "groth16/prepare_impl.h"

/* ---- order ---- */

cuzk_status zk_prepare_order_make(zk_prepare_order *order, const zk_program *program, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    uint64_t *c_input = zk_calloc(zk_bitmap_words(program->n_inputs), 8);
    uint32_t next = 0;
    *order = (zk_prepare_order){.program = program, .input = zk_calloc(program->n_inputs, sizeof *order->input)};
    if (!c_input || !order->input)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "columns of circuit %s: out of memory", program->name));
    ZK_GOTO(zk_columns_c_inputs(c_input, &order->n_c_inputs, program, err));
    for (uint32_t i = 0; i < program->n_inputs; i++)
        if (zk_bitmap_get(c_input, i)) order->input[i] = next++;
    order->has_constant = zk_bitmap_get(c_input, 0);
out:
    free(c_input);
    if (status != CUZK_OK) zk_prepare_order_clear(order);
    return status;
}

void zk_prepare_order_clear(zk_prepare_order *order) {
    free(order->input);
    *order = (zk_prepare_order){0};
}

/* ---- columns ---- */

typedef struct columns_walk {
    const zk_prepare_order *order;
    zk_prepare_columns *columns;
    uint32_t mask; /* n - 1 */
} columns_walk;

static void count_row(void *ctx, uint32_t row, const zk_row_term *terms, size_t n_terms) {
    const columns_walk *walk = ctx;
    (void)row;
    for (size_t k = 0; k < n_terms; k++)
        if (terms[k].var != ZK_VAR_ONE) walk->columns->start[zk_prepare_column(walk->order, terms[k].var) + 1]++;
}

/* start[k] is the place of the next entry of column k. */
static void fill_row(void *ctx, uint32_t row, const zk_row_term *terms, size_t n_terms) {
    const columns_walk *walk = ctx;
    for (size_t k = 0; k < n_terms; k++) {
        uint32_t coef = terms[k].coef;
        if (terms[k].var == ZK_VAR_ONE) continue;
        uint32_t at = walk->columns->start[zk_prepare_column(walk->order, terms[k].var)]++;
        walk->columns->entries[at] = (zk_sparse_entry){(0 - row) & walk->mask, coef < 2 ? coef ^ 1 : coef};
    }
}

cuzk_status zk_prepare_columns_make(zk_prepare_columns *columns, const zk_prepare_order *order, uint64_t n_entries,
                                    unsigned log2_n, cuzk_err *err) {
    const zk_program *program = order->program;
    size_t n_columns = order->n_c_inputs + program->n_aux;
    columns_walk walk = {order, columns, (uint32_t)(((uint64_t)1 << log2_n) - 1)};
    cuzk_status status = CUZK_OK;
    *columns = (zk_prepare_columns){0};
    if (n_entries > UINT32_MAX)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "circuit %s: %llu entries in C, at most 2^32 - 1 can be prepared",
                       program->name, (unsigned long long)n_entries);
    ZK_GOTO(zk_mem_alloc((void **)&columns->start, "prepare columns", (n_columns + 1) * sizeof *columns->start, err));
    ZK_GOTO(zk_mem_alloc((void **)&columns->entries, "prepare columns", n_entries * sizeof *columns->entries, err));
    ZK_GOTO(zk_mem_alloc((void **)&columns->coefs, "prepare columns", program->n_coefs * sizeof *columns->coefs, err));
    for (uint32_t i = 0; i < program->n_coefs; i++) {
        columns->coefs[i] = program->coefs[i];
        if (i >= 2) zk_fr_neg(&columns->coefs[i], &program->coefs[i]);
    }
    ZK_GOTO(zk_program_walk(program, 2, 0, program->n_instances, count_row, &walk, err));
    ZK_GOTO(zk_cancel_check(NULL, "columns", err));
    for (size_t k = 0; k < n_columns; k++) columns->start[k + 1] += columns->start[k];
    ZK_GOTO(zk_program_walk(program, 2, 0, program->n_instances, fill_row, &walk, err));
    /* each start has moved to the next column's */
    memmove(columns->start + 1, columns->start, n_columns * sizeof *columns->start);
    columns->start[0] = 0;
out:
    if (status != CUZK_OK) zk_prepare_columns_clear(columns);
    return status;
}

void zk_prepare_columns_clear(zk_prepare_columns *columns) {
    zk_mem_free(columns->start);
    zk_mem_free(columns->entries);
    zk_mem_free(columns->coefs);
    *columns = (zk_prepare_columns){0};
}

/* ---- rows ---- */

typedef struct rows_walk {
    const zk_prepare_order *order;
    const zk_prepare_weights *weights;
    zk_fr *rows;
    atomic_int status; /* cuzk_status of a walk that failed */
} rows_walk;

static void add_row(void *ctx, uint32_t row, const zk_row_term *terms, size_t n_terms) {
    const rows_walk *walk = ctx;
    const zk_prepare_weights *weights = walk->weights;
    zk_fr *sum = &walk->rows[row];
    for (size_t k = 0; k < n_terms; k++) {
        const zk_fr *coef = &walk->order->program->coefs[terms[k].coef];
        zk_fr t;
        if (weights->constant_only) {
            if (terms[k].var == ZK_VAR_ONE) zk_fr_add(sum, sum, coef);
            continue;
        }
        zk_fr_from_u64(&t, zk_prepare_random(weights->seed, zk_prepare_column(walk->order, terms[k].var)));
        zk_fr_mul(&t, &t, coef);
        zk_fr_add(sum, sum, &t);
    }
}

static void rows_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    rows_walk *walk = ctx;
    (void)thread;
    cuzk_status status =
        zk_program_walk(walk->order->program, 2, (uint32_t)begin, (uint32_t)(end - begin), add_row, walk, NULL);
    if (status != CUZK_OK) atomic_store(&walk->status, (int)status);
}

cuzk_status zk_prepare_rows(zk_fr *rows, const zk_prepare_order *order, const zk_prepare_weights *weights,
                            struct zk_pool *pool, cuzk_err *err) {
    rows_walk walk = {.order = order, .weights = weights, .rows = rows};
    zk_pool_for(pool, order->program->n_instances, 64, rows_range, &walk);
    if (walk.status != CUZK_OK)
        return ZK_FAIL(err, (cuzk_status)walk.status, "rows of circuit %s: out of memory", order->program->name);
    return zk_cancel_check(NULL, "rows of C", err);
}
