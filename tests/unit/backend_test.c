/* The CPU backend: compaction against one bit at a time, loading of points, ranges of buffers. */
#include "zk_test.h"

#include "backend/backend.h"
#include "backend/cpu_impl.h"
#include "base/cancel.h"
#include "base/pool.h"
#include "numa_split.h"
#include "scalars.h"

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
    zk_g1_batch_to_affine(affine, jacobian, N);
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
    ZK_CHECK_OK(zk_stage_masked_sums(NULL, bits, (const zk_buffer *const[]){empty}, 1, &sum, &err), err);
    ZK_CHECK(zk_g1_is_infinity(&sum.g1));
    zk_buffer_destroy(empty);
    zk_resident_points_unload(full);
    zk_resident_points_unload(bits);
    free(is_bit);
    free(encoded);
    free(jacobian);
    free(affine);
}

/* ---- multiples of the generators ---- */

enum { N_MULTIPLES = 16 * CPU_BLOCK_BITS + 4099 }; /* more than the points that are made at a time */

/* Scalars start + i step, with some edges among them, and the points by adding up. */
typedef struct multiples_case {
    zk_group group;
    zk_fr *scalars;
    uint8_t *encoded;
    size_t n, point_bytes, next; /* next: first scalar not asked for yet */
} multiples_case;

static void encode_multiple(uint8_t *out, zk_group group, const zk_fr *k) {
    if (group == ZK_G1) {
        zk_g1 t;
        zk_g1_affine a;
        zk_g1_from_affine(&t, &zk_g1_generator);
        zk_g1_mul_var(&t, &t, k);
        zk_g1_to_affine(&a, &t);
        zk_g1_serialize(out, &a);
    } else {
        zk_g2 t;
        zk_g2_affine a;
        zk_g2_from_affine(&t, &zk_g2_generator);
        zk_g2_mul_var(&t, &t, k);
        zk_g2_to_affine(&a, &t);
        zk_g2_serialize(out, &a);
    }
}

static multiples_case multiples_open(zk_group group) {
    multiples_case c = {.group = group, .n = N_MULTIPLES, .point_bytes = 96};
    if (group == ZK_G2) {
        c.n = 2 * CPU_BLOCK_BITS + 5; /* slow, and the same but for the arithmetic */
        c.point_bytes = 192;
    }
    uint64_t seed = 4;
    zk_fr step = fr_random(&seed), start = fr_random(&seed);
    c.scalars = malloc(c.n * sizeof *c.scalars);
    c.encoded = malloc(c.n * c.point_bytes + 1);
    c.scalars[0] = start;
    for (size_t i = 1; i < c.n; i++) zk_fr_add(&c.scalars[i], &c.scalars[i - 1], &step);
    if (group == ZK_G1) {
        zk_g1 *sum = malloc(c.n * sizeof *sum), by;
        zk_g1_affine *affine = malloc(c.n * sizeof *affine);
        zk_g1_from_affine(&by, &zk_g1_generator);
        zk_g1_mul_var(&sum[0], &by, &start);
        zk_g1_mul_var(&by, &by, &step);
        for (size_t i = 1; i < c.n; i++) zk_g1_add(&sum[i], &sum[i - 1], &by);
        zk_g1_batch_to_affine(affine, sum, c.n);
        for (size_t i = 0; i < c.n; i++) zk_g1_serialize(c.encoded + i * 96, &affine[i]);
        free(sum);
        free(affine);
    } else {
        zk_g2 *sum = malloc(c.n * sizeof *sum), by;
        zk_g2_affine *affine = malloc(c.n * sizeof *affine);
        zk_g2_from_affine(&by, &zk_g2_generator);
        zk_g2_mul_var(&sum[0], &by, &start);
        zk_g2_mul_var(&by, &by, &step);
        for (size_t i = 1; i < c.n; i++) zk_g2_add(&sum[i], &sum[i - 1], &by);
        zk_g2_batch_to_affine(affine, sum, c.n);
        for (size_t i = 0; i < c.n; i++) zk_g2_serialize(c.encoded + i * 192, &affine[i]);
        free(sum);
        free(affine);
    }
    static const int64_t edges[] = {1, 2, -1, 1, 32767, 32768, 32769, -32768, 65536};
    for (size_t k = 0; k < sizeof edges / sizeof edges[0]; k++) {
        size_t at = 7 + k * 901;
        zk_fr_from_i64(&c.scalars[at], edges[k]);
        encode_multiple(c.encoded + at * c.point_bytes, group, &c.scalars[at]);
    }
    return c;
}

static void multiples_close(multiples_case *c) {
    free(c->scalars);
    free(c->encoded);
}

static void write_scalars(void *ctx, zk_fr *out, size_t first, size_t n) {
    multiples_case *c = ctx;
    if (first != c->next || n == 0 || n > c->n - first) abort();
    c->next = first + n;
    memcpy(out, c->scalars + first, n * sizeof *out);
}

static void test_multiples_encode(void) {
    static const size_t lengths[] = {0, 1, 2, 511, 513, 2 * CPU_BLOCK_BITS + 5, 16 * CPU_BLOCK_BITS, N_MULTIPLES};
    static const uint64_t expected[] = {0, 1, 100000, UINT64_MAX};
    cuzk_err err = {0};
    open_backend();
    for (int group = ZK_G1; group <= ZK_G2; group++) {
        multiples_case c = multiples_open((zk_group)group);
        uint8_t *found = malloc(N_MULTIPLES * c.point_bytes + 1);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0] && lengths[k] <= c.n; k++) {
            size_t bytes = lengths[k] * c.point_bytes;
            zk_multiples *m;
            ZK_CHECK_OK(zk_multiples_create(&m, backend, (zk_group)group, expected[k % 4], &err), err);
            memset(found, 0xa5, bytes + 1);
            ZK_CHECK_OK(zk_multiples_encode(m, found, c.scalars, lengths[k], &err), err);
            for (size_t i = 0; i < lengths[k]; i++)
                ZK_CHECKF(memcmp(found + i * c.point_bytes, c.encoded + i * c.point_bytes, c.point_bytes) == 0,
                          "group %d, %zu points: point %zu", group, lengths[k], i);
            ZK_CHECK(found[bytes] == 0xa5);
            zk_multiples_destroy(m);
        }
        zk_multiples *m;
        uint8_t infinity[192] = {0x40};
        zk_fr saved = c.scalars[3];
        ZK_CHECK_OK(zk_multiples_create(&m, backend, (zk_group)group, 10, &err), err);
        c.scalars[3] = zk_fr_zero;
        ZK_CHECK_OK(zk_multiples_encode(m, found, c.scalars, 5, &err), err);
        ZK_CHECK_MEM(found + 3 * c.point_bytes, infinity, c.point_bytes);
        ZK_CHECK_MEM(found + 4 * c.point_bytes, c.encoded + 4 * c.point_bytes, c.point_bytes);
        c.scalars[3] = saved;
        zk_multiples_destroy(m);
        multiples_close(&c);
        free(found);
    }
}

static bool same_points(const zk_resident_points *a, const zk_resident_points *b) {
    size_t bytes = a->n * zk_cpu_point_bytes(a->group);
    return a->group == b->group && a->n == b->n &&
           memcmp(((const cpu_points *)a)->points, ((const cpu_points *)b)->points, bytes) == 0;
}

/* Points made from scalars are those that are read from a file, and are split in the same way. */
static void test_multiples_points(void) {
    static const size_t lengths[] = {0, 1, 63, CPU_BLOCK_BITS, CPU_BLOCK_BITS + 1, 2 * CPU_BLOCK_BITS + 5, N_MULTIPLES};
    cuzk_err err = {0};
    zk_points_fault fault;
    open_backend();
    for (int group = ZK_G1; group <= ZK_G2; group++) {
        multiples_case c = multiples_open((zk_group)group);
        zk_multiples *m;
        ZK_CHECK_OK(zk_multiples_create(&m, backend, (zk_group)group, N_MULTIPLES, &err), err);
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0] && lengths[k] <= c.n; k++)
            for (int density = -1; density < (lengths[k] < N_MULTIPLES ? 5 : 1); density++) {
                uint64_t seed = 5, *is_bit = density < 0 ? NULL : random_words(N_MULTIPLES / 64 + 1, density, &seed);
                zk_resident_points *full[2], *bits[2];
                zk_points_source source = {"read", (zk_group)group, c.encoded, lengths[k], is_bit};
                ZK_CHECK_OK(zk_resident_points_load(&full[0], &bits[0], &fault, backend, &source, &err), err);
                source = (zk_points_source){.name = "made",
                                            .group = (zk_group)group,
                                            .n = lengths[k],
                                            .is_bit = is_bit,
                                            .multiples = m,
                                            .scalars = write_scalars,
                                            .scalars_ctx = &c};
                c.next = 0;
                ZK_CHECK_OK(zk_resident_points_load(&full[1], is_bit ? &bits[1] : NULL, &fault, backend, &source, &err),
                            err);
                ZK_CHECK(c.next == lengths[k] && !fault.found);
                ZK_CHECKF(same_points(full[0], full[1]), "group %d n=%zu density %d", group, lengths[k], density);
                if (is_bit)
                    ZK_CHECKF(same_points(bits[0], bits[1]), "group %d n=%zu density %d", group, lengths[k], density);
                for (int i = 0; i < 2; i++) {
                    zk_resident_points_unload(full[i]);
                    if (is_bit) zk_resident_points_unload(bits[i]);
                }
                free(is_bit);
            }
        zk_multiples_destroy(m);
        multiples_close(&c);
    }
}

static void test_multiples_refusals(void) {
    static const size_t places[] = {
        0, 1, CPU_BLOCK_BITS, 16 * CPU_BLOCK_BITS - 1, 16 * CPU_BLOCK_BITS, N_MULTIPLES - 1};
    enum { N_PLACES = sizeof places / sizeof places[0] };
    cuzk_err err = {0};
    zk_points_fault fault;
    zk_resident_points *full, *bits;
    zk_multiples *m, *m2;
    open_backend();
    multiples_case c = multiples_open(ZK_G1);
    uint64_t seed = 6, *is_bit = random_words(N_MULTIPLES / 64 + 1, 0, &seed);
    ZK_CHECK_OK(zk_multiples_create(&m, backend, ZK_G1, N_MULTIPLES, &err), err);
    ZK_CHECK_OK(zk_multiples_create(&m2, backend, ZK_G2, 1, &err), err);
    zk_points_source source = {.name = "made",
                               .group = ZK_G1,
                               .n = N_MULTIPLES,
                               .is_bit = is_bit,
                               .multiples = m,
                               .scalars = write_scalars,
                               .scalars_ctx = &c};
    for (size_t k = N_PLACES; k-- > 0;) { /* later zeros stay, the first one is named */
        c.scalars[places[k]] = zk_fr_zero;
        c.next = 0;
        ZK_CHECK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err) == CUZK_BAD_INPUT);
        ZK_CHECKF(fault.found && fault.index == places[k], "found %zu, expected %zu", fault.index, places[k]);
        ZK_CHECK(fault.infinity && fault.verdict == ZK_POINT_OK && !full && !bits);
        zk_err_reset(&err);
    }
    source.group = ZK_G2;
    ZK_CHECK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    source.group = ZK_G1;
    source.multiples = NULL;
    ZK_CHECK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    source.multiples = m;
    source.scalars = NULL;
    ZK_CHECK(zk_resident_points_load(&full, &bits, &fault, backend, &source, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    zk_backend *other;
    ZK_CHECK_OK(zk_backend_open_cpu(&other, NULL, &err), err);
    source.scalars = write_scalars;
    ZK_CHECK(zk_resident_points_load(&full, &bits, &fault, other, &source, &err) == CUZK_INTERNAL);
    zk_err_reset(&err);
    zk_backend_close(other);

    /* somebody asks to stop */
    c.next = 0;
    zk_cancel_request(NULL);
    cuzk_status status = zk_resident_points_load(&full, &bits, &fault, backend, &source, &err);
    zk_cancel_clear(NULL);
    ZK_CHECK(status == CUZK_CANCELLED && !full && !bits && !fault.found);

    zk_multiples_destroy(m);
    zk_multiples_destroy(m2);
    zk_multiples_destroy(NULL);
    multiples_close(&c);
    free(is_bit);
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

/* ---- nodes ---- */

/* Our CPUs taken for two nodes: the device says so, the kernel is asked, and points and sums are the same. */
static void test_nodes(void) {
    static const struct {
        zk_numa_mode mode;
        bool told, binds, places;
    } modes[] = {
        {ZK_NUMA_OFF, false, false, false}, {ZK_NUMA_AUTO, true, true, true}, {ZK_NUMA_INTERLEAVE, true, false, true}};
    static zk_numa_topology t;
    cuzk_err err = {0};
    zk_g1_affine first = zk_g1_generator, sum_affine;
    multiples_case c = multiples_open(ZK_G1);
    zk_points_source source = {"a", ZK_G1, c.encoded, c.n, NULL};
    split_here(&t, 0, 1);
    for (size_t k = 0; k < sizeof modes / sizeof modes[0]; k++) {
        zk_pool *own_pool;
        zk_backend *own;
        zk_points_fault fault;
        zk_resident_points *points;
        zk_buffer *scalars;
        zk_point_sum sum;
        zk_numa_replace(&t, modes[k].mode);
        ZK_CHECK_OK(zk_pool_create(&own_pool, 3, &err), err);
        ZK_CHECK_OK(zk_backend_open_cpu(&own, own_pool, &err), err);
        ZK_CHECKF(strcmp(own->caps.device, modes[k].told ? "cpu, 3 threads, 2 nodes" : "cpu, 3 threads") == 0, "\"%s\"",
                  own->caps.device);
        ZK_CHECK_OK(zk_resident_points_load(&points, NULL, &fault, own, &source, &err), err);
        ZK_CHECK_OK(zk_buffer_create(&scalars, own, "scalars", c.n * sizeof(zk_fr), &err), err);
        ZK_CHECK_OK(zk_buffer_upload(NULL, scalars, 0, c.scalars, c.n * sizeof(zk_fr), &err), err);
        ZK_CHECK_OK(zk_stage_msm(NULL, points, scalars, 0, &sum, &err), err);
        zk_g1_to_affine(&sum_affine, &sum.g1);
        if (k == 0) first = sum_affine;
        ZK_CHECKF(zk_g1_affine_eq(&sum_affine, &first), "mode %zu", k);
        zk_resident_points_unload(points);
        zk_buffer_destroy(scalars);
        zk_backend_close(own);
        zk_pool_destroy(own_pool);
        zk_numa_counts n = zk_numa_get_counts();
        ZK_CHECK(n.n_bound + n.n_bind_refused == (modes[k].binds ? 2 : 0));
        ZK_CHECK(modes[k].places ? n.n_placed + n.n_place_refused >= 2 : n.n_placed + n.n_place_refused == 0);
    }
    zk_numa_replace(NULL, ZK_NUMA_AUTO);
    multiples_close(&c);
}

ZK_TEST_MAIN(ZK_CASE(test_nodes), ZK_CASE(test_compact_bits), ZK_CASE(test_compact_full), ZK_CASE(test_range_of_full),
             ZK_CASE(test_points), ZK_CASE(test_multiples_encode), ZK_CASE(test_multiples_points),
             ZK_CASE(test_multiples_refusals), ZK_CASE(test_buffers), ZK_CASE(test_plan))
