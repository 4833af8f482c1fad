/* Benchmarks of the CUDA kernels, each result checked.
 *
 *   bench_cuda [rate] [g1 LOG2_N]... [g2 LOG2_N]... [mask1 LOG2_N]... [mask2 LOG2_N]... [ntt LOG2_N]... [quotient
 * LOG2_N]... [repeat N] [lanes N] [windows N] [batch N] [pool GIB]
 *
 * Bases are distinct sums of two table entries, multiples of the generator with known random logarithms; scalars are
 * uniform. MSMs are timed by the host's clock from call to answer, transforms by events. One table at the end.
 */
extern "C" {
#include "curve/curve.h"
}
#include "cuda_kernels.h"
#include "testing.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

zk_cuda *device;
int repeats = 5;
std::string table;
bool failed = false;

#define CHECK(expr)                                                                                                    \
    do {                                                                                                               \
        if ((expr) != CUZK_OK) {                                                                                       \
            fprintf(stderr, "%s: %s\n", #expr, err.message);                                                           \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

double now_ms() {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void row(const char *name, unsigned log2_n, std::vector<double> ms, bool right) {
    char line[200];
    std::sort(ms.begin(), ms.end());
    snprintf(line, sizeof line, "%-16s 2^%-3u %9.3f %9.3f %9.3f   %s\n", name, log2_n, ms.front(), ms[ms.size() / 2],
             ms.back(), right ? "ok" : "WRONG");
    table += line;
    fprintf(stderr, "%s", line);
    failed = failed || !right;
}

zk_fr hashed(uint64_t a, uint64_t b) {
    uint8_t bytes[64];
    uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xd1342543de82ef95u + 1;
    for (int k = 0; k < 8; k++) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        z ^= z >> 31;
        memcpy(bytes + 8 * k, &z, 8);
        z += 0x9e3779b97f4a7c15u;
    }
    zk_fr r;
    zk_fr_from_bytes_wide(&r, bytes);
    return r;
}

zk_dptr take(size_t bytes, const char *name) {
    cuzk_err err = {};
    zk_dptr d;
    CHECK(zk_cuda_alloc(&d, device, bytes, name, &err));
    return d;
}

struct g1 {
    typedef zk_g1_affine affine;
    typedef zk_g1 jacobian;
    static constexpr const char *msm_name = "msm g1", *mask_name = "masked sum g1";
    static void mul_generator(jacobian *r, const zk_fr *k) {
        zk_g1 g;
        zk_g1_from_affine(&g, &zk_g1_generator);
        zk_g1_mul_var(r, &g, k);
    }
    static cuzk_status batch(affine *r, const jacobian *a, size_t n) { return zk_g1_batch_to_affine(r, a, n); }
    static cuzk_status bases(zk_dptr out, zk_dptr tables, uint32_t low, size_t n, cuzk_err *err) {
        return zk_cuda_test_bases_g1(device, out, tables, low, n, err);
    }
    static cuzk_status msm(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1(r, device, b, s, n, err);
    }
    static cuzk_status masked(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g1(r, device, b, s, n, err);
    }
};
struct g2 {
    typedef zk_g2_affine affine;
    typedef zk_g2 jacobian;
    static constexpr const char *msm_name = "msm g2", *mask_name = "masked sum g2";
    static void mul_generator(jacobian *r, const zk_fr *k) {
        zk_g2 g;
        zk_g2_from_affine(&g, &zk_g2_generator);
        zk_g2_mul_var(r, &g, k);
    }
    static cuzk_status batch(affine *r, const jacobian *a, size_t n) { return zk_g2_batch_to_affine(r, a, n); }
    static cuzk_status bases(zk_dptr out, zk_dptr tables, uint32_t low, size_t n, cuzk_err *err) {
        return zk_cuda_test_bases_g2(device, out, tables, low, n, err);
    }
    static cuzk_status msm(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2(r, device, b, s, n, err);
    }
    static cuzk_status masked(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g2(r, device, b, s, n, err);
    }
};

template <class G> struct bases {
    uint32_t low, high;
    std::vector<zk_fr> logs; /* of the table: low, then high entries */
    zk_dptr points;
};

template <class G> void make_bases(bases<G> *b, unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    b->low = 1u << (log2_n / 2);
    b->high = (uint32_t)(n / b->low);
    const size_t entries = (size_t)b->low + b->high;
    std::vector<typename G::jacobian> points(entries);
    std::vector<typename G::affine> affine(entries);
    b->logs.resize(entries);
    /* multiples by steps of additions would do; the table is small enough for plain multiplications */
    for (size_t i = 0; i < entries; i++) {
        b->logs[i] = hashed(i, log2_n);
        G::mul_generator(&points[i], &b->logs[i]);
    }
    if (G::batch(affine.data(), points.data(), entries) != CUZK_OK) exit(1);
    zk_dptr tables = take(entries * sizeof(typename G::affine), "tables");
    CHECK(zk_cuda_upload(device, tables, affine.data(), entries * sizeof(typename G::affine), &err));
    b->points = take(n * sizeof(typename G::affine), "bases");
    CHECK(zk_cuda_fill(device, b->points, 0xff, n * sizeof(typename G::affine), &err));
    CHECK(G::bases(b->points, tables, b->low, n, &err));
    CHECK(zk_cuda_sync(device, &err));
    zk_cuda_free(device, tables);
}

/* [sum s_i log B_i] G from the marginal sums of the scalars. */
template <class G> bool right(const typename G::affine *got, const bases<G> &b, zk_dptr scalars, size_t n) {
    cuzk_err err = {};
    const size_t entries = (size_t)b.low + b.high;
    zk_dptr sums = take(entries * sizeof(zk_fr), "marginals");
    std::vector<zk_fr> host(entries);
    CHECK(zk_cuda_test_marginals(device, sums, scalars, b.low, n, &err));
    CHECK(zk_cuda_download(device, host.data(), sums, entries * sizeof(zk_fr), &err));
    zk_cuda_free(device, sums);
    zk_fr want = zk_fr_zero, t;
    for (size_t i = 0; i < entries; i++) {
        zk_fr_mul(&t, &host[i], &b.logs[i]);
        zk_fr_add(&want, &want, &t);
    }
    typename G::jacobian point;
    typename G::affine affine;
    G::mul_generator(&point, &want);
    if (G::batch(&affine, &point, 1) != CUZK_OK) return false;
    return memcmp(&affine, got, sizeof affine) == 0;
}

template <class G> void bench_msm(unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    bases<G> b;
    make_bases(&b, log2_n);
    zk_dptr scalars = take(n * sizeof(zk_fr), "scalars");
    std::vector<double> ms;
    bool ok = true;
    for (int r = 0; r <= repeats; r++) { /* the first is to warm up */
        typename G::affine got;
        memset(&got, 0xff, sizeof got);
        CHECK(zk_cuda_test_scalars(device, scalars, n, 1000 * (uint64_t)r + log2_n, &err));
        CHECK(zk_cuda_sync(device, &err));
        const double start = now_ms();
        CHECK(G::msm(&got, b.points, scalars, n, &err));
        if (r || repeats == 1) ms.push_back(now_ms() - start);
        if (r < 2) ok = ok && right<G>(&got, b, scalars, n);
        if (repeats == 1) break;
    }
    row(G::msm_name, log2_n, ms, ok);
    zk_cuda_free(device, scalars);
    zk_cuda_free(device, b.points);
}

template <class G> void bench_mask(unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    bases<G> b;
    make_bases(&b, log2_n);
    std::vector<uint64_t> words((n + 63) / 64);
    uint64_t state = 5;
    for (uint64_t &w : words) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        w = state ^ (state >> 29);
    }
    zk_dptr bits = take(words.size() * 8, "mask"), scalars = take(n * sizeof(zk_fr), "mask as scalars");
    CHECK(zk_cuda_upload(device, bits, words.data(), words.size() * 8, &err));
    std::vector<double> ms;
    typename G::affine got;
    for (int r = 0; r <= repeats; r++) {
        memset(&got, 0xff, sizeof got);
        const double start = now_ms();
        CHECK(G::masked(&got, b.points, bits, n, &err));
        if (r || repeats == 1) ms.push_back(now_ms() - start);
        if (repeats == 1) break;
    }
    CHECK(zk_cuda_test_mask_scalars(device, scalars, bits, n, &err));
    row(G::mask_name, log2_n, ms, right<G>(&got, b, scalars, n));
    zk_cuda_free(device, bits);
    zk_cuda_free(device, scalars);
    zk_cuda_free(device, b.points);
}

/* Checked by what the transform must satisfy: y_0 = sum x, and the inverse restores x (by a digest of sums). */
void bench_ntt(unsigned log2_n, bool full) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    zk_dptr x = take(n * sizeof(zk_fr), "vector");
    const uint32_t low = 1u << (log2_n / 2);
    const size_t entries = low + n / low;
    zk_dptr sums = take(entries * sizeof(zk_fr), "marginals");
    std::vector<zk_fr> before(entries), after(entries);
    CHECK(zk_cuda_ntt_prepare(device, log2_n, full, &err));
    CHECK(zk_cuda_test_scalars(device, x, n, 99 + log2_n, &err));
    CHECK(zk_cuda_test_marginals(device, sums, x, low, n, &err));
    CHECK(zk_cuda_download(device, before.data(), sums, entries * sizeof(zk_fr), &err));
    std::vector<double> forward, inverse;
    bool ok = true;
    for (int r = 0; r <= repeats; r++) {
        for (int kind = 0; kind < 2; kind++) {
            double ms = 0;
            CHECK(zk_cuda_test_mark(device, 0, &err));
            CHECK(zk_cuda_ntt(device, x, log2_n, (zk_cuda_ntt_kind)kind, &err));
            CHECK(zk_cuda_test_mark(device, 1, &err));
            CHECK(zk_cuda_test_elapsed(&ms, device, &err));
            if (r || repeats == 1) (kind ? inverse : forward).push_back(ms);
            if (kind == 0) {
                zk_fr first, sum = zk_fr_zero;
                CHECK(zk_cuda_download(device, &first, x, sizeof first, &err));
                for (uint32_t i = 0; i < low; i++) zk_fr_add(&sum, &sum, &before[i]);
                ok = ok && zk_fr_eq(&first, &sum);
            }
        }
        CHECK(zk_cuda_test_marginals(device, sums, x, low, n, &err));
        CHECK(zk_cuda_download(device, after.data(), sums, entries * sizeof(zk_fr), &err));
        ok = ok && memcmp(after.data(), before.data(), entries * sizeof(zk_fr)) == 0;
        if (repeats == 1) break;
    }
    row(full ? "ntt (full table)" : "ntt", log2_n, forward, ok);
    row(full ? "intt (full tbl)" : "inverse ntt", log2_n, inverse, ok);
    zk_cuda_free(device, x);
    zk_cuda_free(device, sums);
}

/* Checked by c = a b: the quotient is then a polynomial of degree n - 2, so its last coefficient is zero. */
void bench_quotient(unsigned log2_n, bool full) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    zk_dptr v[3];
    std::vector<double> times;
    bool ok = true;
    CHECK(zk_cuda_ntt_prepare(device, log2_n, full, &err));
    for (zk_dptr &x : v) x = take(n * sizeof(zk_fr), "vector");
    for (int r = 0; r <= repeats; r++) {
        double ms = 0;
        CHECK(zk_cuda_test_scalars(device, v[0], n, 3 + r, &err));
        CHECK(zk_cuda_test_scalars(device, v[1], n, 4 + r, &err));
        CHECK(zk_cuda_test_product(device, v[2], v[0], v[1], n, &err));
        CHECK(zk_cuda_test_mark(device, 0, &err));
        CHECK(zk_cuda_ntt_quotient(device, v[0], v[1], v[2], log2_n, &err));
        CHECK(zk_cuda_test_mark(device, 1, &err));
        CHECK(zk_cuda_test_elapsed(&ms, device, &err));
        if (r || repeats == 1) times.push_back(ms);
        zk_fr last[2];
        CHECK(zk_cuda_download(device, last, v[0] + (n - 2) * sizeof(zk_fr), sizeof last, &err));
        ok = ok && zk_fr_is_zero(&last[1]) && !zk_fr_is_zero(&last[0]);
        if (repeats == 1) break;
    }
    row(full ? "quotient (full)" : "quotient", log2_n, times, ok);
    for (zk_dptr x : v) zk_cuda_free(device, x);
}

} // namespace

int main(int argc, char **argv) {
    cuzk_err err = {};
    unsigned windows = 0, batch = 0, lanes = 0;
    size_t pool_bytes = 0;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "pool")) pool_bytes = (size_t)atoi(argv[i + 1]) << 30;
    CHECK(zk_cuda_open(&device, 0, pool_bytes, &err));
    for (int i = 1; i < argc; i++) {
        const std::string what = argv[i];
        if (what == "rate") {
            static const char *names[] = {"Fp mul", "Fp square", "Fr mul"};
            for (int k = 0; k < 3; k++) {
                double rate;
                CHECK(zk_cuda_test_rate(&rate, device, k, &err));
                char line[100];
                snprintf(line, sizeof line, "%-16s %10.2f G/s\n", names[k], rate);
                table += line;
            }
            continue;
        }
        if (++i >= argc) break;
        const unsigned v = (unsigned)atoi(argv[i]);
        if (what == "g1") bench_msm<g1>(v);
        if (what == "g2") bench_msm<g2>(v);
        if (what == "mask1") bench_mask<g1>(v);
        if (what == "mask2") bench_mask<g2>(v);
        if (what == "ntt") bench_ntt(v, false);
        if (what == "nttfull") bench_ntt(v, true);
        if (what == "quotient") bench_quotient(v, false);
        if (what == "quotientfull") bench_quotient(v, true);
        if (what == "repeat") repeats = (int)v;
        if (what == "lanes") lanes = v;
        if (what == "windows") windows = v;
        if (what == "batch") batch = v;
        zk_cuda_msm_tune(device, windows, batch, lanes);
    }
    printf("%-16s %-5s %9s %9s %9s   check\n%s", "kernel", "size", "min ms", "median", "max", table.c_str());
    zk_cuda_close(device);
    return failed;
}
