/* MSM and masked sums of the CUDA code against scalar arithmetic: every base is a known multiple of the generator, so
 * the answer is one scalar multiplication by src/curve. Runs in the emulator (small sizes) and on a device (all sizes).
 */
extern "C" {
#include "curve/curve.h"
}
#include "../../cuda/cuda_kernels.h"
#include "zk_test.h"

#include <vector>

namespace {
#if defined(ZK_CUDA_EMULATE)
constexpr bool EMULATED = true;
constexpr size_t POOL_BYTES = (size_t)160 << 20;
#else
constexpr bool EMULATED = false;
constexpr size_t POOL_BYTES = (size_t)100 << 30;
#endif

uint64_t rng = 42;
zk_cuda *device;

zk_fr random_fr() {
    uint8_t bytes[64];
    for (int k = 0; k < 8; k++) {
        uint64_t v = zk_test_rand(&rng);
        memcpy(bytes + 8 * k, &v, 8);
    }
    zk_fr r;
    zk_fr_from_bytes_wide(&r, bytes);
    return r;
}

struct g1 {
    typedef zk_g1_affine affine;
    typedef zk_g1 jacobian;
    static const affine *generator() { return &zk_g1_generator; }
    static void from_affine(jacobian *r, const affine *a) { zk_g1_from_affine(r, a); }
    static void to_affine(affine *r, const jacobian *a) { zk_g1_to_affine(r, a); }
    static void add(jacobian *r, const jacobian *a, const affine *b) { zk_g1_add_affine(r, a, b); }
    static void mul(jacobian *r, const jacobian *a, const zk_fr *k) { zk_g1_mul_var(r, a, k); }
    static void batch(affine *r, const jacobian *a, size_t n) { zk_g1_batch_to_affine(r, a, n); }
    static cuzk_status msm(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1(r, device, b, s, n, err);
    }
    static cuzk_status stored(affine *r, const zk_cuda_bases *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1_stored(r, device, b, s, n, err);
    }
    static cuzk_status streamed(affine *r, const affine *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g1_streamed(r, device, b, s, n, err);
    }
    static cuzk_status masked_streamed(affine *r, const affine *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g1_streamed(r, device, b, s, n, err);
    }
    static constexpr int group = 0;
    static cuzk_status masked(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g1(r, device, b, s, n, err);
    }
    static cuzk_status by_signs(affine *r, const zk_cuda_signs *t, zk_dptr s, cuzk_err *err) {
        return zk_cuda_signs_sum_g1(r, device, t, s, err);
    }
};
struct g2 {
    typedef zk_g2_affine affine;
    typedef zk_g2 jacobian;
    static const affine *generator() { return &zk_g2_generator; }
    static void from_affine(jacobian *r, const affine *a) { zk_g2_from_affine(r, a); }
    static void to_affine(affine *r, const jacobian *a) { zk_g2_to_affine(r, a); }
    static void add(jacobian *r, const jacobian *a, const affine *b) { zk_g2_add_affine(r, a, b); }
    static void mul(jacobian *r, const jacobian *a, const zk_fr *k) { zk_g2_mul_var(r, a, k); }
    static void batch(affine *r, const jacobian *a, size_t n) { zk_g2_batch_to_affine(r, a, n); }
    static cuzk_status msm(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2(r, device, b, s, n, err);
    }
    static cuzk_status stored(affine *r, const zk_cuda_bases *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2_stored(r, device, b, s, n, err);
    }
    static cuzk_status streamed(affine *r, const affine *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_msm_g2_streamed(r, device, b, s, n, err);
    }
    static cuzk_status masked_streamed(affine *r, const affine *b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g2_streamed(r, device, b, s, n, err);
    }
    static constexpr int group = 1;
    static cuzk_status masked(affine *r, zk_dptr b, zk_dptr s, size_t n, cuzk_err *err) {
        return zk_cuda_masked_sum_g2(r, device, b, s, n, err);
    }
    static cuzk_status by_signs(affine *r, const zk_cuda_signs *t, zk_dptr s, cuzk_err *err) {
        return zk_cuda_signs_sum_g2(r, device, t, s, err);
    }
};

unsigned now_windows, now_entries, now_lanes; /* what is forced */
void tune(unsigned windows, unsigned entries, unsigned lanes) {
    now_windows = windows;
    now_entries = entries;
    now_lanes = lanes;
    zk_cuda_msm_tune(device, windows, entries, lanes, 0);
}
/* Another number of hexagons each time, of those that take little memory for few points. */
unsigned some_hexagons() {
    static unsigned turn;
    const unsigned least = EMULATED ? 20 : 12;
    return ZK_CUDA_HEXAGONS + least + turn++ % (21 - least);
}

/* n bases [k_i] G and their logarithms: k_i = a + i b. */
template <class G> struct problem {
    std::vector<typename G::affine> bases;
    std::vector<zk_fr> logs, scalars;
};
template <class G> void make(problem<G> *p, size_t n) {
    zk_fr a = random_fr(), b = random_fr();
    typename G::jacobian g, at, step;
    typename G::affine step_affine;
    G::from_affine(&g, G::generator());
    G::mul(&at, &g, &a);
    G::mul(&step, &g, &b);
    G::to_affine(&step_affine, &step);
    std::vector<typename G::jacobian> points(n);
    p->bases.resize(n);
    p->logs.resize(n);
    p->scalars.resize(n);
    for (size_t i = 0; i < n; i++) {
        points[i] = at;
        p->logs[i] = a;
        p->scalars[i] = random_fr();
        G::add(&at, &at, &step_affine);
        zk_fr_add(&a, &a, &b);
    }
    if (n) G::batch(p->bases.data(), points.data(), n);
}

template <class G> void expect(const typename G::affine *got, const zk_fr *log, const char *what, size_t n) {
    typename G::jacobian g, want;
    typename G::affine want_affine;
    G::from_affine(&g, G::generator());
    G::mul(&want, &g, log);
    G::to_affine(&want_affine, &want);
    ZK_CHECKF(memcmp(got, &want_affine, sizeof want_affine) == 0, "%s, n = %zu", what, n);
}

zk_dptr put(const void *data, size_t bytes) {
    cuzk_err err = {};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, bytes, "test input", &err), err);
    if (bytes) ZK_CHECK_OK(zk_cuda_upload(device, d, data, bytes, &err), err);
    return d;
}

void poison() {
    /* whatever the kernels take from the pool next starts as 0xff */
    cuzk_err err = {};
    zk_dptr d = 0;
    size_t bytes = zk_cuda_bytes_free(device) / 2;
    if (bytes > (size_t)4 << 30) bytes = (size_t)4 << 30;
    if (EMULATED) bytes = (size_t)4 << 20;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, bytes, "poison", &err), err);
    ZK_CHECK_OK(zk_cuda_fill(device, d, 0xff, bytes, &err), err);
    zk_cuda_free(device, d);
}

template <class G> zk_fr expected(const problem<G> &p, size_t n) {
    zk_fr want = zk_fr_zero, t;
    for (size_t i = 0; i < n; i++) {
        zk_fr_mul(&t, &p.scalars[i], &p.logs[i]);
        zk_fr_add(&want, &want, &t);
    }
    return want;
}

template <class G> void check(const problem<G> &p, const char *what) {
    cuzk_err err = {};
    const size_t n = p.bases.size();
    zk_dptr bases = put(p.bases.data(), n * sizeof(typename G::affine));
    zk_dptr scalars = put(p.scalars.data(), n * sizeof(zk_fr));
    const zk_fr want = expected(p, n);
    const unsigned windows = now_windows;
    for (int kind = 0; kind < (windows ? 1 : 2); kind++) { /* with signed windows, with hexagons */
        typename G::affine got;
        memset(&got, 0xff, sizeof got);
        if (n < 5000) poison();
        if (kind) tune(some_hexagons(), now_entries, now_lanes);
        ZK_CHECK_OK(G::msm(&got, bases, scalars, n, &err), err);
        expect<G>(&got, &want, what, n);
        tune(windows, now_entries, now_lanes);
    }
    zk_cuda_free(device, bases);
    zk_cuda_free(device, scalars);
}

/* With planes of multiples, of all and of some of the bases. */
template <class G> void check_stored(const problem<G> &p, unsigned planes, unsigned distance, const char *what) {
    cuzk_err err = {};
    const size_t n = p.bases.size(), bytes = n * sizeof(typename G::affine);
    zk_cuda_bases b = {put(p.bases.data(), bytes), 0, n, G::group, planes, distance};
    zk_dptr scalars = put(p.scalars.data(), n * sizeof(zk_fr));
    ZK_CHECK(zk_cuda_bases_bytes(&b) == (planes - 1) * bytes);
    ZK_CHECK_OK(zk_cuda_alloc(&b.multiples, device, zk_cuda_bases_bytes(&b), "multiples", &err), err);
    poison();
    ZK_CHECK_OK(zk_cuda_bases_prepare(&b, device, &err), err);
    for (size_t some : {n, n - n / 3}) {
        const zk_fr want = expected(p, some);
        typename G::affine got;
        memset(&got, 0xff, sizeof got);
        poison();
        ZK_CHECK_OK(G::stored(&got, &b, scalars, some, &err), err);
        expect<G>(&got, &want, what, some);
    }
    zk_cuda_free(device, b.points);
    zk_cuda_free(device, b.multiples);
    zk_cuda_free(device, scalars);
}
template <class G> void check_all(const problem<G> &p, const char *what) {
    check(p, what);
    check_stored(p, 3, 92, what); /* windows of the last plane are fewer */
    check_stored(p, 13, 20, what);
}

void open_once() {
    cuzk_err err = {};
    if (!device) ZK_CHECK_OK(zk_cuda_open(&device, 0, POOL_BYTES, &err), err);
    tune(0, 0, 0); /* which a case that failed may have left otherwise */
}

template <class G> void sizes() {
    open_once();
    static const size_t small[] = {0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 237, 255, 256, 257, 1000};
    problem<G> p;
    for (size_t n : small) {
        make(&p, n);
        check(p, "random");
    }
    const unsigned last = EMULATED ? 10 : 18;
    for (unsigned k = 10; k <= last; k++) {
        for (int d = -1; d <= 1; d++) {
            if (EMULATED && d == 0) continue;
            make(&p, ((size_t)1 << k) + d);
            check(p, "random");
        }
    }
}

zk_fr from_pattern(uint32_t pattern) {
    uint8_t bytes[32];
    for (int i = 0; i < 8; i++) memcpy(bytes + 4 * i, &pattern, 4);
    zk_fr r;
    zk_fr_from_bytes_reduce(&r, bytes);
    return r;
}

template <class G> void hard_scalars() {
    open_once();
    const size_t n = 300;
    problem<G> p;
    make(&p, n);
    zk_fr minus_one, two_254, half;
    zk_fr_neg(&minus_one, &zk_fr_one);
    zk_fr_from_u64(&two_254, 2);
    zk_fr_pow_u64(&two_254, &two_254, 254);
    zk_fr_from_u64(&half, 2);
    ZK_CHECK(zk_fr_inv_var(&half, &half)); /* (r+1)/2: the smallest scalar that is negated */
    zk_fr below_half;
    zk_fr_sub(&below_half, &half, &zk_fr_one);
    const zk_fr all[] = {zk_fr_zero,
                         zk_fr_one,
                         minus_one,
                         two_254,
                         half,
                         below_half,
                         from_pattern(0x7f7f7f7f),
                         from_pattern(0x80808080),
                         from_pattern(0xffffffff),
                         from_pattern(0x55555555)};
    for (const zk_fr &s : all) {
        for (size_t i = 0; i < n; i++) p.scalars[i] = s;
        check_all(p, "equal scalars");
        tune(0, 100, 3); /* bins that do not fit into a range */
        check(p, "equal scalars in parts");
        tune(0, 0, 0);
    }
    for (size_t i = 0; i < n; i++) p.scalars[i] = all[i % (sizeof all / sizeof all[0])];
    check_all(p, "mixed scalars");
    for (size_t i = 0; i < n; i++) zk_fr_from_u64(&p.scalars[i], zk_test_rand(&rng) >> (i % 64));
    check_all(p, "short scalars");
    /* every window width: the largest and smallest digits at each */
    const unsigned fewest = EMULATED ? 20 : G::group == 0 ? 10 : 12; /* fewer in G2 take more memory than there is */
    for (unsigned windows = fewest; windows <= 63; windows += EMULATED ? 9 : windows < 30 ? 1 : 7) {
        tune(windows, windows % 3 ? 0 : 500 * (1 + windows % 5), windows % 4);
        for (size_t i = 0; i < n; i++) {
            zk_fr two, e = zk_fr_zero;
            zk_fr_from_u64(&two, 2);
            if (i % 3 == 0) {
                zk_fr_pow_u64(&e, &two, i % 255);
            } else if (i % 3 == 1) {
                zk_fr_pow_u64(&e, &two, i % 255);
                zk_fr_sub(&e, &e, &zk_fr_one);
            } else {
                e = random_fr();
            }
            p.scalars[i] = e;
        }
        check(p, "window width");
        if (windows <= 20) {
            tune(ZK_CUDA_HEXAGONS + windows, now_entries, now_lanes);
            check(p, "hexagons");
        }
        check_stored(p, 2 + windows % 5, 255 / (2 + windows % 5) + 1 + windows % 7, "window width");
    }
    tune(0, 0, 0);
}

template <class G> void hard_points() {
    open_once();
    problem<G> p;
    const size_t n = 257;
    make(&p, n);
    const problem<G> fresh = p;
    const typename G::affine infinity = {};
    /* infinity first, in the middle, last, at 10, 90 and 100 per cent */
    for (size_t at : {(size_t)0, n / 2, n - 1}) {
        p = fresh;
        p.bases[at] = infinity;
        p.logs[at] = zk_fr_zero;
        check_all(p, "one infinity");
    }
    for (unsigned percent : {10u, 90u, 100u}) {
        p = fresh;
        for (size_t i = 0; i < n; i++) {
            if (zk_test_rand(&rng) % 100 >= percent) continue;
            p.bases[i] = infinity;
            p.logs[i] = zk_fr_zero;
        }
        check_all(p, "many infinities");
    }
    /* one point everywhere, with equal and with random scalars */
    p = fresh;
    for (size_t i = 0; i < n; i++) {
        p.bases[i] = p.bases[0];
        p.logs[i] = p.logs[0];
    }
    check_all(p, "one point");
    for (size_t i = 0; i < n; i++) p.scalars[i] = p.scalars[0];
    check_all(p, "one point, one scalar");
    /* P and -P with one scalar: everything cancels; and with scalars s and -s: everything doubles */
    for (size_t i = 1; i < n; i += 2) {
        typename G::jacobian g;
        zk_fr minus_one;
        zk_fr_neg(&minus_one, &zk_fr_one);
        G::from_affine(&g, &p.bases[0]);
        G::mul(&g, &g, &minus_one);
        G::to_affine(&p.bases[i], &g);
        zk_fr_neg(&p.logs[i], &p.logs[0]);
    }
    check_all(p, "P and -P");
    for (size_t i = 1; i < n; i += 2) zk_fr_neg(&p.scalars[i], &p.scalars[i]);
    check_all(p, "P and -P, s and -s");
    p = fresh;
    for (size_t i = 0; i < n; i++) p.scalars[i] = zk_fr_zero;
    check_all(p, "all zero");
}

template <class G> void masks() {
    open_once();
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 300, 1000, 4097};
    for (size_t n : counts) {
        problem<G> p;
        make(&p, n);
        for (int kind = 0; kind < 4; kind++) {
            std::vector<uint64_t> bits((n + 63) / 64 + 1);
            for (uint64_t &w : bits)
                w = kind == 0 ? 0 : kind == 1 ? ~(uint64_t)0 : kind == 2 ? zk_test_rand(&rng) : (uint64_t)1 << 63 | 1;
            if (kind == 3 && n > 100) { /* special positions: equal points, opposite points, infinity */
                for (size_t i = 0; i < 64; i++) {
                    p.bases[i] = p.bases[0];
                    p.logs[i] = p.logs[0];
                }
                p.bases[70] = typename G::affine{};
                p.logs[70] = zk_fr_zero;
                bits[0] = ~(uint64_t)0;
                bits[1] = ~(uint64_t)0;
            }
            zk_fr want = zk_fr_zero;
            for (size_t i = 0; i < n; i++)
                if ((bits[i / 64] >> (i % 64)) & 1) zk_fr_add(&want, &want, &p.logs[i]);
            cuzk_err err = {};
            zk_dptr bases = put(p.bases.data(), n * sizeof(typename G::affine));
            zk_dptr mask = put(bits.data(), bits.size() * 8);
            typename G::affine got;
            memset(&got, 0xff, sizeof got);
            poison();
            ZK_CHECK_OK(G::masked(&got, bases, mask, n, &err), err);
            expect<G>(&got, &want, "masked sum", n);
            memset(&got, 0xff, sizeof got);
            poison();
            ZK_CHECK_OK(G::masked_streamed(&got, p.bases.data(), mask, n, &err), err);
            expect<G>(&got, &want, "streamed masked sum", n);
            zk_cuda_free(device, bases);
            zk_cuda_free(device, mask);
        }
    }
}

/* ---- sums by signs ---- */

template <class G> zk_fr sum_of_logs(const problem<G> &p, const std::vector<uint64_t> &bits) {
    zk_fr sum = zk_fr_zero;
    for (size_t i = 0; i < p.logs.size(); i++)
        if (bits[i / 64] >> (i % 64) & 1) zk_fr_add(&sum, &sum, &p.logs[i]);
    return sum;
}

/* A table's memory with the bases in it, all else 0xff. */
template <class G> void place_bases(zk_cuda_signs *t, const problem<G> &p, unsigned together) {
    cuzk_err err = {};
    const size_t n = p.bases.size(), point = sizeof(typename G::affine);
    const size_t bytes = zk_cuda_signs_bytes(G::group, n, together);
    memset(t, 0xff, sizeof *t);
    t->n = n;
    t->group = G::group;
    t->together = together;
    ZK_CHECK(bytes == (n + together - 1) / together * point << (together - 1));
    ZK_CHECK_OK(zk_cuda_alloc(&t->sums, device, bytes, "signed sums", &err), err);
    ZK_CHECK_OK(zk_cuda_fill(device, t->sums, 0xff, bytes, &err), err);
    const zk_dptr at = zk_cuda_signs_bases(t);
    ZK_CHECK(at >= t->sums && at + n * point <= t->sums + bytes);
    if (n) ZK_CHECK_OK(zk_cuda_upload(device, at, p.bases.data(), n * point, &err), err);
}

/* Masks: none, all, every other, random, the ends; what follows the last bit is anything. */
template <class G> void check_signs(const problem<G> &p, const char *what) {
    const size_t n = p.bases.size(), n_words = (n + 63) / 64;
    for (unsigned together = 2; together <= ZK_CUDA_SIGNS_MOST; together++) {
        cuzk_err err = {};
        zk_cuda_signs t;
        bool kept;
        const size_t before = zk_cuda_bytes_free(device);
        place_bases(&t, p, together);
        poison();
        ZK_CHECK_OK(zk_cuda_signs_build(&kept, &t, device, &err), err);
        std::vector<uint64_t> bits(n_words, ~(uint64_t)0);
        const zk_fr all = sum_of_logs(p, bits);
        typename G::affine got;
        memcpy(&got, t.total, sizeof got);
        expect<G>(&got, &all, what, n);
        for (int kind = 0; kind < 6; kind++) {
            for (uint64_t &w : bits) {
                static const uint64_t words[] = {0, ~(uint64_t)0, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa};
                w = kind < 4 ? words[kind] : kind == 4 ? zk_test_rand(&rng) : 0;
            }
            if (kind == 5 && n) {
                bits[0] |= 1;
                bits[n_words - 1] |= (uint64_t)1 << (n - 1) % 64;
            }
            if (kind % 2 && n % 64) bits[n_words - 1] |= ~(uint64_t)0 << n % 64;
            const zk_fr want = sum_of_logs(p, bits);
            zk_dptr mask = put(bits.data(), n_words * 8);
            memset(&got, 0xff, sizeof got);
            poison();
            ZK_CHECK_OK(G::by_signs(&got, &t, mask, &err), err);
            expect<G>(&got, &want, what, n);
            zk_cuda_free(device, mask);
        }
        zk_cuda_free(device, t.sums);
        ZK_CHECK(zk_cuda_bytes_free(device) == before);
    }
}

template <class G> void signs_sizes() {
    open_once();
    static const size_t counts[] = {0, 1, 2, 3, 4, 5, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 4095, 4096, 4097};
    for (size_t n : counts) {
        problem<G> p;
        make(&p, n);
        check_signs(p, "sum by signs");
    }
    if (EMULATED) return;
    for (size_t n : {((size_t)1 << 18) - 1, (size_t)1 << 18, ((size_t)1 << 18) + 1, (size_t)3 << 20}) {
        problem<G> p;
        make(&p, n);
        check_signs(p, "large sum by signs");
    }
}

/* Points that are equal, opposite and at infinity, within a group and across. */
template <class G> void signs_points() {
    open_once();
    problem<G> p;
    const size_t n = 601;
    make(&p, n);
    const problem<G> fresh = p;
    const auto set = [&p](size_t to, size_t from, bool minus) {
        typename G::jacobian g;
        zk_fr k = zk_fr_one;
        if (minus) zk_fr_neg(&k, &k);
        G::from_affine(&g, &p.bases[from]);
        G::mul(&g, &g, &k);
        G::to_affine(&p.bases[to], &g);
        zk_fr_mul(&p.logs[to], &k, &p.logs[from]);
    };
    const auto vanish = [&p](size_t at) {
        p.bases[at] = typename G::affine{};
        p.logs[at] = zk_fr_zero;
    };
    for (size_t i = 1; i < n; i++) set(i, 0, false);
    check_signs(p, "one point");
    for (size_t i = 1; i < n; i++) set(i, 0, i % 2);
    check_signs(p, "P, -P");
    /* every way in which each of twelve neighbours, groups of any size, is P, -P, Q, P + Q, infinity or of its own */
    p = fresh;
    typename G::jacobian both;
    G::from_affine(&both, &p.bases[0]);
    G::add(&both, &both, &p.bases[1]);
    G::to_affine(&p.bases[2], &both);
    zk_fr_add(&p.logs[2], &p.logs[0], &p.logs[1]);
    for (size_t i = 3; i < n; i++) {
        const uint64_t way = zk_test_rand(&rng) % 7;
        if (way < 3)
            set(i, way, false);
        else if (way < 5)
            set(i, way - 3, true);
        else if (way == 5)
            vanish(i);
    }
    check_signs(p, "P, -P, Q, -Q, P + Q, infinity");
    for (size_t first = 0; first < 12; first++) {
        p = fresh;
        for (size_t i = first; i < n; i += 7) vanish(i);
        check_signs(p, "infinities");
    }
    for (size_t i = 0; i < n; i++) vanish(i);
    check_signs(p, "all at infinity");
}

/* A table is built, or the bases are still there; sums work in what they say they need, and in no less. */
template <class G> void signs_short_memory() {
    cuzk_err err = {};
    zk_cuda *full = device;
    device = nullptr;
    ZK_CHECK_OK(zk_cuda_open(&device, 0, (size_t)(EMULATED ? 200 : 1000) << 20, &err), err);
    const size_t n = EMULATED ? 1100 : 300000;
    problem<G> p;
    make(&p, n);
    std::vector<uint64_t> bits((n + 63) / 64, ~(uint64_t)0 / 3);
    const zk_fr want = sum_of_logs(p, bits);
    zk_dptr mask = put(bits.data(), bits.size() * 8);
    unsigned built = 0, refused = 0;
    for (unsigned together = 2; together <= ZK_CUDA_SIGNS_MOST; together++) {
        size_t best, least;
        zk_cuda_signs t;
        bool kept;
        zk_cuda_signs_sum_bytes(&best, &least, device, G::group, n, together);
        ZK_CHECK(least > 0 && least <= best && best < zk_cuda_bytes_free(device) / 2);
        for (size_t room : {(size_t)512, least - 512, least, (best + least) / 2, best, 4 * best}) {
            zk_dptr hog = 0;
            place_bases(&t, p, together);
            ZK_CHECK_OK(zk_cuda_alloc(&hog, device, (zk_cuda_bytes_free(device) - room) & ~(size_t)511, "hog", &err),
                        err);
            const size_t free_bytes = zk_cuda_bytes_free(device);
            typename G::affine got;
            cuzk_status status = zk_cuda_signs_build(&kept, &t, device, &err);
            ZK_CHECK(status == CUZK_OK || (status == CUZK_OUT_OF_MEMORY && kept));
            ZK_CHECK(zk_cuda_bytes_free(device) == free_bytes);
            status == CUZK_OK ? built++ : refused++;
            memset(&got, 0xff, sizeof got);
            if (status != CUZK_OK) {
                zk_err_reset(&err);
                std::vector<typename G::affine> back(n);
                ZK_CHECK_OK(zk_cuda_download(device, back.data(), zk_cuda_signs_bases(&t), n * sizeof got, &err), err);
                ZK_CHECK(memcmp(back.data(), p.bases.data(), n * sizeof got) == 0);
                zk_cuda_free(device, hog);
                ZK_CHECK_OK(G::masked(&got, zk_cuda_signs_bases(&t), mask, n, &err), err);
                expect<G>(&got, &want, "bases of no table", room);
            } else {
                status = G::by_signs(&got, &t, mask, &err);
                ZK_CHECK((status == CUZK_OK) == (free_bytes >= least));
                if (status == CUZK_OK) expect<G>(&got, &want, "sum by signs, short of memory", room);
                zk_err_reset(&err);
                zk_cuda_free(device, hog);
                ZK_CHECK_OK(G::by_signs(&got, &t, mask, &err), err);
                expect<G>(&got, &want, "sum by signs", room);
            }
            zk_cuda_free(device, t.sums);
        }
    }
    ZK_CHECKF(built && refused, "%u built, %u refused", built, refused);
    zk_cuda_close(device);
    device = full;
}

void test_signs_limits() {
    open_once();
    cuzk_err err = {};
    bool kept = false;
    zk_cuda_signs t = {0, 100, 0, 5, {}};
    ZK_CHECK(zk_cuda_signs_build(&kept, &t, device, &err) == CUZK_UNSUPPORTED && kept);
    zk_err_reset(&err);
    t.together = 1;
    ZK_CHECK(zk_cuda_signs_build(&kept, &t, device, &err) == CUZK_UNSUPPORTED && kept);
    zk_err_reset(&err);
    t = zk_cuda_signs{0, (size_t)1 << 29, 0, 4, {}};
    ZK_CHECK(zk_cuda_signs_build(&kept, &t, device, &err) == CUZK_UNSUPPORTED && kept);
    const size_t porep = 130000000;
    for (unsigned k = 2; k <= 4; k++) ZK_CHECK(zk_cuda_signs_pay(porep, k) && !zk_cuda_signs_pay(30, k));
    ZK_CHECK(!zk_cuda_signs_pay(porep, 1) && !zk_cuda_signs_pay(porep, 5));
    ZK_CHECK(zk_cuda_signs_pay(((size_t)1 << 29) - 4, 4) && !zk_cuda_signs_pay((size_t)1 << 29, 4));
    ZK_CHECK(zk_cuda_signs_pay((size_t)3 << 27, 3) && !zk_cuda_signs_pay((size_t)3 << 28, 3));
}

/* Bases in host memory, pinned and not, in one slice and in several. */
template <class G> void streams() {
    open_once();
    cuzk_err err = {};
    for (size_t n : {(size_t)0, (size_t)1, (size_t)333, (size_t)3000}) {
        problem<G> p;
        make(&p, n);
        const zk_fr want = expected(p, n);
        void *pinned = nullptr;
        ZK_CHECK_OK(zk_cuda_host_alloc(&pinned, device, n * sizeof(typename G::affine), "bases", &err), err);
        if (n) memcpy(pinned, p.bases.data(), n * sizeof(typename G::affine));
        zk_dptr scalars = put(p.scalars.data(), n * sizeof(zk_fr));
        for (const typename G::affine *bases :
             {(const typename G::affine *)pinned, (const typename G::affine *)p.bases.data()}) {
            typename G::affine got;
            memset(&got, 0xff, sizeof got);
            poison();
            ZK_CHECK_OK(G::streamed(&got, bases, scalars, n, &err), err);
            expect<G>(&got, &want, "streamed", n);
        }
        zk_cuda_free(device, scalars);
        zk_cuda_host_free(device, pinned);
    }
    zk_cuda_host_free(device, nullptr);
}

/* The multiples themselves, also of special points. */
template <class G> void multiples() {
    open_once();
    cuzk_err err = {};
    const size_t n = 333;
    problem<G> p;
    make(&p, n);
    for (size_t at : {(size_t)0, (size_t)77, n - 1}) {
        p.bases[at] = typename G::affine{};
        p.logs[at] = zk_fr_zero;
    }
    p.bases[3] = p.bases[2];
    p.logs[3] = p.logs[2];
    const size_t bytes = n * sizeof(typename G::affine);
    for (unsigned distance : {1u, 64u, 77u}) {
        const unsigned planes = 3;
        zk_cuda_bases b = {put(p.bases.data(), bytes), 0, n, G::group, planes, distance};
        std::vector<typename G::affine> got(2 * n);
        ZK_CHECK_OK(zk_cuda_alloc(&b.multiples, device, 2 * bytes, "multiples", &err), err);
        poison();
        ZK_CHECK_OK(zk_cuda_bases_prepare(&b, device, &err), err);
        ZK_CHECK_OK(zk_cuda_download(device, got.data(), b.multiples, 2 * bytes, &err), err);
        zk_fr factor, log;
        zk_fr_from_u64(&factor, 2);
        zk_fr_pow_u64(&factor, &factor, distance);
        for (size_t i = 0; i < n; i += i < 5 ? 1 : 36) {
            zk_fr_mul(&log, &p.logs[i], &factor);
            expect<G>(&got[i], &log, "plane 1", i);
            zk_fr_mul(&log, &log, &factor);
            expect<G>(&got[n + i], &log, "plane 2", i);
        }
        zk_cuda_free(device, b.points);
        zk_cuda_free(device, b.multiples);
    }
}

void test_streams_g1() { streams<g1>(); }
void test_streams_g2() { streams<g2>(); }

void test_plan() {
    for (size_t n : {(size_t)1, (size_t)1000, (size_t)1700000, (size_t)1 << 27}) {
        for (int group = 0; group < 2; group++) {
            zk_cuda_bases b;
            const size_t point = group ? sizeof(zk_g2_affine) : sizeof(zk_g1_affine);
            double before = zk_cuda_bases_plan(&b, group, n, 0);
            ZK_CHECK(b.planes == 1 && b.n == n && b.group == group && zk_cuda_bases_bytes(&b) == 0);
            for (size_t planes = 1; planes < 20; planes++) {
                const double now = zk_cuda_bases_plan(&b, group, n, planes * n * point);
                ZK_CHECK(b.planes <= planes + 1 && b.planes * n < (size_t)1 << 30);
                ZK_CHECK(zk_cuda_bases_bytes(&b) == (b.planes - 1) * n * point);
                ZK_CHECK(b.planes == 1 || (b.planes * b.distance >= 255 && (b.planes - 1) * b.distance < 255));
                ZK_CHECK(now <= before);
                before = now;
            }
        }
    }
    zk_cuda_bases none;
    ZK_CHECK(zk_cuda_bases_plan(&none, 0, 0, 1000) == 0 && none.planes == 1);
}

/* A pool so small that the MSM must work in slices, and one in which nothing fits. */
template <class G> void short_memory() {
    cuzk_err err = {};
    zk_cuda *full = device;
    device = nullptr;
    ZK_CHECK_OK(zk_cuda_open(&device, 0, (size_t)(EMULATED ? 200 : 400) << 20, &err), err);
    const size_t n = EMULATED ? 1100 : 30000, bytes = n * sizeof(typename G::affine);
    problem<G> p;
    make(&p, n);
    zk_cuda_bases b = {put(p.bases.data(), bytes), 0, n, G::group, 2, 128};
    zk_dptr scalars = put(p.scalars.data(), n * sizeof(zk_fr));
    std::vector<uint64_t> bits((n + 63) / 64, ~(uint64_t)0 / 3);
    zk_dptr mask = put(bits.data(), bits.size() * 8);
    ZK_CHECK_OK(zk_cuda_alloc(&b.multiples, device, bytes, "multiples", &err), err);
    ZK_CHECK_OK(zk_cuda_bases_prepare(&b, device, &err), err);
    zk_fr sum = zk_fr_zero;
    const zk_fr want = expected(p, n);
    for (size_t i = 0; i < n; i++)
        if (bits[i / 64] >> i % 64 & 1) zk_fr_add(&sum, &sum, &p.logs[i]);
    for (int kind = 0; kind < 7; kind++) { /* 5, 6: an MSM and a streamed one with hexagons */
        size_t best, least;
        tune(kind < 5 ? 0 : ZK_CUDA_HEXAGONS + (EMULATED ? 20 : 18), 0, 0);
        b.planes = kind == 1 ? 2 : 1;
        if (kind < 2 || kind == 5)
            zk_cuda_msm_bytes(&best, &least, device, &b);
        else if (kind == 2)
            zk_cuda_masked_sum_bytes(&best, &least, device, G::group, n);
        else
            zk_cuda_streamed_bytes(&best, &least, device, G::group, kind == 4, n);
        ZK_CHECKF(least <= best && best < zk_cuda_bytes_free(device), "%d: %zu %zu of %zu", kind, least, best,
                  zk_cuda_bytes_free(device));
        for (size_t room : {best, (best + least) / 2, least, least - 512}) {
            zk_dptr hog = 0;
            ZK_CHECK_OK(zk_cuda_alloc(&hog, device, (zk_cuda_bytes_free(device) - room) & ~(size_t)511, "hog", &err),
                        err);
            const size_t free_bytes = zk_cuda_bytes_free(device);
            typename G::affine got;
            memset(&got, 0xff, sizeof got);
            cuzk_err failure = {};
            const cuzk_status status = kind == 0 || kind == 5 ? G::msm(&got, b.points, scalars, n, &failure)
                                       : kind == 1            ? G::stored(&got, &b, scalars, n, &failure)
                                       : kind == 2            ? G::masked(&got, b.points, mask, n, &failure)
                                       : kind == 3 || kind == 6
                                           ? G::streamed(&got, p.bases.data(), scalars, n, &failure)
                                           : G::masked_streamed(&got, p.bases.data(), mask, n, &failure);
            ZK_CHECK(status == CUZK_OK || status == CUZK_OUT_OF_MEMORY);
            ZK_CHECKF((status == CUZK_OK) == (free_bytes >= least), "%d: %zu bytes, least %zu", kind, free_bytes,
                      least);
            if (status == CUZK_OK) expect<G>(&got, kind == 2 || kind == 4 ? &sum : &want, "short of memory", room);
            ZK_CHECK(zk_cuda_bytes_free(device) == free_bytes);
            zk_cuda_free(device, hog);
        }
    }
    tune(0, 0, 0);
    zk_cuda_close(device);
    device = full;
}

void test_msm_g1_sizes() { sizes<g1>(); }
void test_msm_g2_sizes() { sizes<g2>(); }
void test_msm_g1_scalars() { hard_scalars<g1>(); }
void test_msm_g2_scalars() { hard_scalars<g2>(); }
void test_msm_g1_points() { hard_points<g1>(); }
void test_msm_g2_points() { hard_points<g2>(); }
void test_multiples_g1() { multiples<g1>(); }
void test_multiples_g2() { multiples<g2>(); }
void test_short_memory_g1() { short_memory<g1>(); }
void test_short_memory_g2() { short_memory<g2>(); }
void test_masked_g1() { masks<g1>(); }
void test_masked_g2() { masks<g2>(); }
void test_signs_sizes_g1() { signs_sizes<g1>(); }
void test_signs_sizes_g2() { signs_sizes<g2>(); }
void test_signs_points_g1() { signs_points<g1>(); }
void test_signs_points_g2() { signs_points<g2>(); }
void test_signs_short_memory_g1() { signs_short_memory<g1>(); }
void test_signs_short_memory_g2() { signs_short_memory<g2>(); }
} // namespace

ZK_TEST_MAIN(ZK_CASE(test_msm_g1_sizes), ZK_CASE(test_msm_g2_sizes), ZK_CASE(test_msm_g1_scalars),
             ZK_CASE(test_msm_g2_scalars), ZK_CASE(test_msm_g1_points), ZK_CASE(test_msm_g2_points),
             ZK_CASE(test_multiples_g1), ZK_CASE(test_multiples_g2), ZK_CASE(test_plan), ZK_CASE(test_streams_g1),
             ZK_CASE(test_streams_g2), ZK_CASE(test_masked_g1), ZK_CASE(test_masked_g2), ZK_CASE(test_short_memory_g1),
             ZK_CASE(test_short_memory_g2), ZK_CASE(test_signs_sizes_g1), ZK_CASE(test_signs_sizes_g2),
             ZK_CASE(test_signs_points_g1), ZK_CASE(test_signs_points_g2), ZK_CASE(test_signs_short_memory_g1),
             ZK_CASE(test_signs_short_memory_g2), ZK_CASE(test_signs_limits))
