/* Benchmarks of the CUDA kernels, each result checked.
 *
 *   bench_cuda [rate] {WHAT SIZE | SETTING N}...
 *
 * WHAT: g1, g2 (MSM), mask1, mask2 (masked sum of half the bits), signed1, signed2 (the same by signs), stream1,
 * stream2, streamsum1 (the same with bases in pinned host memory), ntt, nttfull, quotient, quotientfull, decode1,
 * decode2, multiples1, multiples2, subgroup1, subgroup2. SIZE: log2; for sums also the number itself, if it is
 * above 40. SETTING, for what follows: repeat; pool GIB (from the start); planes: of stored multiples of the bases at
 * most so many; together: bases of a signed sum; free GIB: what is left of the device's memory to the sum; lanes,
 * windows, entries, threads: as zk_cuda_msm_tune.
 *
 * Bases are distinct sums of two table entries, multiples of the generator with known random logarithms; scalars are
 * uniform. MSMs are timed by the host's clock from call to answer, transforms by events. One table at the end.
 */
extern "C" {
#include "base/pool.h"
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

#include <sys/mman.h>
#include <unistd.h>

namespace {

zk_cuda *device;
int repeats = 5;
unsigned planes = 1, free_gib = 0, together = 3;
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

struct size {
    size_t n;
    explicit size(unsigned v) : n(v <= 40 ? (size_t)1 << v : v) {}
    std::string name() const {
        char text[32];
        if (n & (n - 1))
            snprintf(text, sizeof text, "%zu", n);
        else
            snprintf(text, sizeof text, "2^%u", (unsigned)__builtin_ctzll(n));
        return text;
    }
};

void row(const char *name, const std::string &size, std::vector<double> ms, bool right, const std::string &note = "") {
    char line[300];
    std::sort(ms.begin(), ms.end());
    snprintf(line, sizeof line, "%-16s %-8s %9.3f %9.3f %9.3f   %-5s %s\n", name, size.c_str(), ms.front(),
             ms[ms.size() / 2], ms.back(), right ? "ok" : "WRONG", note.c_str());
    table += line;
    fprintf(stderr, "%s", line);
    failed = failed || !right;
}
void row(const char *name, unsigned log2_n, const std::vector<double> &ms, bool right) {
    row(name, size(log2_n).name(), ms, right);
}

/* Takes memory away, so that `free GIB` is left. */
struct hog {
    zk_dptr memory = 0;
    hog() {
        cuzk_err err = {};
        const size_t room = zk_cuda_bytes_free(device), keep = (size_t)free_gib << 30;
        if (free_gib && room > keep) CHECK(zk_cuda_alloc(&memory, device, (room - keep) / 512 * 512, "hog", &err));
    }
    ~hog() { zk_cuda_free(device, memory); }
};

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
    static constexpr const char *mapped_name = "decode g1, file", *memory_name = "decode g1, mem",
                                *multiples_name = "multiples g1", *subgroup_name = "subgroup g1";
    static constexpr int group = 0;
    static constexpr size_t bytes = ZK_G1_UNCOMPRESSED_BYTES;
    static void serialize(uint8_t *out, const affine *a) { zk_g1_serialize(out, a); }
    static zk_point_verdict decompress(affine *r, const uint8_t *in) { return zk_g1_decompress(r, in, false); }
    static bool in_subgroup(const affine *a) { return zk_g1_affine_is_in_subgroup(a); }
    static void mul_generator(jacobian *r, const zk_fr *k) {
        zk_g1 g;
        zk_g1_from_affine(&g, &zk_g1_generator);
        zk_g1_mul_var(r, &g, k);
    }
    static void batch(affine *r, const jacobian *a, size_t n) { zk_g1_batch_to_affine(r, a, n); }
    static cuzk_status bases(zk_dptr out, zk_dptr tables, uint32_t low, size_t n, cuzk_err *err) {
        return zk_cuda_test_bases_g1(device, out, tables, low, n, err);
    }
    static cuzk_status msm(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1(r, device, b, s, n, err);
    }
    static cuzk_status stored(affine *r, const zk_cuda_bases *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1_stored(r, device, b, s, n, err);
    }
    static cuzk_status streamed(affine *r, const void *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1_streamed(r, device, (const affine *)b, s, n, err);
    }
    static cuzk_status masked_streamed(affine *r, const void *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g1_streamed(r, device, (const affine *)b, s, n, err);
    }
    static constexpr const char *streamed_name = "streamed msm g1", *masked_streamed_name = "streamed sum g1";
    static cuzk_status masked(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g1(r, device, b, s, n, err);
    }
    static constexpr const char *signs_name = "signed sum g1";
    static cuzk_status by_signs(affine *r, const zk_cuda_signs *t, zk_dptr s, cuzk_err *err) {
        return zk_cuda_signs_sum_g1(r, device, t, s, err);
    }
};
struct g2 {
    typedef zk_g2_affine affine;
    typedef zk_g2 jacobian;
    static constexpr const char *msm_name = "msm g2", *mask_name = "masked sum g2";
    static constexpr const char *mapped_name = "decode g2, file", *memory_name = "decode g2, mem",
                                *multiples_name = "multiples g2", *subgroup_name = "subgroup g2";
    static constexpr int group = 1;
    static constexpr size_t bytes = ZK_G2_UNCOMPRESSED_BYTES;
    static void serialize(uint8_t *out, const affine *a) { zk_g2_serialize(out, a); }
    static zk_point_verdict decompress(affine *r, const uint8_t *in) { return zk_g2_decompress(r, in, false); }
    static bool in_subgroup(const affine *a) { return zk_g2_affine_is_in_subgroup(a); }
    static void mul_generator(jacobian *r, const zk_fr *k) {
        zk_g2 g;
        zk_g2_from_affine(&g, &zk_g2_generator);
        zk_g2_mul_var(r, &g, k);
    }
    static void batch(affine *r, const jacobian *a, size_t n) { zk_g2_batch_to_affine(r, a, n); }
    static cuzk_status bases(zk_dptr out, zk_dptr tables, uint32_t low, size_t n, cuzk_err *err) {
        return zk_cuda_test_bases_g2(device, out, tables, low, n, err);
    }
    static cuzk_status msm(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2(r, device, b, s, n, err);
    }
    static cuzk_status stored(affine *r, const zk_cuda_bases *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2_stored(r, device, b, s, n, err);
    }
    static cuzk_status streamed(affine *r, const void *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2_streamed(r, device, (const affine *)b, s, n, err);
    }
    static cuzk_status masked_streamed(affine *r, const void *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g2_streamed(r, device, (const affine *)b, s, n, err);
    }
    static constexpr const char *streamed_name = "streamed msm g2", *masked_streamed_name = "streamed sum g2";
    static cuzk_status masked(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g2(r, device, b, s, n, err);
    }
    static constexpr const char *signs_name = "signed sum g2";
    static cuzk_status by_signs(affine *r, const zk_cuda_signs *t, zk_dptr s, cuzk_err *err) {
        return zk_cuda_signs_sum_g2(r, device, t, s, err);
    }
};

template <class G> struct bases {
    uint32_t low, high;
    std::vector<zk_fr> logs; /* of the table: low, then high entries */
    zk_dptr points;
};

/* at: where, 0: anywhere */
template <class G> void make_bases(bases<G> *b, size_t n, zk_dptr at = 0) {
    cuzk_err err = {};
    b->low = 1;
    while ((size_t)b->low * b->low * 2 < n) b->low *= 2;
    b->high = (uint32_t)((n + b->low - 1) / b->low);
    const size_t entries = (size_t)b->low + b->high;
    std::vector<typename G::jacobian> points(entries);
    std::vector<typename G::affine> affine(entries);
    b->logs.resize(entries);
    /* multiples by steps of additions would do; the table is small enough for plain multiplications */
    for (size_t i = 0; i < entries; i++) {
        b->logs[i] = hashed(i, n);
        G::mul_generator(&points[i], &b->logs[i]);
    }
    G::batch(affine.data(), points.data(), entries);
    zk_dptr tables = take(entries * sizeof(typename G::affine), "tables");
    CHECK(zk_cuda_upload(device, tables, affine.data(), entries * sizeof(typename G::affine), &err));
    b->points = at ? at : take(n * sizeof(typename G::affine), "bases");
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
    G::batch(&affine, &point, 1);
    return memcmp(&affine, got, sizeof affine) == 0;
}

template <class G> void bench_msm(unsigned size_arg) {
    cuzk_err err = {};
    const size which(size_arg);
    const size_t n = which.n;
    bases<G> b;
    make_bases(&b, n);
    zk_dptr scalars = take(n * sizeof(zk_fr), "scalars");
    zk_cuda_bases stored;
    const double additions = zk_cuda_bases_plan(&stored, G::group, n, (planes - 1) * n * sizeof(typename G::affine));
    stored.points = b.points;
    double prepare_ms = 0;
    if (stored.planes > 1) {
        stored.multiples = take(zk_cuda_bases_bytes(&stored), "multiples");
        const double start = now_ms();
        CHECK(zk_cuda_bases_prepare(&stored, device, &err));
        CHECK(zk_cuda_sync(device, &err));
        prepare_ms = now_ms() - start;
    }
    std::vector<double> ms;
    bool ok = true;
    size_t best, least;
    zk_cuda_msm_bytes(&best, &least, device, &stored);
    char note[200];
    {
        hog taken;
        const size_t room = zk_cuda_bytes_free(device);
        snprintf(note, sizeof note,
                 "%u planes, %.2f GB, made in %.0f ms; workspace %.2f GB (of %.1f to %.1f); %.0f M additions",
                 stored.planes, (double)zk_cuda_bases_bytes(&stored) * 1e-9, prepare_ms,
                 (double)(best < room ? best : room) * 1e-9, (double)least * 1e-9, (double)best * 1e-9,
                 additions * 1e-6);
        for (int r = 0; r <= repeats; r++) { /* the first is to warm up */
            typename G::affine got;
            memset(&got, 0xff, sizeof got);
            CHECK(zk_cuda_test_scalars(device, scalars, n, 1000 * (uint64_t)r + size_arg, &err));
            CHECK(zk_cuda_sync(device, &err));
            const double start = now_ms();
            if (stored.planes > 1)
                CHECK(G::stored(&got, &stored, scalars, n, &err));
            else
                CHECK(G::msm(&got, b.points, scalars, n, &err));
            if (r || repeats == 1) ms.push_back(now_ms() - start);
            if (r < 2) ok = ok && right<G>(&got, b, scalars, n);
            if (repeats == 1) break;
        }
    }
    row(G::msm_name, which.name(), ms, ok, note);
    zk_cuda_free(device, scalars);
    zk_cuda_free(device, b.points);
    zk_cuda_free(device, stored.multiples);
}

/* signs: by a table of signed sums of the bases, which is timed too. */
template <class G> void bench_mask(unsigned size_arg, bool signs) {
    cuzk_err err = {};
    const size which(size_arg);
    const size_t n = which.n;
    bases<G> b;
    zk_cuda_signs t = {0, n, G::group, together, {}};
    if (signs) t.sums = take(zk_cuda_signs_bytes(G::group, n, together), "signed sums");
    make_bases(&b, n, signs ? zk_cuda_signs_bases(&t) : 0);
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
    char note[120] = "";
    if (signs) {
        bool kept;
        const double start = now_ms();
        CHECK(zk_cuda_signs_build(&kept, &t, device, &err));
        snprintf(note, sizeof note, "%u together, %.2f GB, made in %.0f ms", together,
                 (double)zk_cuda_signs_bytes(G::group, n, together) * 1e-9, now_ms() - start);
    }
    {
        hog taken;
        for (int r = 0; r <= repeats; r++) {
            memset(&got, 0xff, sizeof got);
            const double start = now_ms();
            CHECK(signs ? G::by_signs(&got, &t, bits, &err) : G::masked(&got, b.points, bits, n, &err));
            if (r || repeats == 1) ms.push_back(now_ms() - start);
            if (repeats == 1) break;
        }
    }
    CHECK(zk_cuda_test_mask_scalars(device, scalars, bits, n, &err));
    row(signs ? G::signs_name : G::mask_name, which.name(), ms, right<G>(&got, b, scalars, n), note);
    zk_cuda_free(device, bits);
    zk_cuda_free(device, scalars);
    zk_cuda_free(device, signs ? t.sums : b.points);
}

/* Bases in pinned host memory: an MSM, or a sum under a mask of half the bits. */
template <class G> void bench_streamed(unsigned size_arg, bool masked) {
    cuzk_err err = {};
    const size which(size_arg);
    const size_t n = which.n, bytes = n * sizeof(typename G::affine), n_words = (n + 63) / 64;
    bases<G> b;
    make_bases(&b, n);
    void *host = nullptr;
    CHECK(zk_cuda_host_alloc(&host, device, bytes, "bases", &err));
    CHECK(zk_cuda_download(device, host, b.points, bytes, &err));
    zk_cuda_free(device, b.points);
    zk_dptr scalars = take(n * sizeof(zk_fr), "scalars"), bits = take(n_words * 8, "mask");
    CHECK(zk_cuda_test_scalars(device, scalars, n, 77, &err));
    if (masked) {
        std::vector<uint64_t> words(n_words);
        CHECK(zk_cuda_download(device, words.data(), scalars, n_words * 8, &err)); /* low words of Fr are uniform */
        CHECK(zk_cuda_upload(device, bits, words.data(), n_words * 8, &err));
        CHECK(zk_cuda_test_mask_scalars(device, scalars, bits, n, &err));
    }
    std::vector<double> ms;
    typename G::affine got;
    size_t best, least;
    char note[120];
    zk_cuda_streamed_bytes(&best, &least, device, G::group, masked, n);
    {
        hog taken;
        const size_t room = zk_cuda_bytes_free(device);
        snprintf(note, sizeof note, "workspace %.2f GB (of %.1f to %.1f), %.2f GB of bases",
                 (double)(best < room ? best : room) * 1e-9, (double)least * 1e-9, (double)best * 1e-9,
                 (double)bytes * 1e-9);
        for (int r = 0; r <= repeats; r++) {
            memset(&got, 0xff, sizeof got);
            const double start = now_ms();
            CHECK(masked ? G::masked_streamed(&got, host, bits, n, &err) : G::streamed(&got, host, scalars, n, &err));
            if (r || repeats == 1) ms.push_back(now_ms() - start);
            if (repeats == 1) break;
        }
    }
    row(masked ? G::masked_streamed_name : G::streamed_name, which.name(), ms, right<G>(&got, b, scalars, n), note);
    zk_cuda_free(device, scalars);
    zk_cuda_free(device, bits);
    zk_cuda_host_free(device, host);
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
    zk_dptr twiddles = 0;
    CHECK(zk_cuda_ntt_prepare(device, log2_n, &err));
    if (full) CHECK(zk_cuda_ntt_twiddles(&twiddles, device, log2_n, &err));
    CHECK(zk_cuda_test_scalars(device, x, n, 99 + log2_n, &err));
    CHECK(zk_cuda_test_marginals(device, sums, x, low, n, &err));
    CHECK(zk_cuda_download(device, before.data(), sums, entries * sizeof(zk_fr), &err));
    std::vector<double> forward, inverse;
    bool ok = true;
    for (int r = 0; r <= repeats; r++) {
        for (int kind = 0; kind < 2; kind++) {
            double ms = 0;
            CHECK(zk_cuda_test_mark(device, 0, &err));
            CHECK(zk_cuda_ntt(device, x, log2_n, (zk_cuda_ntt_kind)kind, twiddles, &err));
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
    zk_cuda_free(device, twiddles);
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
    zk_dptr twiddles = 0;
    CHECK(zk_cuda_ntt_prepare(device, log2_n, &err));
    if (full) CHECK(zk_cuda_ntt_twiddles(&twiddles, device, log2_n, &err));
    for (zk_dptr &x : v) x = take(n * sizeof(zk_fr), "vector");
    for (int r = 0; r <= repeats; r++) {
        double ms = 0;
        CHECK(zk_cuda_test_scalars(device, v[0], n, 3 + r, &err));
        CHECK(zk_cuda_test_scalars(device, v[1], n, 4 + r, &err));
        CHECK(zk_cuda_test_product(device, v[2], v[0], v[1], n, &err));
        CHECK(zk_cuda_test_mark(device, 0, &err));
        CHECK(zk_cuda_ntt_quotient(device, v[0], v[1], v[2], log2_n, twiddles, &err));
        CHECK(zk_cuda_test_mark(device, 1, &err));
        CHECK(zk_cuda_test_elapsed(&ms, device, &err));
        if (r || repeats == 1) times.push_back(ms);
        zk_fr last[2];
        CHECK(zk_cuda_download(device, last, v[0] + (n - 2) * sizeof(zk_fr), sizeof last, &err));
        ok = ok && zk_fr_is_zero(&last[1]) && !zk_fr_is_zero(&last[0]);
        if (repeats == 1) break;
    }
    row(full ? "quotient (full)" : "quotient", log2_n, times, ok);
    zk_cuda_free(device, twiddles);
    for (zk_dptr x : v) zk_cuda_free(device, x);
}

/* Whether two ranges of device memory are equal. */
bool same(zk_dptr a, zk_dptr b, size_t bytes) {
    cuzk_err err = {};
    const size_t piece = (size_t)64 << 20;
    std::vector<uint8_t> x(piece), y(piece);
    for (size_t at = 0; at < bytes; at += piece) {
        const size_t here = std::min(piece, bytes - at);
        CHECK(zk_cuda_download(device, x.data(), a + at, here, &err));
        CHECK(zk_cuda_download(device, y.data(), b + at, here, &err));
        if (memcmp(x.data(), y.data(), here)) return false;
    }
    return true;
}

/* A section of a key as a file in the page cache, mapped anew each time (its pages are then touched first by the
 * decoder), and as memory that is mapped already. Half of the points are those of bits. */
template <class G> void bench_decode(unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n, bytes = n * G::bytes;
    zk_pool *threads = nullptr;
    bases<G> b;
    make_bases(&b, n);
    CHECK(zk_pool_create(&threads, 0, &err));
    const int file = memfd_create("points", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0) exit(1);
    void *map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED) exit(1);
    zk_dptr encoded = take(bytes, "encoded points"), full = take(bytes / 2, "full"), bits = take(bytes / 2, "bits");
    CHECK(zk_cuda_points_encode(device, G::group, encoded, b.points, n, &err));
    CHECK(zk_cuda_download(device, map, encoded, bytes, &err));
    zk_cuda_free(device, encoded);
    bool ok = true;
    for (size_t i = 0; i < n; i += n / 128 + 1) { /* the encoding itself */
        typename G::affine point;
        uint8_t want[G::bytes];
        CHECK(zk_cuda_download(device, &point, b.points + i * sizeof point, sizeof point, &err));
        G::serialize(want, &point);
        ok = ok && memcmp(want, (uint8_t *)map + i * G::bytes, G::bytes) == 0;
    }
    const std::vector<uint64_t> words(n / 64, (uint64_t)0x00000000ffffffff);
    std::vector<double> mapped, memory;
    for (int r = 0; r <= repeats; r++) {
        for (int kind = 0; kind < 2; kind++) {
            const void *from = map;
            if (kind == 0) from = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
            if (from == MAP_FAILED) exit(1);
            size_t bad = 0;
            CHECK(zk_cuda_fill(device, full, 0xff, bytes / 2, &err));
            CHECK(zk_cuda_fill(device, bits, 0xff, bytes / 2, &err));
            CHECK(zk_cuda_sync(device, &err));
            const double start = now_ms();
            CHECK(zk_cuda_points_decode(&bad, device, G::group, full, bits, (const uint8_t *)from, n, words.data(),
                                        threads, &err));
            if (r || repeats == 1) (kind ? memory : mapped).push_back(now_ms() - start);
            ok = ok && bad == n;
            if (kind == 0) munmap((void *)from, bytes);
        }
        if (repeats == 1) break;
    }
    const size_t run = 32 * G::bytes; /* the mask takes runs of 32 points */
    zk_dptr together = take(bytes, "points in order");
    for (size_t k = 0; k < 2 * (n / 64) && k < 4096; k++) {
        const size_t at = k % 2 ? n / 64 - 1 - k / 2 : k / 2;
        ok = ok && same(bits + at * run, b.points + 2 * at * run, run);
        ok = ok && same(full + at * run, b.points + (2 * at + 1) * run, run);
    }
    /* without a mask everything is in place */
    size_t bad = 0;
    CHECK(zk_cuda_points_decode(&bad, device, G::group, together, 0, (const uint8_t *)map, n, nullptr, threads, &err));
    ok = ok && bad == n && same(together, b.points, bytes);
    row(G::mapped_name, log2_n, mapped, ok);
    row(G::memory_name, log2_n, memory, ok);
    for (zk_dptr d : {full, bits, together, b.points}) zk_cuda_free(device, d);
    munmap(map, bytes);
    close(file);
    zk_pool_destroy(threads);
}

/* Checked by a sum with random weights t_i, which is [sum s_i t_i] G, and one by one at places. */
template <class G> void bench_multiples(unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    zk_cuda_multiples *m = nullptr;
    const double begin = now_ms();
    CHECK(zk_cuda_multiples_create(&m, device, G::group, (uint64_t)1 << 27, &err));
    fprintf(stderr, "table of multiples: %.1f ms\n", now_ms() - begin);
    zk_dptr points = take(n * sizeof(typename G::affine), "points"), scalars = take(n * sizeof(zk_fr), "scalars"),
            weights = take(n * sizeof(zk_fr), "weights");
    std::vector<double> ms;
    for (int r = 0; r <= repeats; r++) {
        CHECK(zk_cuda_test_scalars(device, scalars, n, 500 + (uint64_t)r, &err));
        CHECK(zk_cuda_fill(device, points, 0xff, n * sizeof(typename G::affine), &err));
        CHECK(zk_cuda_sync(device, &err));
        const double start = now_ms();
        CHECK(zk_cuda_multiples_points(m, points, scalars, n, &err));
        CHECK(zk_cuda_sync(device, &err));
        if (r || repeats == 1) ms.push_back(now_ms() - start);
        if (repeats == 1) break;
    }
    const uint32_t low = 1u << (log2_n / 2);
    std::vector<zk_fr> sums(low);
    zk_dptr marginals = take((low + n / low) * sizeof(zk_fr), "marginals");
    typename G::jacobian want;
    typename G::affine got, want_affine;
    CHECK(zk_cuda_test_scalars(device, weights, n, 4711, &err));
    CHECK(G::msm(&got, points, weights, n, &err));
    CHECK(zk_cuda_test_product(device, weights, weights, scalars, n, &err));
    CHECK(zk_cuda_test_marginals(device, marginals, weights, low, n, &err));
    CHECK(zk_cuda_download(device, sums.data(), marginals, low * sizeof(zk_fr), &err));
    zk_fr sum = zk_fr_zero;
    for (const zk_fr &s : sums) zk_fr_add(&sum, &sum, &s);
    G::mul_generator(&want, &sum);
    G::batch(&want_affine, &want, 1);
    bool ok = memcmp(&got, &want_affine, sizeof got) == 0;
    for (size_t i = 0; i < n; i += n / 64 + 1) {
        zk_fr s;
        CHECK(zk_cuda_download(device, &s, scalars + i * sizeof s, sizeof s, &err));
        CHECK(zk_cuda_download(device, &got, points + i * sizeof got, sizeof got, &err));
        G::mul_generator(&want, &s);
        G::batch(&want_affine, &want, 1);
        ok = ok && memcmp(&got, &want_affine, sizeof got) == 0;
    }
    row(G::multiples_name, log2_n, ms, ok);
    for (zk_dptr d : {points, scalars, weights, marginals}) zk_cuda_free(device, d);
    zk_cuda_multiples_destroy(m);
}

/* Timed where all points are good; one that is not must then be found. */
template <class G> void bench_subgroup(unsigned log2_n) {
    cuzk_err err = {};
    const size_t n = (size_t)1 << log2_n;
    bases<G> b;
    make_bases(&b, n);
    std::vector<double> ms;
    bool ok = true, good;
    uint8_t seed[32];
    for (int r = 0; r <= repeats; r++) {
        memset(seed, r + 1, sizeof seed);
        const double start = now_ms();
        CHECK(zk_cuda_points_subgroup(&good, device, G::group, b.points, n, seed, &err));
        if (r || repeats == 1) ms.push_back(now_ms() - start);
        ok = ok && good;
        if (repeats == 1) break;
    }
    typename G::affine bad;
    uint8_t bytes[G::bytes / 2] = {0x80};
    for (uint8_t k = 1;; k++) {
        bytes[sizeof bytes - 1] = k;
        if (G::decompress(&bad, bytes) == ZK_POINT_OK && !G::in_subgroup(&bad)) break;
    }
    CHECK(zk_cuda_upload(device, b.points + n / 3 * sizeof bad, &bad, sizeof bad, &err));
    CHECK(zk_cuda_points_subgroup(&good, device, G::group, b.points, n, seed, &err));
    row(G::subgroup_name, log2_n, ms, ok && !good);
    zk_cuda_free(device, b.points);
}

} // namespace

int main(int argc, char **argv) {
    cuzk_err err = {};
    unsigned windows = 0, entries = 0, lanes = 0, threads = 0;
    size_t pool_bytes = 0;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "pool")) pool_bytes = (size_t)atoi(argv[i + 1]) << 30;
    CHECK(zk_cuda_open(&device, 0, pool_bytes, &err));
    for (int i = 1; i < argc; i++) {
        const std::string what = argv[i];
        if (what == "rate") {
            static const char *names[] = {"Fp mul", "Fp square", "Fr mul", "Fr mul, known"};
            for (int k = 0; k < 4; k++) {
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
        if (what == "stream1") bench_streamed<g1>(v, false);
        if (what == "stream2") bench_streamed<g2>(v, false);
        if (what == "streamsum1") bench_streamed<g1>(v, true);
        if (what == "mask1") bench_mask<g1>(v, false);
        if (what == "mask2") bench_mask<g2>(v, false);
        if (what == "signed1") bench_mask<g1>(v, true);
        if (what == "signed2") bench_mask<g2>(v, true);
        if (what == "together") together = v;
        if (what == "ntt") bench_ntt(v, false);
        if (what == "nttfull") bench_ntt(v, true);
        if (what == "quotient") bench_quotient(v, false);
        if (what == "quotientfull") bench_quotient(v, true);
        if (what == "decode1") bench_decode<g1>(v);
        if (what == "decode2") bench_decode<g2>(v);
        if (what == "multiples1") bench_multiples<g1>(v);
        if (what == "multiples2") bench_multiples<g2>(v);
        if (what == "subgroup1") bench_subgroup<g1>(v);
        if (what == "subgroup2") bench_subgroup<g2>(v);
        if (what == "repeat") repeats = (int)v;
        if (what == "lanes") lanes = v;
        if (what == "windows") windows = v;
        if (what == "entries") entries = v;
        if (what == "threads") threads = v;
        if (what == "planes") planes = v ? v : 1;
        if (what == "free") free_gib = v;
        zk_cuda_msm_tune(device, windows, entries, lanes, threads);
    }
    printf("%-16s %-8s %9s %9s %9s   check\n%s", "kernel", "size", "min ms", "median", "max", table.c_str());
    zk_cuda_close(device);
    return failed;
}
