/* The CPU backend: compaction against one bit at a time, loading of points, ranges of buffers. */
#include "zk_test.h"

#include "backend/backend.h"
#include "backend/cpu_impl.h"
#include "base/pool.h"

static zk_pool *pool;
static zk_backend *backend;

static void open_backend(void) {
    cuzk_err err = {0};
    if (!pool) ZK_CHECK_OK(zk_pool_create(&pool, 3, &err), err);
    if (!backend) ZK_CHECK_OK(zk_backend_open_cpu(&backend, pool, &err), err);
}

static uint64_t *random_words(size_t n, int density, uint64_t *seed) {
    uint64_t *w = calloc(n + 1, 8);
    for (size_t i = 0; i < n; i++) {
        w[i] = zk_test_rand(seed);
        if (density == 1) w[i] &= zk_test_rand(seed) & zk_test_rand(seed) & zk_test_rand(seed);
        if (density == 2) w[i] = ~UINT64_C(0);
        if (density == 3) w[i] = 0;
        if (density == 4 && i % 3) w[i] = i % 2 ? 0 : ~UINT64_C(0);
    }
    return w;
}

static bool bit_of(const uint64_t *map, size_t i) { return map[i / 64] >> i % 64 & 1; }

static const size_t sizes[] = {0, 1, 2, 63, 64, 65, 127, 128, 4095, 4096, 4097, 8192, 20011, 300007};

static void test_compact_bits(void) {
    uint64_t seed = 1;
    cuzk_err err = {0};
    open_backend();
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int density = 0; density < 5; density++) {
            size_t n = sizes[k], n_words = (n + 63) / 64, n_set = 0;
            uint64_t *mask = random_words(n_words, density, &seed), *bits = random_words(n_words, 0, &seed);
            uint64_t *expected = calloc(n_words + 1, 8), none = 0;
            for (size_t i = 0; i < n; i++)
                if (bit_of(mask, i)) {
                    if (bit_of(bits, i)) expected[n_set / 64] |= UINT64_C(1) << n_set % 64;
                    n_set++;
                }
            zk_selection *selection;
            zk_buffer *in, *out;
            ZK_CHECK_OK(zk_selection_create(&selection, backend, mask, n, &none, 0, &err), err);
            ZK_CHECKF(selection->n_bits == n_set, "n=%zu density=%d", n, density);
            ZK_CHECK(selection->n_full == 0 && selection->full_is_range);
            ZK_CHECK_OK(zk_buffer_create(&in, backend, "in", n_words * 8, &err), err);
            ZK_CHECK_OK(zk_buffer_upload(NULL, in, 0, bits, n_words * 8, &err), err);
            size_t out_bytes = (n_set + 63) / 64 * 8;
            ZK_CHECK_OK(zk_buffer_create(&out, backend, "out", out_bytes, &err), err);
            if (out_bytes) memset(out->host, 0xa5, out_bytes); /* what an earlier proof left */
            ZK_CHECK_OK(zk_stage_compact_bits(NULL, selection, in, out, &err), err);
            if (out_bytes) ZK_CHECKF(memcmp(out->host, expected, out_bytes) == 0, "n=%zu density=%d", n, density);
            for (int bmi2 = 0; bmi2 <= (int)zk_cpu_pext_bmi2_usable(); bmi2++) {
                const cpu_mask *m = &((cpu_selection *)selection)->bit;
                uint64_t *direct = calloc(n_words + 1, 8);
                for (size_t block = 0; block < m->n_blocks; block++)
                    zk_cpu_compact_blocks(direct, m, bits, block, block + 1, bmi2);
                ZK_CHECKF(memcmp(direct, expected, n_words * 8) == 0, "n=%zu density=%d bmi2=%d", n, density, bmi2);
                free(direct);
            }
            zk_buffer_destroy(in);
            zk_buffer_destroy(out);
            zk_selection_destroy(selection);
            free(mask);
            free(bits);
            free(expected);
        }
}

static void test_compact_full(void) {
    uint64_t seed = 2;
    cuzk_err err = {0};
    open_backend();
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (int density = 0; density < 5; density++) {
            size_t n = sizes[k] < 30000 ? sizes[k] : 30000, n_words = (n + 63) / 64, n_set = 0;
            uint64_t *mask = random_words(n_words, density, &seed), none = 0;
            zk_fr *values = calloc(n + 1, sizeof *values), *expected = calloc(n + 1, sizeof *expected);
            for (size_t i = 0; i < n; i++) {
                values[i].l[0] = zk_test_rand(&seed);
                if (bit_of(mask, i)) expected[n_set++] = values[i];
            }
            zk_selection *selection;
            zk_buffer *in, *out;
            ZK_CHECK_OK(zk_selection_create(&selection, backend, &none, 0, mask, n, &err), err);
            ZK_CHECK(selection->n_full == n_set);
            ZK_CHECK(density != 2 || (selection->full_is_range && selection->full_first == 0));
            ZK_CHECK_OK(zk_buffer_create(&in, backend, "in", n * sizeof *values, &err), err);
            ZK_CHECK_OK(zk_buffer_upload(NULL, in, 0, values, n * sizeof *values, &err), err);
            ZK_CHECK_OK(zk_buffer_create(&out, backend, "out", n_set * sizeof *values, &err), err);
            ZK_CHECK_OK(zk_stage_compact_full(NULL, selection, in, out, &err), err);
            if (n_set) ZK_CHECK_MEM(out->host, expected, n_set * sizeof *expected);
            zk_buffer_destroy(in);
            zk_buffer_destroy(out);
            zk_selection_destroy(selection);
            free(mask);
            free(values);
            free(expected);
        }
}

static void test_range_of_full(void) {
    const uint64_t cases[][2] = {{0x00000000000000f0, 0}, {0xf000000000000000, 0x7}, {0xf000000000000000, 0x6}, {0, 1}};
    const bool range[] = {true, true, false, true};
    const size_t first[] = {4, 60, 60, 64};
    uint64_t none = 0;
    cuzk_err err = {0};
    open_backend();
    for (int i = 0; i < 4; i++) {
        zk_selection *selection;
        ZK_CHECK_OK(zk_selection_create(&selection, backend, &none, 0, cases[i], 128, &err), err);
        ZK_CHECKF(selection->full_is_range == range[i] && selection->full_first == first[i], "case %d", i);
        zk_selection_destroy(selection);
    }
}

/* Multiples of the generator, encoded; chosen ones are bit points. */
static void test_points(void) {
    enum { N = 9000 };
    cuzk_err err = {0};
    uint64_t seed = 3, *is_bit = random_words((N + 63) / 64, 0, &seed);
    uint8_t *encoded = malloc((size_t)N * 96);
    zk_g1 *jacobian = malloc(N * sizeof *jacobian);
    zk_g1_affine *affine = malloc(N * sizeof *affine);
    open_backend();
    zk_g1_from_affine(&jacobian[0], &zk_g1_generator);
    for (size_t i = 1; i < N; i++) zk_g1_add_affine(&jacobian[i], &jacobian[i - 1], &zk_g1_generator);
    ZK_CHECK(zk_g1_batch_to_affine(affine, jacobian, N) == CUZK_OK);
    for (size_t i = 0; i < N; i++) zk_g1_serialize(encoded + i * 96, &affine[i]);

    zk_points_source source = {"a", ZK_G1, encoded, N, is_bit};
    zk_points_fault fault;
    zk_resident_points *full, *bits;
    ZK_CHECK_OK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err), err);
    size_t n_bits = 0, n_full = 0;
    for (size_t i = 0; i < N; i++) {
        const zk_g1_affine *found = bit_of(is_bit, i) ? (zk_g1_affine *)((cpu_points *)bits)->points + n_bits++
                                                      : (zk_g1_affine *)((cpu_points *)full)->points + n_full++;
        ZK_CHECKF(zk_g1_affine_eq(found, &affine[i]), "point %zu", i);
    }
    ZK_CHECK(bits->n == n_bits && full->n == n_full);
    zk_resident_points_unload(full);
    zk_resident_points_unload(bits);

    /* refusals name the first bad point, whatever the others are */
    static const size_t places[] = {0, 1, 4095, 4096, N - 1};
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
        for (int kind = 0; kind < 4; kind++) {
            uint8_t *at = encoded + places[k] * 96, saved[96];
            memcpy(saved, at, 96);
            if (kind == 0) at[95] ^= 1;                     /* off the curve */
            if (kind == 1) memset(at, 0x1f, 48);            /* x >= p */
            if (kind == 2) memset(at, 0, 96), at[0] = 0x40; /* infinity */
            if (kind == 3) at[0] |= 0x80;                   /* compression flag */
            ZK_CHECK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err) == CUZK_BAD_INPUT);
            ZK_CHECKF(fault.found && fault.index == places[k], "found %zu, expected %zu", fault.index, places[k]);
            ZK_CHECK(fault.infinity == (kind == 2) && (fault.verdict == ZK_POINT_OK) == (kind == 2));
            ZK_CHECK(!full && !bits);
            zk_err_reset(&err);
            memcpy(at, saved, 96);
        }

    source.n = 0;
    ZK_CHECK_OK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err), err);
    ZK_CHECK(full->n == 0 && bits->n == 0 && !fault.found);
    zk_point_sum sum;
    zk_buffer *empty;
    ZK_CHECK_OK(zk_buffer_create(&empty, backend, "empty", 0, &err), err);
    ZK_CHECK_OK(zk_stage_msm(NULL, full, empty, 0, &sum, &err), err);
    ZK_CHECK(zk_g1_is_infinity(&sum.g1));
    ZK_CHECK_OK(zk_stage_masked_sum(NULL, bits, empty, &sum, &err), err);
    ZK_CHECK(zk_g1_is_infinity(&sum.g1));
    zk_buffer_destroy(empty);
    zk_resident_points_unload(full);
    zk_resident_points_unload(bits);
    free(is_bit);
    free(encoded);
    free(jacobian);
    free(affine);
}

static void test_buffers(void) {
    cuzk_err err = {0};
    zk_buffer *buffer;
    uint8_t data[16] = {1, 2, 3}, back[16];
    open_backend();
    ZK_CHECK_OK(zk_buffer_create(&buffer, backend, "b", 16, &err), err);
    ZK_CHECK_OK(zk_buffer_upload(NULL, buffer, 0, data, 16, &err), err);
    ZK_CHECK_OK(zk_buffer_download(NULL, back, buffer, 0, 16, &err), err);
    ZK_CHECK_MEM(data, back, 16);
    ZK_CHECK(zk_buffer_upload(NULL, buffer, 1, data, 16, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_buffer_download(NULL, back, buffer, 17, 0, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    ZK_CHECK(zk_buffer_download(NULL, back, buffer, SIZE_MAX, 2, &err) == CUZK_INTERNAL);
    zk_buffer_destroy(buffer);
}

static void test_plan(void) {
    zk_memory_plan plan = {0};
    for (int i = 0; i < ZK_MEMORY_PLAN_ROWS + 3; i++) zk_memory_plan_add(&plan, "row", 10, 10);
    ZK_CHECK(plan.n_rows == ZK_MEMORY_PLAN_ROWS && plan.bytes == 100 * (ZK_MEMORY_PLAN_ROWS + 3));
    uint64_t sum = 0;
    for (unsigned i = 0; i < plan.n_rows; i++) sum += plan.row[i].bytes;
    ZK_CHECK(sum == plan.bytes);
    zk_memory_plan_add(&plan, "huge", UINT64_MAX, 2);
    ZK_CHECK(plan.bytes == UINT64_MAX);
}

ZK_TEST_MAIN(ZK_CASE(test_compact_bits), ZK_CASE(test_compact_full), ZK_CASE(test_range_of_full), ZK_CASE(test_points),
             ZK_CASE(test_buffers), ZK_CASE(test_plan))
