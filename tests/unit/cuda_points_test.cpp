/* Points between host and device, and multiples of the generator, of the CUDA code against src/curve. Runs in the
 * emulator (small sizes) and on a device (all sizes).
 */
extern "C" {
#include "base/pool.h"
#include "curve/curve.h"
#include "hash/chacha.h"
}
#include "../../cuda/cuda_kernels.h"
#include "zk_test.h"

#include <utility>
#include <vector>

namespace {
#if defined(ZK_CUDA_EMULATE)
constexpr bool EMULATED = true;
constexpr size_t POOL_BYTES = (size_t)256 << 20;
#else
constexpr bool EMULATED = false;
constexpr size_t POOL_BYTES = (size_t)4 << 30;
#endif

uint64_t rng = 77;
zk_cuda *device;
zk_pool *threads;

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
    static constexpr int group = 0;
    static constexpr size_t bytes = ZK_G1_UNCOMPRESSED_BYTES, compressed = ZK_G1_COMPRESSED_BYTES;
    static const affine *generator() { return &zk_g1_generator; }
    static void from_affine(jacobian *r, const affine *a) { zk_g1_from_affine(r, a); }
    static void to_affine(affine *r, const jacobian *a) { zk_g1_to_affine(r, a); }
    static void add(jacobian *r, const jacobian *a, const affine *b) { zk_g1_add_affine(r, a, b); }
    static void twice(jacobian *r, const jacobian *a) { zk_g1_double(r, a); }
    static void mul(jacobian *r, const jacobian *a, const zk_fr *k) { zk_g1_mul_var(r, a, k); }
    static void neg(affine *r, const affine *a) { zk_g1_affine_neg(r, a); }
    static bool infinity(const jacobian *a) { return zk_g1_is_infinity(a); }
    static bool in_subgroup(const affine *a) { return zk_g1_affine_is_in_subgroup(a); }
    static void batch(affine *r, const jacobian *a, size_t n) { zk_g1_batch_to_affine(r, a, n); }
    static void serialize(uint8_t *out, const affine *a) { zk_g1_serialize(out, a); }
    static zk_point_verdict deserialize(affine *r, const uint8_t *in) { return zk_g1_deserialize(r, in, false); }
    static zk_point_verdict decompress(affine *r, const uint8_t *in) { return zk_g1_decompress(r, in, false); }
};
struct g2 {
    typedef zk_g2_affine affine;
    typedef zk_g2 jacobian;
    static constexpr int group = 1;
    static constexpr size_t bytes = ZK_G2_UNCOMPRESSED_BYTES, compressed = ZK_G2_COMPRESSED_BYTES;
    static const affine *generator() { return &zk_g2_generator; }
    static void from_affine(jacobian *r, const affine *a) { zk_g2_from_affine(r, a); }
    static void to_affine(affine *r, const jacobian *a) { zk_g2_to_affine(r, a); }
    static void add(jacobian *r, const jacobian *a, const affine *b) { zk_g2_add_affine(r, a, b); }
    static void twice(jacobian *r, const jacobian *a) { zk_g2_double(r, a); }
    static void mul(jacobian *r, const jacobian *a, const zk_fr *k) { zk_g2_mul_var(r, a, k); }
    static void neg(affine *r, const affine *a) { zk_g2_affine_neg(r, a); }
    static bool infinity(const jacobian *a) { return zk_g2_is_infinity(a); }
    static bool in_subgroup(const affine *a) { return zk_g2_affine_is_in_subgroup(a); }
    static void batch(affine *r, const jacobian *a, size_t n) { zk_g2_batch_to_affine(r, a, n); }
    static void serialize(uint8_t *out, const affine *a) { zk_g2_serialize(out, a); }
    static zk_point_verdict deserialize(affine *r, const uint8_t *in) { return zk_g2_deserialize(r, in, false); }
    static zk_point_verdict decompress(affine *r, const uint8_t *in) { return zk_g2_decompress(r, in, false); }
};

void open_once() {
    cuzk_err err = {};
    if (!device) ZK_CHECK_OK(zk_cuda_open(&device, 0, POOL_BYTES, &err), err);
    if (!threads) ZK_CHECK_OK(zk_pool_create(&threads, 3, &err), err);
}

/* Room for `bytes` and a guard behind it, all 0xff. */
constexpr size_t GUARD = 512;
zk_dptr room(size_t bytes) {
    cuzk_err err = {};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, bytes + GUARD, "test output", &err), err);
    ZK_CHECK_OK(zk_cuda_fill(device, d, 0xff, bytes + GUARD, &err), err);
    return d;
}
zk_dptr put(const void *data, size_t bytes) {
    cuzk_err err = {};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, bytes, "test input", &err), err);
    if (bytes) ZK_CHECK_OK(zk_cuda_upload(device, d, data, bytes, &err), err);
    return d;
}
/* What lies there; frees it. */
template <class T> std::vector<T> get(zk_dptr d, size_t n, bool guarded = true) {
    cuzk_err err = {};
    std::vector<T> r(n);
    uint8_t guard[GUARD];
    if (n) ZK_CHECK_OK(zk_cuda_download(device, r.data(), d, n * sizeof(T), &err), err);
    if (guarded) {
        ZK_CHECK_OK(zk_cuda_download(device, guard, d + n * sizeof(T), GUARD, &err), err);
        for (uint8_t byte : guard) ZK_CHECK(byte == 0xff);
    }
    zk_cuda_free(device, d);
    return r;
}
/* Whatever the kernels take from the pool next starts as 0xff. */
void poison() {
    cuzk_err err = {};
    zk_dptr d = 0;
    size_t bytes = zk_cuda_bytes_free(device) / 2;
    if (EMULATED) bytes = (size_t)4 << 20;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, bytes, "poison", &err), err);
    ZK_CHECK_OK(zk_cuda_fill(device, d, 0xff, bytes, &err), err);
    zk_cuda_free(device, d);
}

/* n points a + i b. */
template <class G> std::vector<typename G::affine> points_of(size_t n) {
    zk_fr a = random_fr(), b = random_fr();
    typename G::jacobian g, at, step;
    typename G::affine step_affine;
    G::from_affine(&g, G::generator());
    G::mul(&at, &g, &a);
    G::mul(&step, &g, &b);
    G::to_affine(&step_affine, &step);
    std::vector<typename G::jacobian> points(n);
    std::vector<typename G::affine> r(n);
    for (size_t i = 0; i < n; i++) {
        points[i] = at;
        G::add(&at, &at, &step_affine);
    }
    if (n) G::batch(r.data(), points.data(), n);
    return r;
}
template <class G> std::vector<uint8_t> encoded_of(const std::vector<typename G::affine> &points) {
    std::vector<uint8_t> r(points.size() * G::bytes);
    for (size_t i = 0; i < points.size(); i++) G::serialize(&r[i * G::bytes], &points[i]);
    return r;
}

enum mask_kind { NO_MASK, NO_BITS, ALL_BITS, RANDOM_BITS, ONE_BIT, MASK_KINDS };
std::vector<uint64_t> mask_of(mask_kind kind, size_t n) {
    std::vector<uint64_t> words((n + 63) / 64);
    for (uint64_t &w : words) w = kind == ALL_BITS ? ~(uint64_t)0 : kind == RANDOM_BITS ? zk_test_rand(&rng) : 0;
    if (kind == ONE_BIT && n) words[(n - 1) / 64] = (uint64_t)1 << ((n - 1) % 64);
    /* bits beyond the last mean nothing */
    if (kind != NO_MASK && n % 64) words.back() |= ~(uint64_t)0 << (n % 64);
    return words;
}
bool is_set(const std::vector<uint64_t> &words, size_t i) { return (words[i / 64] >> (i % 64)) & 1; }
template <class T>
void split(std::vector<T> *full, std::vector<T> *bits, const std::vector<T> &all, const std::vector<uint64_t> &words,
           mask_kind kind) {
    full->clear();
    bits->clear();
    for (size_t i = 0; i < all.size(); i++) (kind != NO_MASK && is_set(words, i) ? bits : full)->push_back(all[i]);
}
template <class T> void expect(const std::vector<T> &got, const std::vector<T> &want, const char *what) {
    ZK_CHECK(got.size() == want.size());
    for (size_t i = 0; i < got.size(); i++)
        ZK_CHECKF(memcmp(&got[i], &want[i], sizeof(T)) == 0, "%s, element %zu of %zu", what, i, got.size());
}

template <class G> void decode_sizes() {
    typedef typename G::affine affine;
    open_once();
    static const size_t small[] = {0, 1, 2, 63, 64, 65, 191, 192, 193, 447, 448, 449, 1500};
    std::vector<size_t> sizes(small, small + sizeof small / sizeof small[0]);
    if (!EMULATED) sizes.push_back(((size_t)1 << 20) + 17);
    const std::vector<affine> all = points_of<G>(sizes.back());
    for (size_t n : sizes) {
        const std::vector<affine> points(all.begin(), all.begin() + (ptrdiff_t)n);
        const std::vector<uint8_t> encoded = encoded_of<G>(points);
        for (int kind = 0; kind < MASK_KINDS; kind++) {
            cuzk_err err = {};
            std::vector<affine> full, bits;
            const std::vector<uint64_t> words = mask_of((mask_kind)kind, n);
            split(&full, &bits, points, words, (mask_kind)kind);
            zk_dptr to_full = room(full.size() * sizeof(affine)), to_bits = room(bits.size() * sizeof(affine));
            /* any alignment of the source */
            std::vector<uint8_t> file(encoded.size() + 8);
            const size_t shift = (size_t)kind;
            if (n) memcpy(file.data() + shift, encoded.data(), encoded.size());
            size_t bad = 12345;
            poison();
            ZK_CHECK_OK(zk_cuda_points_decode(&bad, device, G::group, to_full, to_bits, file.data() + shift, n,
                                              kind == NO_MASK ? nullptr : words.data(), kind & 1 ? threads : nullptr,
                                              &err),
                        err);
            ZK_CHECK(bad == n);
            expect(get<affine>(to_full, full.size()), full, "full points");
            expect(get<affine>(to_bits, bits.size()), bits, "bit points");
        }
    }
}

/* Field modulus, big-endian, plus a small number. */
void put_modulus(uint8_t *out, int plus) {
    static const uint8_t p[48] = {0x1a, 0x01, 0x11, 0xea, 0x39, 0x7f, 0xe6, 0x9a, 0x4b, 0x1b, 0xa7, 0xb6,
                                  0x43, 0x4b, 0xac, 0xd7, 0x64, 0x77, 0x4b, 0x84, 0xf3, 0x85, 0x12, 0xbf,
                                  0x67, 0x30, 0xd2, 0xa0, 0xf6, 0xb0, 0xf6, 0x24, 0x1e, 0xab, 0xff, 0xfe,
                                  0xb1, 0x53, 0xff, 0xff, 0xb9, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xaa, 0xab};
    memcpy(out, p, 48);
    out[47] = (uint8_t)(p[47] + plus);
}

template <class G> size_t least_refused(const std::vector<uint8_t> &encoded, const std::vector<uint64_t> *words) {
    cuzk_err err = {};
    const size_t n = encoded.size() / G::bytes;
    size_t bad = 12345;
    zk_dptr to = room(n * G::bytes), other = room(n * G::bytes);
    ZK_CHECK_OK(zk_cuda_points_decode(&bad, device, G::group, to, other, encoded.data(), n,
                                      words ? words->data() : nullptr, threads, &err),
                err);
    zk_cuda_free(device, to);
    zk_cuda_free(device, other);
    return bad;
}

template <class G> void decode_refusals() {
    typedef typename G::affine affine;
    open_once();
    const size_t n = 1000;
    const std::vector<uint8_t> good = encoded_of<G>(points_of<G>(n));
    const std::vector<uint64_t> words = mask_of(RANDOM_BITS, n);
    const int coordinates = (int)(G::bytes / 48);
    const int kinds = 6 + 3 * coordinates;
    static const size_t at[] = {0, 1, 63, 64, 447, 448, 640, n - 1};
    for (int kind = 0; kind < kinds; kind++) {
        const size_t i = at[(size_t)kind % (sizeof at / sizeof at[0])];
        std::vector<uint8_t> e = good;
        uint8_t *p = &e[i * G::bytes];
        if (kind < 3) {
            p[0] |= (uint8_t)(0x20 << kind);
        } else if (kind == 3) { /* infinity, well encoded */
            memset(p, 0, G::bytes);
            p[0] = 0x40;
        } else if (kind == 4) {
            memset(p, 0, G::bytes);
        } else if (kind == 5) {
            memset(p, 0xff, G::bytes);
        } else {
            uint8_t *c = p + (kind - 6) / 3 * 48;
            if (kind % 3 == 0) put_modulus(c, 0);
            if (kind % 3 == 1) put_modulus(c, 1);
            if (kind % 3 == 2) c[47] ^= 1; /* another number below p: not on the curve */
        }
        affine unused;
        const zk_point_verdict verdict = G::deserialize(&unused, p);
        ZK_CHECKF(kind == 3 ? verdict == ZK_POINT_OK : verdict != ZK_POINT_OK, "kind %d", kind);
        ZK_CHECKF(least_refused<G>(e, kind & 1 ? &words : nullptr) == i, "kind %d at %zu", kind, i);
        /* and the first of several */
        e[(n - 1) * G::bytes] |= 0x80;
        if (i > 0) e[(i - 1) * G::bytes + G::bytes - 1] ^= 1;
        ZK_CHECKF(least_refused<G>(e, &words) == (i > 0 ? i - 1 : i), "kind %d before %zu", kind, i);
    }
    /* A coordinate at or above p whose residue would be a point: only its form is wrong. */
    std::vector<uint8_t> e = good;
    uint8_t *y = &e[5 * G::bytes + G::bytes - 48];
    unsigned carry = 0;
    uint8_t p[48];
    put_modulus(p, 0);
    for (int k = 47; k >= 0; k--) {
        const unsigned sum = (unsigned)y[k] + p[k] + carry;
        y[k] = (uint8_t)sum;
        carry = sum >> 8;
    }
    ZK_CHECK(carry == 0);
    ZK_CHECK(least_refused<G>(e, nullptr) == 5);
}

template <class G> void encode_sizes() {
    typedef typename G::affine affine;
    open_once();
    for (size_t n : {(size_t)0, (size_t)1, (size_t)2, (size_t)127, (size_t)128, (size_t)129, (size_t)1000}) {
        cuzk_err err = {};
        std::vector<affine> points = points_of<G>(n);
        for (size_t i = 0; i < n; i += 5) points[i] = affine{}; /* infinity */
        zk_dptr from = put(points.data(), n * sizeof(affine)), to = room(n * G::bytes);
        ZK_CHECK_OK(zk_cuda_points_encode(device, G::group, to, from, n, &err), err);
        zk_cuda_free(device, from);
        expect(get<uint8_t>(to, n * G::bytes), encoded_of<G>(points), "encoded");
    }
}

/* Edges, then random ones. */
std::vector<zk_fr> scalars_of(size_t n) {
    std::vector<zk_fr> r(n);
    zk_fr two, half;
    zk_fr_from_u64(&two, 2);
    half = two;
    ZK_CHECK(zk_fr_inv_var(&half, &half)); /* (r + 1)/2: the smallest scalar that is negated */
    for (size_t i = 0; i < n; i++) {
        zk_fr x = random_fr();
        const size_t k = i / 4;
        if (i == 0) x = zk_fr_zero;
        if (i == 1) x = zk_fr_one;
        if (i == 2) zk_fr_neg(&x, &zk_fr_one);
        if (i == 3) x = half;
        if (i == 4) zk_fr_sub(&x, &half, &zk_fr_one);
        if (i >= 5 && i < 20) zk_fr_from_u64(&x, i - 3);
        if (i >= 20 && k < 255) { /* 2^k, 2^k - 1, their negatives: the extreme digits of every window */
            zk_fr_pow_u64(&x, &two, k);
            if (i & 1) zk_fr_sub(&x, &x, &zk_fr_one);
            if (i & 2) zk_fr_neg(&x, &x);
        }
        r[i] = x;
    }
    return r;
}
template <class G> std::vector<typename G::affine> multiples_of(const std::vector<zk_fr> &scalars) {
    const size_t n = scalars.size();
    std::vector<typename G::jacobian> points(n);
    std::vector<typename G::affine> r(n);
    typename G::jacobian g;
    G::from_affine(&g, G::generator());
    for (size_t i = 0; i < n; i++) G::mul(&points[i], &g, &scalars[i]);
    if (n) G::batch(r.data(), points.data(), n);
    return r;
}

struct source {
    const zk_fr *scalars;
    size_t n, next;
};
void copy_scalars(void *ctx, zk_fr *out, size_t first, size_t n) {
    source *s = (source *)ctx;
    ZK_CHECK(first == s->next && n <= s->n - first);
    s->next += n;
    memcpy(out, s->scalars + first, n * sizeof *out);
}

/* All uses of one table. */
template <class G> void multiples_with(uint64_t n_expected, const std::vector<zk_fr> &scalars) {
    typedef typename G::affine affine;
    cuzk_err err = {};
    const size_t most = scalars.size();
    const std::vector<affine> all = multiples_of<G>(scalars);
    zk_cuda_multiples *m = nullptr;
    const size_t free_before = zk_cuda_bytes_free(device);
    poison();
    ZK_CHECK_OK(zk_cuda_multiples_create(&m, device, G::group, n_expected, &err), err);
    for (size_t n : {(size_t)0, (size_t)1, (size_t)65, most}) {
        const std::vector<affine> want(all.begin(), all.begin() + (ptrdiff_t)n);
        zk_dptr from = put(scalars.data(), n * sizeof(zk_fr)), to = room(n * sizeof(affine));
        poison();
        ZK_CHECK_OK(zk_cuda_multiples_points(m, to, from, n, &err), err);
        zk_cuda_free(device, from);
        expect(get<affine>(to, n), want, "multiples");

        std::vector<uint8_t> encoded(n * G::bytes + 1, 0xee);
        ZK_CHECK_OK(zk_cuda_multiples_encode(m, encoded.data(), scalars.data(), n, &err), err);
        ZK_CHECK(encoded.back() == 0xee);
        encoded.pop_back();
        expect(encoded, encoded_of<G>(want), "encoded multiples");

        for (int kind = 0; kind < MASK_KINDS; kind++) {
            std::vector<affine> full, bits;
            const std::vector<uint64_t> words = mask_of((mask_kind)kind, n);
            split(&full, &bits, want, words, (mask_kind)kind);
            zk_dptr to_full = room(full.size() * sizeof(affine)), to_bits = room(bits.size() * sizeof(affine));
            source s{scalars.data(), n, 0};
            size_t bad = 12345, zero = 0;
            ZK_CHECK_OK(zk_cuda_multiples_split(&bad, m, to_full, to_bits, copy_scalars, &s, n,
                                                kind == NO_MASK ? nullptr : words.data(), &err),
                        err);
            while (zero < n && !zk_fr_is_zero(&scalars[zero])) zero++;
            ZK_CHECKF(bad == zero && s.next == n, "bad %zu", bad);
            expect(get<affine>(to_full, full.size()), full, "full multiples");
            expect(get<affine>(to_bits, bits.size()), bits, "bit multiples");
        }
    }
    zk_cuda_multiples_destroy(m);
    ZK_CHECK(zk_cuda_bytes_free(device) >= free_before);
}

template <class G> void multiples() {
    open_once();
    std::vector<zk_fr> scalars = scalars_of(1300);
    multiples_with<G>(scalars.size(), scalars);
    for (zk_fr &s : scalars) s = zk_fr_zero;
    scalars.resize(520);
    multiples_with<G>(1, scalars); /* narrowest windows */
    for (zk_fr &s : scalars) s = random_fr();
    scalars[515] = zk_fr_zero; /* in the second slice */
    multiples_with<G>(100000, scalars);
}

/* The tables of large keys: windows of 16 bits. */
template <class G> void wide_windows() {
    open_once();
    multiples_with<G>((uint64_t)1 << 27, scalars_of(EMULATED ? 1100 : 20000));
}

/* [k]P, k big-endian */
template <class G> typename G::jacobian times(const typename G::affine &p, const std::vector<uint8_t> &k) {
    typename G::jacobian r;
    typename G::affine infinity = {};
    G::from_affine(&r, &infinity);
    for (uint8_t byte : k)
        for (int bit = 7; bit >= 0; bit--) {
            G::twice(&r, &r);
            if ((byte >> bit) & 1) G::add(&r, &r, &p);
        }
    return r;
}
std::vector<uint8_t> from_hex(const char *hex) {
    std::vector<uint8_t> r;
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned v;
        ZK_CHECK(sscanf(hex, "%2x", &v) == 1);
        r.push_back((uint8_t)v);
    }
    return r;
}
/* k / q, exact */
std::vector<uint8_t> divided(std::vector<uint8_t> k, unsigned q) {
    unsigned rest = 0;
    for (uint8_t &byte : k) {
        const unsigned v = rest * 256 + byte;
        byte = (uint8_t)(v / q);
        rest = v % q;
    }
    ZK_CHECK(rest == 0);
    return k;
}
const char *order_r = "73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001";
const char *cofactor_1 = "396c8c005555e1568c00aaab0000aaab";
const char *cofactor_2 =
    "05d543a95414e7f1091d50792876a202cd91de4547085abaa68a205b2e5a7ddfa628f1cb4d9e82ef21537e293a6691"
    "ae1616ec6e786f0c70cf1c38e31c7238e5";

/* A point of the curve outside the subgroup, of no special order. */
template <class G> typename G::affine any_point() {
    typename G::affine p = {};
    for (;;) {
        uint8_t bytes[G::compressed];
        for (uint8_t &b : bytes) b = (uint8_t)zk_test_rand(&rng);
        bytes[0] = 0x80 | (bytes[0] & 0x0f);
        if (G::compressed > 48) bytes[48] &= 0x0f;
        if (G::decompress(&p, bytes) == ZK_POINT_OK && !G::in_subgroup(&p)) return p;
    }
}
/* A point of order q (3 in G1, 13 in G2). */
template <class G> typename G::affine point_of_order(unsigned q) {
    const std::vector<uint8_t> h = from_hex(G::group == 0 ? cofactor_1 : cofactor_2);
    for (;;) {
        typename G::affine p = any_point<G>(), t;
        typename G::jacobian j = times<G>(p, from_hex(order_r));
        G::to_affine(&p, &j);
        std::vector<uint8_t> rest = h;
        while ([&] {
            unsigned v = 0;
            for (uint8_t byte : rest) v = (v * 256 + byte) % q;
            return v == 0;
        }())
            rest = divided(rest, q);
        j = times<G>(p, rest);
        if (G::infinity(&j)) continue;
        for (;;) { /* from a power of q down to q */
            G::to_affine(&t, &j);
            j = times<G>(t, {(uint8_t)q});
            if (G::infinity(&j)) return t;
        }
    }
}

void seed_bytes(uint8_t bytes[32], uint64_t seed) {
    for (int k = 0; k < 4; k++) {
        const uint64_t v = zk_test_rand(&seed);
        memcpy(bytes + 8 * k, &v, 8);
    }
}
template <class G> bool in_subgroup(const std::vector<typename G::affine> &points, uint64_t seed) {
    cuzk_err err = {};
    uint8_t bytes[32];
    seed_bytes(bytes, seed);
    zk_dptr d = put(points.data(), points.size() * sizeof points[0]);
    bool good = points.size() % 2;
    poison();
    ZK_CHECK_OK(zk_cuda_points_subgroup(&good, device, G::group, d, points.size(), bytes, &err), err);
    zk_cuda_free(device, d);
    return good;
}

template <class G> void subgroup() {
    typedef typename G::affine affine;
    open_once();
    const unsigned q = G::group == 0 ? 3 : 13;
    const affine small = point_of_order<G>(q), other = any_point<G>();
    ZK_CHECK(!G::in_subgroup(&small) && !G::in_subgroup(&other));
    for (size_t n : {(size_t)0, (size_t)1, (size_t)2, (size_t)65, (size_t)700}) {
        const std::vector<affine> good = points_of<G>(n);
        ZK_CHECKF(in_subgroup<G>(good, n), "%zu points", n);
        for (size_t i : {(size_t)0, n / 2, n - 1}) {
            if (n == 0) continue;
            std::vector<affine> bad = good;
            bad[i] = other;
            ZK_CHECKF(!in_subgroup<G>(bad, i), "point %zu of %zu", i, n);
            /* only a part of small order outside */
            typename G::jacobian j;
            G::from_affine(&j, &good[i]);
            G::add(&j, &j, &small);
            G::to_affine(&bad[i], &j);
            ZK_CHECKF(!in_subgroup<G>(bad, i + 1), "order %u, point %zu of %zu", q, i, n);
            bad[i] = small;
            ZK_CHECKF(!in_subgroup<G>(bad, i + 2), "alone of order %u, point %zu of %zu", q, i, n);
            if (n < 3) continue;
            /* parts that cancel in the sum of all */
            bad = good;
            bad[i] = small;
            G::neg(&bad[(i + n / 3) % n], &small);
            ZK_CHECKF(!in_subgroup<G>(bad, i + 3), "cancelling parts, point %zu of %zu", i, n);
        }
    }
    /* special positions: one point everywhere, with its negative, with infinity */
    for (size_t n : {(size_t)90, (size_t)600}) {
        for (const affine &p : {points_of<G>(1)[0], small}) {
            std::vector<affine> points(n, p);
            const bool good = G::in_subgroup(&p);
            ZK_CHECKF(in_subgroup<G>(points, n) == good, "%zu equal points", n);
            for (size_t i = 0; i < n; i += 2) G::neg(&points[i], &p);
            for (size_t i = 0; i < n; i += 5) points[i] = affine{};
            ZK_CHECKF(in_subgroup<G>(points, n) == good, "%zu opposite points", n);
        }
    }
}

/* How the check deals its bits (points_subgroup.cuh). */
constexpr size_t SUMS = 40, PASS_BITS = EMULATED ? 7 : 14, DIRECT = EMULATED ? 100 : 1 << 18;
void key_stream(zk_chacha *c, const uint8_t seed[32], uint32_t stream, uint64_t position) {
    uint8_t nonce[12] = {0};
    memcpy(nonce + 4, &stream, 4);
    zk_chacha_init_ietf(c, 12, seed, nonce);
    zk_chacha_seek(c, position);
}
/* The 40 bits of point i among n. */
std::vector<unsigned> subsets_of(size_t i, size_t n, const uint8_t seed[32]) {
    std::vector<unsigned> r;
    zk_chacha c;
    if (n <= DIRECT) {
        for (uint32_t j = 0; j < SUMS; j++) {
            uint8_t byte;
            key_stream(&c, seed, j, i / 8);
            zk_chacha_read(&c, &byte, 1);
            r.push_back((byte >> (i % 8)) & 1);
        }
        return r;
    }
    for (uint32_t pass = 0; r.size() < SUMS; pass++) {
        uint32_t word;
        key_stream(&c, seed, pass, 4 * (uint64_t)i);
        zk_chacha_read(&c, &word, 4);
        for (size_t k = 0; k < PASS_BITS && r.size() < SUMS; k++) r.push_back((word >> k) & 1);
    }
    return r;
}

/* Coefficients mod q of the columns whose combination is `want`, not all zero; columns: [m][SUMS], m > SUMS. */
std::vector<unsigned> combination(const std::vector<std::vector<unsigned>> &columns, std::vector<unsigned> want,
                                  unsigned q) {
    const size_t m = columns.size();
    std::vector<std::vector<unsigned>> rows(SUMS, std::vector<unsigned>(m + 1));
    std::vector<size_t> pivots;
    for (size_t j = 0; j < SUMS; j++) {
        for (size_t i = 0; i < m; i++) rows[j][i] = columns[i][j];
        rows[j][m] = want[j];
    }
    for (size_t i = 0, j = 0; i < m && j < SUMS; i++) {
        size_t k = j;
        while (k < SUMS && rows[k][i] == 0) k++;
        if (k == SUMS) continue;
        std::swap(rows[j], rows[k]);
        unsigned inverse = 1;
        while (inverse * rows[j][i] % q != 1) inverse++;
        for (unsigned &v : rows[j]) v = v * inverse % q;
        for (k = 0; k < SUMS; k++) {
            const unsigned factor = rows[k][i];
            for (size_t l = 0; k != j && factor && l <= m; l++)
                rows[k][l] = (rows[k][l] + (q - factor) * rows[j][l]) % q;
        }
        pivots.push_back(i);
        j++;
    }
    ZK_CHECK(pivots.size() == SUMS);
    std::vector<unsigned> r(m, 0);
    size_t spare = 0; /* a free coefficient, set to 1 */
    while (spare < SUMS && pivots[spare] == spare) spare++;
    r[spare] = 1;
    for (size_t j = 0; j < SUMS; j++) r[pivots[j]] = (rows[j][m] + q - rows[j][spare]) % q;
    return r;
}

/* Every one of the 40 sums counts: parts of order q, placed so that all sums but one are good, are found by that one;
 * placed so that all are good, they are missed. */
template <class G> void subset_strength(size_t n, const std::vector<size_t> &sums) {
    typedef typename G::affine affine;
    open_once();
    const unsigned q = G::group == 0 ? 3 : 13;
    const size_t m = 60;
    const affine small = point_of_order<G>(q);
    const std::vector<affine> good = points_of<G>(n);
    const uint64_t seed = zk_test_rand(&rng);
    uint8_t bytes[32];
    seed_bytes(bytes, seed);
    std::vector<size_t> places(m);
    std::vector<std::vector<unsigned>> columns;
    for (size_t k = 0; k < m; k++) {
        places[k] = k * (n - 1) / (m - 1);
        columns.push_back(subsets_of(places[k], n, bytes));
    }
    for (size_t sum : sums) {
        std::vector<affine> points = good;
        std::vector<unsigned> want(SUMS, 0);
        if (sum < SUMS) want[sum] = 1;
        const std::vector<unsigned> parts = combination(columns, want, q);
        for (size_t k = 0; k < m; k++) {
            typename G::jacobian j;
            G::from_affine(&j, &good[places[k]]);
            for (unsigned t = 0; t < parts[k]; t++) G::add(&j, &j, &small);
            G::to_affine(&points[places[k]], &j);
        }
        ZK_CHECKF(in_subgroup<G>(points, seed) == (sum == SUMS), "sum %zu of %zu points", sum, n);
    }
}
template <class G> void strength() {
    std::vector<size_t> all;
    for (size_t j = 0; j <= SUMS; j++) all.push_back(j);
    const bool few = EMULATED;
    subset_strength<G>(few ? 700 : DIRECT + 1000, few ? std::vector<size_t>{0, 5, 6, 7, 34, 39, SUMS} : all);
    subset_strength<G>(few ? 90 : 5000, few ? std::vector<size_t>{0, 39, SUMS} : all);
}

/* A pool that leaves little room: smaller slices and tables, the same points; then none. */
template <class G> void short_memory() {
    typedef typename G::affine affine;
    cuzk_err err = {};
    open_once();
    zk_cuda *roomy = device;
    device = nullptr;
    ZK_CHECK_OK(zk_cuda_open(&device, 0, (size_t)320 << 20, &err), err);
    const size_t n = EMULATED ? 700 : (size_t)1 << 20;
    zk_cuda_multiples *m = nullptr;
    ZK_CHECK_OK(zk_cuda_multiples_create(&m, device, G::group, EMULATED ? 500 : n, &err), err);
    zk_dptr to = room(n * sizeof(affine)), hog = 0;
    std::vector<zk_fr> scalars(n);
    for (zk_fr &s : scalars) s = random_fr();
    const size_t left = (size_t)(G::group == 0 ? 17 : 31) << 20; /* products of all threads take 13 or 26 MB of it */
    ZK_CHECK_OK(zk_cuda_alloc(&hog, device, zk_cuda_bytes_free(device) - left, "hog", &err), err);
    std::vector<uint8_t> encoded(n * G::bytes);
    ZK_CHECK_OK(zk_cuda_multiples_encode(m, encoded.data(), scalars.data(), n, &err), err);
    size_t bad = 0;
    ZK_CHECK_OK(zk_cuda_points_decode(&bad, device, G::group, to, 0, encoded.data(), n, nullptr, threads, &err), err);
    ZK_CHECK(bad == n);
    bool good = false;
    const uint8_t seed[32] = {7};
    ZK_CHECK_OK(zk_cuda_points_subgroup(&good, device, G::group, to, n, seed, &err), err);
    ZK_CHECK(good);
    zk_cuda_free(device, hog);
    const std::vector<affine> got = get<affine>(to, n);
    scalars.resize(600);
    expect(std::vector<affine>(got.begin(), got.begin() + 600), multiples_of<G>(scalars), "in short memory");
    ZK_CHECK_OK(zk_cuda_alloc(&hog, device, zk_cuda_bytes_free(device) - 4096, "hog", &err), err);
    ZK_CHECK(zk_cuda_multiples_encode(m, encoded.data(), scalars.data(), 600, &err) == CUZK_OUT_OF_MEMORY);
    err = {};
    ZK_CHECK(zk_cuda_points_decode(&bad, device, G::group, hog, 0, encoded.data(), 600, nullptr, threads, &err) ==
             CUZK_OUT_OF_MEMORY);
    ZK_CHECK(err.status == CUZK_OUT_OF_MEMORY && err.message[0]);
    err = {};
    ZK_CHECK(zk_cuda_points_subgroup(&good, device, G::group, hog, 600, seed, &err) == CUZK_OUT_OF_MEMORY && !good);
    err = {};
    zk_cuda_multiples *none = nullptr;
    ZK_CHECK(zk_cuda_multiples_create(&none, device, G::group, 500, &err) == CUZK_OUT_OF_MEMORY && !none);
    zk_cuda_multiples_destroy(m);
    zk_cuda_close(device);
    device = roomy;
}

void test_decode_g1() { decode_sizes<g1>(); }
void test_decode_g2() { decode_sizes<g2>(); }
void test_refusals_g1() { decode_refusals<g1>(); }
void test_refusals_g2() { decode_refusals<g2>(); }
void test_encode_g1() { encode_sizes<g1>(); }
void test_encode_g2() { encode_sizes<g2>(); }
void test_multiples_g1() { multiples<g1>(); }
void test_multiples_g2() { multiples<g2>(); }
void test_wide_windows_g1() { wide_windows<g1>(); }
void test_wide_windows_g2() { wide_windows<g2>(); }
void test_subgroup_g1() { subgroup<g1>(); }
void test_subgroup_g2() { subgroup<g2>(); }
void test_subset_strength_g1() { strength<g1>(); }
void test_subset_strength_g2() { strength<g2>(); }
void test_short_memory_g1() { short_memory<g1>(); }
void test_short_memory_g2() { short_memory<g2>(); }
} // namespace

ZK_TEST_MAIN(ZK_CASE(test_decode_g1), ZK_CASE(test_decode_g2), ZK_CASE(test_refusals_g1), ZK_CASE(test_refusals_g2),
             ZK_CASE(test_encode_g1), ZK_CASE(test_encode_g2), ZK_CASE(test_multiples_g1), ZK_CASE(test_multiples_g2),
             ZK_CASE(test_wide_windows_g1), ZK_CASE(test_wide_windows_g2), ZK_CASE(test_subgroup_g1),
             ZK_CASE(test_subgroup_g2), ZK_CASE(test_subset_strength_g1), ZK_CASE(test_subset_strength_g2),
             ZK_CASE(test_short_memory_g1), ZK_CASE(test_short_memory_g2))
