/* The device arithmetic, compiled for the host, against src/field: edge values, random ones and every range that the
 * headers promise to accept. */
extern "C" {
#include "field/fp.h"
#include "field/fr.h"
}
#include "../../cuda/curve.cuh"
#include "../../cuda/factor.cuh"
#include "zk_test.h"

using namespace zk;

namespace {
uint64_t state = 0x9e3779b97f4a7c15u;
uint64_t next_u64() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

template <class P> struct host;
template <> struct host<fp_params> {
    typedef zk_fp type;
    static void add(zk_fp *r, const zk_fp *a, const zk_fp *b) { zk_fp_add(r, a, b); }
    static void sub(zk_fp *r, const zk_fp *a, const zk_fp *b) { zk_fp_sub(r, a, b); }
    static void mul(zk_fp *r, const zk_fp *a, const zk_fp *b) { zk_fp_mul(r, a, b); }
    static void inv(zk_fp *r, const zk_fp *a) { zk_fp_inv_var(r, a); }
};
template <> struct host<fr_params> {
    typedef zk_fr type;
    static void add(zk_fr *r, const zk_fr *a, const zk_fr *b) { zk_fr_add(r, a, b); }
    static void sub(zk_fr *r, const zk_fr *a, const zk_fr *b) { zk_fr_sub(r, a, b); }
    static void mul(zk_fr *r, const zk_fr *a, const zk_fr *b) { zk_fr_mul(r, a, b); }
    static void inv(zk_fr *r, const zk_fr *a) { zk_fr_inv_var(r, a); }
};

template <class P> mont<P> modulus_plus(int64_t delta) {
    mont<P> r;
    int64_t c = delta;
    for (int i = 0; i < P::W; i++) {
        c += P::mod(i);
        r.l[i] = (u32)c;
        c >>= 32;
    }
    return r;
}

constexpr int EDGES = 12;
/* Canonical values: 0, 1, m-1, one, runs of ones and zeros, then random ones. */
template <class P> mont<P> value(int i) {
    mont<P> r = mont<P>::zero();
    switch (i) {
    case 0:
        return r;
    case 1:
        r.l[0] = 1;
        return r;
    case 2:
        return modulus_plus<P>(-1);
    case 3:
        return modulus_plus<P>(-2);
    case 4:
        return mont<P>::one();
    case 5:
        return mont<P>::r2();
    case 6:
        r.l[P::W - 1] = P::mod(P::W - 1);
        return r;
    case 7:
        for (int k = 0; k < P::W - 1; k++) r.l[k] = 0xffffffffu;
        return r;
    case 8:
        r.l[P::W / 2] = 1;
        return r;
    case 9:
        for (int k = 0; k < P::W - 1; k += 2) r.l[k] = 0xffffffffu;
        return r;
    case 10:
        for (int k = 0; k < P::W - 1; k++) r.l[k] = 0x80000000u;
        return r;
    case 11:
        r.l[0] = 0xffffffffu;
        return r;
    default:
        for (int k = 0; k < P::W; k++) r.l[k] = (u32)next_u64();
        r.l[P::W - 1] %= P::mod(P::W - 1);
        return r;
    }
}

template <class P> typename host<P>::type to_host(const mont<P> &a) {
    typename host<P>::type r;
    static_assert(sizeof r == sizeof a.l, "same layout");
    memcpy(&r, a.l, sizeof r);
    return r;
}
template <class P> bool same(const mont<P> &a, const typename host<P>::type &b) {
    return memcmp(a.l, &b, sizeof b) == 0;
}

template <class P> void check_field() {
    typedef host<P> H;
    for (int i = 0; i < 60; i++) {
        for (int j = 0; j < 60; j++) {
            mont<P> a = value<P>(i), b = value<P>(j);
            typename H::type x = to_host(a), y = to_host(b), z;
            H::add(&z, &x, &y);
            ZK_CHECKF(same(add(a, b), z), "add %d %d", i, j);
            H::sub(&z, &x, &y);
            ZK_CHECKF(same(sub(a, b), z), "sub %d %d", i, j);
            ZK_CHECK(same(add(sub(a, b), b), x));
            H::mul(&z, &x, &y);
            ZK_CHECKF(same(mul(a, b), z), "mul %d %d", i, j);
            /* one factor in `twice` */
            ZK_CHECKF(same(mul(a, add_raw(b, modulus_plus<P>(0))), z), "mul lazy %d %d", i, j);
            H::mul(&z, &x, &x);
            ZK_CHECK(same(sqr(a), z));
            H::sub(&z, &x, &y);
            ZK_CHECK(same(canonical(sub_mod<2>(a, b)), z) || a == b);
            H::add(&z, &x, &y);
            ZK_CHECK(same(canonical(add_mod<2>(a, b)), z));
        }
        mont<P> a = value<P>(i);
        typename H::type x = to_host(a), z;
        H::inv(&z, &x);
        ZK_CHECKF(same(inverse(a), z), "inverse %d", i);
        ZK_CHECK(to_mont(from_mont(a)) == a);
        ZK_CHECK(is_reduced(a));
    }
    for (int i = 0; i < 2000; i++) {
        mont<P> a = value<P>(EDGES + i);
        ZK_CHECK(mul(a, inverse(a)) == mont<P>::one());
    }
}
void test_fp() { check_field<fp_params>(); }
void test_fr() { check_field<fr_params>(); }

/* Known factors, also with limbs known to be zero: against the Montgomery product, and below 2r, for all v below 2r. */
void test_factor() {
    for (int i = 0; i < 200; i++) {
        const fr m = value<fr_params>(i);
        const fr_factor f = factor_of(m);
        ZK_CHECK(to_mont(f.w) == m);
        for (int j = 0; j < 200; j++) {
            const fr v = value<fr_params>(j), product = mul(m, v);
            ZK_CHECKF(canonical(mul_factor(f, v)) == product, "%d %d", i, j);
            ZK_CHECKF(canonical(mul_factor(f, add_multiple<1>(v))) == product, "%d %d + r", i, j);
        }
    }
}

void test_short_factor() {
    for (int i = 0; i < 100; i++) {
        fr w = value<fr_params>(i); /* limbs 1 to 5 */
        w.l[0] = w.l[6] = w.l[7] = 0;
        const fr_factor f = factor_of(to_mont(w));
        ZK_CHECK(f.q.l[7] == 0);
        for (int j = 0; j < 200; j++) {
            const fr v = value<fr_params>(j), product = canonical(mul_factor(f, v));
            ZK_CHECKF(canonical((mul_factor<0x3e, 7>(f, v))) == product, "%d %d", i, j);
            ZK_CHECKF(canonical((mul_factor<0x3e, 7>(f, add_multiple<1>(v)))) == product, "%d %d + r", i, j);
        }
    }
}

void test_fp2() {
    for (int i = 0; i < 40; i++) {
        for (int j = 0; j < 40; j++) {
            fp2 a{value<fp_params>(i), value<fp_params>(j)}, b{value<fp_params>(j + 1), value<fp_params>(i + 3)};
            zk_fp2 x, y, z;
            memcpy(&x, &a, sizeof x);
            memcpy(&y, &b, sizeof y);
            fp2 r = mul(a, b);
            zk_fp2_mul(&z, &x, &y);
            ZK_CHECK_MEM(&r, &z, sizeof z);
            fp2 a2{add_multiple<1>(a.c0), add_multiple<1>(a.c1)}, b2{add_multiple<1>(b.c0), add_multiple<1>(b.c1)};
            r = canonical(mul_lazy(a2, b2));
            ZK_CHECK_MEM(&r, &z, sizeof z);
            r = sqr(a);
            zk_fp2_sqr(&z, &x);
            ZK_CHECK_MEM(&r, &z, sizeof z);
            r = canonical(sqr_lazy(a2));
            ZK_CHECK_MEM(&r, &z, sizeof z);
            r = inverse(a);
            zk_fp2_inv_var(&z, &x);
            ZK_CHECK_MEM(&r, &z, sizeof z);
        }
    }
}
} // namespace

ZK_TEST_MAIN(ZK_CASE(test_fp), ZK_CASE(test_fr), ZK_CASE(test_factor), ZK_CASE(test_short_factor), ZK_CASE(test_fp2))
