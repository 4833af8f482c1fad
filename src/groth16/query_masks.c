#include "groth16/proving_key.h"

#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/bytes.h"
#include "base/pool.h"

/* Appends bits to a bitmap that is zero from *n on. */
static void append(uint64_t *map, size_t *n, uint64_t bits, unsigned n_bits) {
    if (!n_bits) return;
    unsigned shift = *n % 64;
    map[*n / 64] |= bits << shift;
    if (shift + n_bits > 64) map[*n / 64 + 1] |= bits >> (64 - shift);
    *n += n_bits;
}

static void append_map(uint64_t *map, size_t *n, const uint64_t *from, size_t n_from) {
    for (size_t i = 0; i < n_from; i += 64) {
        unsigned take = (unsigned)zk_min_size(64, n_from - i);
        uint64_t bits = from ? from[i / 64] : ~UINT64_C(0);
        append(map, n, take < 64 ? bits & ((UINT64_C(1) << take) - 1) : bits, take);
    }
}

/* Appends the bits of `from` under the mask. */
static void append_masked(uint64_t *map, size_t *n, const uint64_t *from, const uint64_t *mask, size_t n_words) {
    for (size_t i = 0; i < n_words; i++) {
        uint64_t packed = 0;
        unsigned k = 0;
        if (mask[i] == ~UINT64_C(0)) {
            packed = from[i];
            k = 64;
        } else {
            for (uint64_t m = mask[i]; m; m &= m - 1, k++) packed |= (from[i] >> __builtin_ctzll(m) & 1) << k;
        }
        append(map, n, packed, k);
    }
}

static void wide_map(uint64_t *wide, const zk_program *program) {
    for (uint32_t i = 0; i < program->n_instances; i++) {
        const zk_instance *instance = &program->instances[i];
        const zk_template *t = &program->templates[instance->template_id];
        for (uint32_t k = 0; k < t->n_wide; k++) {
            size_t aux = (size_t)instance->first_aux + t->wide[k];
            wide[aux / 64] |= UINT64_C(1) << aux % 64;
        }
    }
}

static cuzk_status no_memory(const zk_program *program, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "masks of circuit %s: out of memory", program->name);
}

cuzk_status zk_query_masks_compute(zk_query_masks *masks, const zk_program *program, zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    size_t n_aux = program->n_aux, n_words = zk_bitmap_words(n_aux),
           n_values = (size_t)program->n_inputs + program->n_wide;
    uint64_t *wide = zk_calloc(n_words, 8), *density[ZK_N_QUERIES] = {NULL},
             *b_input = zk_calloc(zk_bitmap_words(program->n_inputs), 8);
    bool good = wide && b_input;

    *masks = (zk_query_masks){0};
    for (int q = 0; q < ZK_N_QUERIES; q++) {
        density[q] = zk_calloc(n_words, 8);
        masks->query[q].is_bit = zk_calloc(zk_bitmap_words((size_t)program->n_inputs + n_aux) + 1, 8);
        masks->query[q].bit_mask = zk_calloc(n_words, 8);
        masks->query[q].full_mask = zk_calloc(zk_bitmap_words(n_values) + 1, 8);
        good = good && density[q] && masks->query[q].is_bit && masks->query[q].bit_mask && masks->query[q].full_mask;
    }
    if (!good) ZK_GOTO(no_memory(program, err));
    ZK_GOTO(zk_program_density(program, density[ZK_QUERY_A], density[ZK_QUERY_B], b_input, &masks->stats, pool, err));
    wide_map(wide, program);
    size_t n_all = 0;
    append_map(density[ZK_QUERY_L], &n_all, NULL, n_aux);

    for (int q = 0; q < ZK_N_QUERIES; q++) {
        uint64_t *not_wide = masks->query[q].bit_mask, *full = masks->query[q].full_mask;
        size_t n_points = 0, n_full = 0;
        /* inputs come first, in the query and among the full values, and are never bits */
        if (q == ZK_QUERY_A) {
            n_points = program->n_inputs;
            append_map(full, &n_full, NULL, program->n_inputs);
        } else if (q == ZK_QUERY_B) {
            n_points = masks->stats.b_input;
            append_map(full, &n_full, b_input, program->n_inputs);
        } else {
            n_full = program->n_inputs;
        }
        append_masked(full, &n_full, density[q], wide, n_words);
        for (size_t i = 0; i < n_words; i++) not_wide[i] = ~wide[i];
        append_masked(masks->query[q].is_bit, &n_points, not_wide, density[q], n_words);
        for (size_t i = 0; i < n_words; i++) masks->query[q].bit_mask[i] &= density[q][i];
        masks->query[q].n_points = n_points;
        bool range;
        size_t first;
        zk_bitmap_count(full, n_values, &masks->query[q].full_is_range, &first);
        masks->query[q].n_bits = zk_bitmap_count(masks->query[q].bit_mask, n_aux, &range, &first);
    }
out:
    free(wide);
    free(b_input);
    for (int q = 0; q < ZK_N_QUERIES; q++) free(density[q]);
    if (status != CUZK_OK) zk_query_masks_clear(masks);
    return status;
}

cuzk_status zk_query_masks_prepare(zk_query_masks *masks, const zk_program *program, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    size_t n_aux = program->n_aux, n_values = (size_t)program->n_inputs + program->n_wide, n_points, n_full = 0, first;
    uint64_t *c_input = zk_calloc(zk_bitmap_words(program->n_inputs), 8), *is_bit = NULL,
             *full = zk_calloc(zk_bitmap_words(n_values) + 1, 8);
    if (!c_input || !full) ZK_GOTO(no_memory(program, err));
    ZK_GOTO(zk_columns_c_inputs(c_input, &masks->n_c_inputs, program, err));
    is_bit = zk_calloc(zk_bitmap_words(masks->n_c_inputs + n_aux) + 1, 8);
    if (!is_bit) ZK_GOTO(no_memory(program, err));
    n_points = masks->n_c_inputs;
    append_map(is_bit, &n_points, masks->query[ZK_QUERY_L].is_bit, n_aux);
    append_map(full, &n_full, c_input, program->n_inputs);
    append_map(full, &n_full, NULL, program->n_wide);
    free(masks->query[ZK_QUERY_L].is_bit);
    free(masks->query[ZK_QUERY_L].full_mask);
    masks->query[ZK_QUERY_L].is_bit = is_bit;
    masks->query[ZK_QUERY_L].full_mask = full;
    masks->query[ZK_QUERY_L].n_points = n_points;
    zk_bitmap_count(full, n_values, &masks->query[ZK_QUERY_L].full_is_range, &first);
    masks->form = ZK_KEY_PREPARED;
    is_bit = full = NULL;
out:
    free(c_input);
    free(is_bit);
    free(full);
    return status;
}

void zk_query_masks_clear(zk_query_masks *masks) {
    for (int q = 0; q < ZK_N_QUERIES; q++) {
        free(masks->query[q].is_bit);
        free(masks->query[q].bit_mask);
        free(masks->query[q].full_mask);
    }
    *masks = (zk_query_masks){0};
}
