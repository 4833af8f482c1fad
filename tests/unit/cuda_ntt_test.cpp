/* Transforms of the CUDA code against src/ntt, and each inverse against what it must restore. Runs in the emulator and
 * on a device. */
extern "C" {
#include "ntt/ntt.h"
}
#include "../../cuda/cuda_kernels.h"
#include "zk_test.h"

#include <vector>

namespace {
#if defined(ZK_CUDA_EMULATE)
constexpr unsigned LAST = 12, THREE_PASSES = 19, QUOTIENT_LAST = 19;
constexpr size_t POOL_BYTES = (size_t)256 << 20;
#else
constexpr unsigned LAST = 18, THREE_PASSES = 21, QUOTIENT_LAST = 20;
constexpr size_t POOL_BYTES = (size_t)30 << 30;
#endif

uint64_t rng = 77;
zk_cuda *device;
zk_pool *pool;

void open_once() {
    if (device) return;
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_open(&device, 0, POOL_BYTES, &err), err);
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
}

std::vector<zk_fr> vector_of(size_t n, int kind) {
    std::vector<zk_fr> v(n);
    zk_fr minus_one;
    zk_fr_neg(&minus_one, &zk_fr_one);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[32];
        for (int k = 0; k < 4; k++) {
            const uint64_t x = zk_test_rand(&rng);
            memcpy(bytes + 8 * k, &x, 8);
        }
        switch (kind) {
        case 0:
            zk_fr_from_bytes_reduce(&v[i], bytes);
            break;
        case 1:
            v[i] = minus_one;
            break;
        case 2:
            v[i] = i == n / 2 ? zk_fr_one : zk_fr_zero;
            break;
        default:
            v[i] = i % 2 ? minus_one : zk_fr_one;
        }
    }
    return v;
}

zk_dptr twiddles; /* 0, or of the size that is tested */

zk_dptr put(const std::vector<zk_fr> &v) {
    cuzk_err err = {};
    zk_dptr d = 0;
    ZK_CHECK_OK(zk_cuda_alloc(&d, device, v.size() * sizeof(zk_fr), "test vector", &err), err);
    ZK_CHECK_OK(zk_cuda_upload(device, d, v.data(), v.size() * sizeof(zk_fr), &err), err);
    return d;
}
std::vector<zk_fr> take(zk_dptr d, size_t n) {
    cuzk_err err = {};
    std::vector<zk_fr> v(n);
    ZK_CHECK_OK(zk_cuda_download(device, v.data(), d, n * sizeof(zk_fr), &err), err);
    zk_cuda_free(device, d);
    return v;
}
bool same(const std::vector<zk_fr> &a, const std::vector<zk_fr> &b) {
    return memcmp(a.data(), b.data(), a.size() * sizeof(zk_fr)) == 0;
}

void check_all_kinds(unsigned k, int data) {
    const size_t n = (size_t)1 << k;
    cuzk_err err = {};
    zk_ntt_domain *domain = nullptr;
    ZK_CHECK_OK(zk_ntt_domain_create(&domain, k, pool, &err), err);
    for (int kind = 0; kind < 4; kind++) {
        std::vector<zk_fr> x = vector_of(n, data);
        zk_dptr d = put(x);
        ZK_CHECK_OK(zk_cuda_ntt(device, d, k, (zk_cuda_ntt_kind)kind, twiddles, &err), err);
        switch (kind) {
        case ZK_CUDA_NTT_FORWARD:
            zk_ntt_forward(domain, x.data(), pool);
            break;
        case ZK_CUDA_NTT_INVERSE:
            zk_ntt_inverse(domain, x.data(), pool);
            break;
        case ZK_CUDA_NTT_COSET_FORWARD:
            zk_ntt_coset_forward(domain, x.data(), pool);
            break;
        default:
            zk_ntt_coset_inverse(domain, x.data(), pool);
        }
        ZK_CHECKF(same(take(d, n), x), "2^%u, kind %d, data %d", k, kind, data);
    }
    zk_ntt_domain_destroy(domain);
}

void test_against_cpu() {
    open_once();
    for (unsigned k = 0; k <= LAST; k++)
        for (int data = 0; data < (k < 12 ? 4 : 1); data++) check_all_kinds(k, data);
    if (LAST < THREE_PASSES) check_all_kinds(THREE_PASSES, 0);
}

void check_quotient(unsigned k) {
    const size_t n = (size_t)1 << k;
    cuzk_err err = {};
    zk_ntt_domain *domain = nullptr;
    ZK_CHECK_OK(zk_ntt_domain_create(&domain, k, pool, &err), err);
    std::vector<zk_fr> a = vector_of(n, 0), b = vector_of(n, 0), c = vector_of(n, 0);
    zk_dptr da = put(a), db = put(b), dc = put(c);
    zk_dptr first = put(a), second = put(b); /* in halves: c takes the place of b */
    ZK_CHECK_OK(zk_cuda_ntt_quotient(device, da, db, dc, k, twiddles, &err), err);
    ZK_CHECK_OK(zk_cuda_ntt_quotient_ab(device, first, second, k, twiddles, &err), err);
    ZK_CHECK_OK(zk_cuda_upload(device, second, c.data(), n * sizeof(zk_fr), &err), err);
    ZK_CHECK_OK(zk_cuda_ntt_quotient_c(device, first, second, k, twiddles, &err), err);
    zk_ntt_quotient(domain, a.data(), b.data(), c.data(), pool);
    ZK_CHECKF(same(take(da, n), a), "quotient 2^%u", k);
    ZK_CHECKF(same(take(first, n), a), "quotient 2^%u in halves", k);
    zk_cuda_free(device, db);
    zk_cuda_free(device, dc);
    zk_cuda_free(device, second);
    zk_ntt_domain_destroy(domain);
}

void check_products(unsigned k) {
    const size_t n = (size_t)1 << k;
    cuzk_err err = {};
    zk_ntt_domain *domain = nullptr;
    ZK_CHECK_OK(zk_ntt_domain_create(&domain, k, pool, &err), err);
    std::vector<zk_fr> a = vector_of(n, 0), b = vector_of(n, 0);
    zk_dptr da = put(a), db = put(b);
    ZK_CHECK_OK(zk_cuda_ntt_products(device, da, db, k, twiddles, &err), err);
    zk_ntt_products(domain, a.data(), b.data(), pool);
    ZK_CHECKF(same(take(da, n), a), "products 2^%u", k);
    zk_cuda_free(device, db);
    zk_ntt_domain_destroy(domain);
}

/* Twiddles are made for sizes of three passes only; all calls with them. */
void test_twiddles() {
    open_once();
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_ntt_twiddles(&twiddles, device, 12, &err), err);
    ZK_CHECK(twiddles == 0);
    ZK_CHECK_OK(zk_cuda_ntt_twiddles(&twiddles, device, THREE_PASSES, &err), err);
    ZK_CHECK(twiddles != 0);
    check_all_kinds(THREE_PASSES, 0);
    check_quotient(THREE_PASSES);
    check_products(THREE_PASSES);
    zk_cuda_free(device, twiddles);
    twiddles = 0;
}

/* The pool holds the vector and the tables but no second vector. */
void test_in_place() {
    open_once();
    cuzk_err err = {};
    const unsigned k = THREE_PASSES;
    const size_t n = (size_t)1 << k;
    ZK_CHECK_OK(zk_cuda_ntt_prepare(device, k, &err), err);
    zk_dptr hog = 0;
    ZK_CHECK_OK(
        zk_cuda_alloc(&hog, device, zk_cuda_bytes_free(device) - 2 * n * sizeof(zk_fr) + (1 << 20), "hog", &err), err);
    check_all_kinds(k, 0);
    zk_cuda_free(device, hog);
}

void test_quotient() {
    open_once();
    for (unsigned k = 0; k <= QUOTIENT_LAST; k++)
        if (k <= 6 || k >= QUOTIENT_LAST - 1 || k % 4 == 0) check_quotient(k);
}

void test_products() {
    open_once();
    for (unsigned k = 0; k <= QUOTIENT_LAST; k++)
        if (k <= 6 || k >= QUOTIENT_LAST - 1 || k % 4 == 0) check_products(k);
}

#if !defined(ZK_CUDA_EMULATE)
/* Sizes the CPU reference is too slow for: the inverse restores the input, and one value by definition: y_0 = sum x. */
void test_large() {
    open_once();
    for (unsigned k : {22u, 24u, 25u}) {
        const size_t n = (size_t)1 << k;
        cuzk_err err = {};
        std::vector<zk_fr> x(n);
        zk_fr sum = zk_fr_zero, state;
        zk_fr_from_u64(&state, 12345 + k);
        for (size_t i = 0; i < n; i++) { /* limbs of a fast generator, reduced by clearing the top bits */
            for (int j = 0; j < 4; j++) x[i].l[j] = zk_test_rand(&rng);
            x[i].l[3] &= 0x3fffffffffffffff;
            zk_fr_add(&sum, &sum, &x[i]);
        }
        for (int kind = 0; kind < 4; kind += 2) {
            zk_dptr d = put(x);
            ZK_CHECK_OK(zk_cuda_ntt(device, d, k, (zk_cuda_ntt_kind)kind, twiddles, &err), err);
            zk_fr first;
            ZK_CHECK_OK(zk_cuda_download(device, &first, d, sizeof first, &err), err);
            if (kind == 0) ZK_CHECKF(zk_fr_eq(&first, &sum), "2^%u: y_0", k);
            ZK_CHECK_OK(zk_cuda_ntt(device, d, k, (zk_cuda_ntt_kind)(kind + 1), twiddles, &err), err);
            ZK_CHECKF(same(take(d, n), x), "2^%u, kind %d: the inverse does not restore", k, kind);
        }
    }
}
#endif
} // namespace

#if defined(ZK_CUDA_EMULATE)
ZK_TEST_MAIN(ZK_CASE(test_against_cpu), ZK_CASE(test_twiddles), ZK_CASE(test_in_place), ZK_CASE(test_quotient),
             ZK_CASE(test_products))
#else
ZK_TEST_MAIN(ZK_CASE(test_against_cpu), ZK_CASE(test_twiddles), ZK_CASE(test_in_place), ZK_CASE(test_quotient),
             ZK_CASE(test_products), ZK_CASE(test_large))
#endif
