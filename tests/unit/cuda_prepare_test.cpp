/* Transforms of points and sums of sparse columns of the CUDA code against src/msm. Runs in the emulator (small sizes)
 * and on a device. With `time N`: seconds of a transform of 2^N points on the device. */
extern "C" {
#include "base/pool.h"
#include "msm/glv.h"
#include "msm/msm.h"
#include "msm/transform.h"
}
#include "../../cuda/cuda_kernels.h"
#include "zk_test.h"

#include <chrono>
#include <vector>

namespace {
#if defined(ZK_CUDA_EMULATE)
constexpr bool EMULATED = true;
constexpr size_t POOL_BYTES = (size_t)256 << 20;
#else
constexpr bool EMULATED = false;
constexpr size_t POOL_BYTES = 0;
#endif

uint64_t rng = 99;
zk_cuda *device;
zk_pool *threads;

void open_once() {
    if (device) return;
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_open(&device, 0, POOL_BYTES, &err), err);
    ZK_CHECK_OK(zk_pool_create(&threads, 0, &err), err);
}

zk_fr random_fr() {
    uint8_t bytes[64];
    zk_fr r;
    for (int k = 0; k < 8; k++) {
        const uint64_t v = zk_test_rand(&rng);
        memcpy(bytes + 8 * k, &v, 8);
    }
    zk_fr_from_bytes_wide(&r, bytes);
    return r;
}

std::vector<zk_g1_affine> multiples(const std::vector<zk_fr> &s) {
    cuzk_err err = {};
    std::vector<zk_g1_affine> points(s.size());
    zk_fixed_base_g1 *base = nullptr;
    ZK_CHECK_OK(zk_fixed_base_g1_create(&base, &zk_g1_generator, 8, threads, &err), err);
    ZK_CHECK_OK(zk_fixed_base_g1_mul(base, points.data(), s.data(), s.size(), threads, &err), err);
    zk_fixed_base_g1_destroy(base);
    return points;
}

zk_dptr put(const std::vector<zk_g1_affine> &v) {
    cuzk_err err = {};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, v.size() * sizeof v[0], "test points", &err), err);
    ZK_CHECK_OK(zk_cuda_upload(device, d, v.data(), v.size() * sizeof v[0], &err), err);
    return d;
}
std::vector<zk_g1_affine> take(zk_dptr d, size_t n) {
    cuzk_err err = {};
    std::vector<zk_g1_affine> v(n);
    ZK_CHECK_OK(zk_cuda_download(device, v.data(), d, n * sizeof v[0], &err), err);
    zk_cuda_free(device, d);
    return v;
}

void check_same(const std::vector<zk_g1_affine> &found, const std::vector<zk_g1_affine> &expected, const char *what) {
    for (size_t i = 0; i < expected.size(); i++)
        ZK_CHECKF(memcmp(&found[i], &expected[i], sizeof found[i]) == 0, "%s: point %zu of %zu", what, i,
                  expected.size());
}

void check_transform(const std::vector<zk_fr> &s, unsigned log2_n, const zk_fr &shift, const zk_fr &scale,
                     const char *what) {
    cuzk_err err = {};
    std::vector<zk_g1_affine> points = multiples(s);
    zk_dptr d = put(points);
    ZK_CHECK_OK(zk_cuda_g1_transform(device, d, log2_n, &shift, &scale, nullptr, nullptr, &err), err);
    ZK_CHECK_OK(zk_g1_transform(points.data(), log2_n, &shift, &scale, threads, nullptr, nullptr, &err), err);
    check_same(take(d, points.size()), points, what);
}

void test_transforms() {
    open_once();
    for (unsigned k = 0; k <= (EMULATED ? 7 : 12); k++) {
        const size_t n = (size_t)1 << k;
        std::vector<zk_fr> s(n);
        for (zk_fr &x : s) x = random_fr();
        check_transform(s, k, zk_fr_one, zk_fr_one, "plain");
        check_transform(s, k, random_fr(), random_fr(), "shifted and scaled");
        if (k > 4) continue;
        s[n - 1] = zk_fr_zero;
        check_transform(s, k, zk_fr_generator, zk_fr_one, "one infinity");
        for (zk_fr &x : s) x = zk_fr_one;
        check_transform(s, k, zk_fr_one, zk_fr_one, "all equal");
        for (size_t i = 1; i < n; i += 2) zk_fr_neg(&s[i], &s[i]);
        check_transform(s, k, zk_fr_one, random_fr(), "P and -P");
        for (zk_fr &x : s) x = zk_fr_zero;
        check_transform(s, k, zk_fr_one, random_fr(), "all infinity");
    }
}

/* Scalars at the seams of the digits, as scales of one point each. */
void test_scales() {
    open_once();
    cuzk_err err = {};
    std::vector<zk_fr> scales;
    zk_fr x2, t;
    zk_fr_from_u64(&x2, 0xd201000000010000u);
    zk_fr_sqr(&x2, &x2);
    for (int64_t i = -4; i <= 4; i++) {
        zk_fr_from_i64(&t, i);
        scales.push_back(t);
        zk_fr_add(&t, &t, &x2);
        scales.push_back(t);
        zk_fr_sub(&t, &t, &x2);
        zk_fr_sub(&t, &t, &x2);
        scales.push_back(t);
    }
    for (unsigned i = 0; i <= 32; i++) {
        zk_fr_root_of_unity(&t, i);
        scales.push_back(t);
    }
    for (int i = 0; i < 60; i++) scales.push_back(random_fr());
    for (size_t i = 0; i < scales.size(); i++) {
        if (zk_fr_is_one(&scales[i])) continue; /* not scaled */
        std::vector<zk_g1_affine> points = multiples({random_fr()});
        zk_dptr d = put(points);
        zk_g1 p;
        ZK_CHECK_OK(zk_cuda_g1_transform(device, d, 0, &zk_fr_one, &scales[i], nullptr, nullptr, &err), err);
        zk_g1_from_affine(&p, &points[0]);
        zk_g1_mul_var(&p, &p, &scales[i]);
        zk_g1_to_affine(&points[0], &p);
        check_same(take(d, 1), points, "scale");
    }
}

void test_columns() {
    open_once();
    const size_t n_rows = 40, n_columns = EMULATED ? 150 : 5000, n_coefs = 16;
    cuzk_err err = {};
    std::vector<zk_fr> row_scalars(n_rows), column_scalars(n_columns), coefs(n_coefs);
    std::vector<uint32_t> start(n_columns + 1);
    std::vector<zk_sparse_entry> entries;
    for (size_t i = 0; i < n_rows; i++) row_scalars[i] = i == 7 ? zk_fr_zero : random_fr();
    row_scalars[9] = row_scalars[8];
    zk_fr_neg(&row_scalars[10], &row_scalars[8]);
    coefs[0] = zk_fr_one;
    zk_fr_neg(&coefs[1], &zk_fr_one);
    for (size_t i = 2; i < n_coefs; i++) {
        coefs[i] = i < 12 ? zk_fr_one : random_fr();
        for (size_t k = 0; i < 12 && k < 25 * (i - 2); k++) zk_fr_double(&coefs[i], &coefs[i]);
        if (i % 2) zk_fr_neg(&coefs[i], &coefs[i]);
    }
    const uint32_t base = 3; /* the lists of columns before these */
    entries.resize(base, zk_sparse_entry{0, 0});
    for (size_t k = 0; k < n_columns; k++) {
        start[k] = (uint32_t)entries.size();
        column_scalars[k] = k % 5 == 4 ? zk_fr_zero : random_fr();
        const size_t n = zk_test_rand(&rng) % 7;
        for (size_t e = 0; e < n; e++)
            entries.push_back({(uint32_t)(zk_test_rand(&rng) % n_rows), (uint32_t)(zk_test_rand(&rng) % n_coefs)});
        if (k == 2 || k == 3) { /* P + P, P - P */
            entries.push_back({8, 0});
            entries.push_back({9, k == 3});
        }
    }
    start[n_columns] = (uint32_t)entries.size();
    std::vector<zk_g1_affine> rows = multiples(row_scalars), points = multiples(column_scalars);
    zk_dptr dr = put(rows), dp = put(points);
    zk_sparse_columns columns = {n_columns, n_coefs, start.data(), entries.data(), coefs.data()};
    ZK_CHECK_OK(zk_cuda_g1_add_columns(device, dp, &columns, dr, &err), err);
    ZK_CHECK_OK(zk_g1_add_columns(points.data(), &columns, rows.data(), threads, &err), err);
    check_same(take(dp, n_columns), points, "columns");
    columns.n = 0;
    ZK_CHECK_OK(zk_cuda_g1_add_columns(device, dr, &columns, dr, &err), err);
    zk_cuda_free(device, dr);
}

bool stop(void *ctx, uint64_t done, uint64_t total) {
    uint64_t *calls = (uint64_t *)ctx;
    ZK_CHECK(done <= total);
    return ++*calls < 3;
}

void test_progress() {
    open_once();
    cuzk_err err = {};
    uint64_t calls = 0;
    std::vector<zk_g1_affine> points(256, zk_g1_generator);
    zk_dptr d = put(points);
    const zk_fr s = random_fr();
    ZK_CHECK(zk_cuda_g1_transform(device, d, 8, &s, &s, stop, &calls, &err) == CUZK_CANCELLED && calls == 3);
    zk_err_reset(&err);
    ZK_CHECK(zk_cuda_g1_transform(device, d, 29, &s, &s, nullptr, nullptr, &err) == CUZK_UNSUPPORTED);
    zk_cuda_free(device, d);
}

/* The points need not be distinct for the time. */
int time_transform(unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n, piece = n < 4096 ? n : 4096;
    zk_dptr d = 0;
    if (zk_cuda_open(&device, 0, 0, &err) != CUZK_OK || zk_pool_create(&threads, 0, &err) != CUZK_OK ||
        zk_cuda_alloc(&d, device, n * sizeof(zk_g1_affine), "points", &err) != CUZK_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    std::vector<zk_fr> s(piece);
    for (zk_fr &x : s) x = random_fr();
    const std::vector<zk_g1_affine> points = multiples(s);
    cuzk_status status = CUZK_OK;
    for (size_t at = 0; status == CUZK_OK && at < n; at += piece)
        status = zk_cuda_upload(device, d + at * sizeof points[0], points.data(), piece * sizeof points[0], &err);
    const zk_fr scale = random_fr();
    const auto begin = std::chrono::steady_clock::now();
    if (status == CUZK_OK)
        status = zk_cuda_g1_transform(device, d, log2_n, &zk_fr_generator, &scale, nullptr, nullptr, &err);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (status != CUZK_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const double multiples_made = (double)n / 2 * log2_n; /* n of the scale, n less in blocks 0 */
    printf("transform of 2^%u points: %.3f s, %.1f ns a multiple\n", log2_n, seconds, seconds * 1e9 / multiples_made);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "time") == 0) return time_transform((unsigned)atoi(argv[2]));
    static const zk_test_case cases[] = {ZK_CASE(test_scales), ZK_CASE(test_transforms), ZK_CASE(test_columns),
                                         ZK_CASE(test_progress)};
    return zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
