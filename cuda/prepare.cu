/* Arrays of points of G1 for prepared keys: transforms, sums of sparse columns. See src/msm/transform.h.
 *
 * The network is that of src/ntt/kernels.h from natural to bit-reversed order: level l has 2^l blocks of n / 2^l
 * points, block b the twiddle zeta_b; (u, v) become (u + zeta v, u - zeta v). A thread makes one butterfly: digits of
 * the twiddle, table, multiple, both sums by one inversion. About 900 multiplications and 830 squares in Fp; memory is
 * 384 bytes a butterfly and does not matter.
 */
#include "glv.cuh"
#include "ntt_kernels.cuh"

extern "C" {
#include "field/fr.h"
#include "msm/transform.h"
}

#include <new>

namespace zk {
namespace {

constexpr u32 LOW_BITS = 13, GROUP_THREADS = 128;
/* Butterflies a launch: kernels of some tenths of a second, between which one can stop. */
#if defined(ZK_CUDA_EMULATE)
constexpr u32 GROUP_LAUNCH = 64;
#else
constexpr u32 GROUP_LAUNCH = 1u << 22;
#endif

ZK_HD affine<fp> load_point(const affine<fp> *p) { return affine<fp>{load(&p->x), load(&p->y)}; }
ZK_HD void store_point(affine<fp> *p, const affine<fp> &a) {
    store(&p->x, a.x);
    store(&p->y, a.y);
}

__host__ __device__ jacobian multiply(const affine<fp> &p, const fr &k) {
    if (p.is_infinity()) return jacobian{fp::zero(), fp::zero(), fp::zero()};
    u32 digits[GLV_WORDS];
    glv_table table;
    glv_recode(digits, k);
    glv_fill(table, p);
    return glv_multiply(table, digits);
}

__host__ __device__ affine<fp> to_affine(const jacobian &p) {
    if (p.z.is_zero()) return affine<fp>::infinity();
    const fp i = inverse(p.z), ii = sqr(i);
    return affine<fp>{mul(p.x, ii), mul(p.y, mul(ii, i))};
}

/* (a, b) = (p + r, p - r). General: with h = px z^2 - x, 1/(z h) gives both slopes and the affine r. */
__host__ __device__ void sum_and_difference(affine<fp> &a, affine<fp> &b, const affine<fp> &p, const jacobian &r) {
    if (r.z.is_zero()) {
        a = b = p;
        return;
    }
    const bool alone = p.is_infinity();
    const fp zz = sqr(r.z), u = mul(p.x, zz), s = mul(p.y, mul(zz, r.z)), h = sub(u, r.x);
    const bool same = !alone && h.is_zero();
    const fp inv = inverse(alone ? r.z : same ? dbl(p.y) : mul(r.z, h));
    if (alone) {
        const fp ii = sqr(inv);
        a = affine<fp>{mul(r.x, ii), mul(r.y, mul(ii, inv))};
        b = affine<fp>{a.x, neg(a.y)};
        return;
    }
    if (same) { /* p = r or p = -r */
        const fp xx = sqr(p.x), l = mul(add(dbl(xx), xx), inv);
        affine<fp> twice;
        twice.x = sub(sqr(l), dbl(p.x));
        twice.y = sub(mul(l, sub(p.x, twice.x)), p.y);
        const bool plus = s == r.y;
        a = plus ? twice : affine<fp>::infinity();
        b = plus ? affine<fp>::infinity() : twice;
        return;
    }
    const fp iz = mul(inv, h), x_sum = add(p.x, mul(r.x, sqr(iz)));
    fp l = mul(sub(s, r.y), inv);
    a.x = sub(sqr(l), x_sum);
    a.y = sub(mul(l, sub(p.x, a.x)), p.y);
    l = mul(add(s, r.y), inv);
    b.x = sub(sqr(l), x_sum);
    b.y = sub(mul(l, sub(p.x, b.x)), p.y);
}

/* zeta_b = low[b mod 2^LOW_BITS] high[b >> LOW_BITS] */
__global__ void __launch_bounds__(GROUP_THREADS, 4)
    group_level(affine<fp> *points, u32 log_n, u32 level, u32 first, u32 n, const fr *low, const fr *high) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x, log_half = log_n - level - 1;
    if (t >= n) return;
    const u32 i = first + t, block = i >> log_half;
    affine<fp> *const u = points + ((size_t)block << (log_half + 1)) + (i & ((1u << log_half) - 1));
    affine<fp> *const v = u + ((size_t)1 << log_half);
    const affine<fp> q = load_point(v);
    jacobian r{q.x, q.y, q.is_infinity() ? fp::zero() : fp::one()};
    if (block) r = multiply(q, mul(load(&low[block & ((1u << LOW_BITS) - 1)]), load(&high[block >> LOW_BITS])));
    affine<fp> sum, difference;
    sum_and_difference(sum, difference, load_point(u), r);
    store_point(u, sum);
    store_point(v, difference);
}

/* point k times low[k mod 2^POWER_BITS] high[k >> POWER_BITS] */
constexpr u32 POWER_BITS = 14;
__global__ void __launch_bounds__(GROUP_THREADS, 4)
    group_scale(affine<fp> *points, u32 first, u32 n, const fr *low, const fr *high) {
    const u32 t = blockIdx.x * blockDim.x + threadIdx.x, k = first + t;
    if (t >= n) return;
    const fr factor = mul(load(&low[k & ((1u << POWER_BITS) - 1)]), load(&high[k >> POWER_BITS]));
    store_point(&points[k], to_affine(multiply(load_point(&points[k]), factor)));
}

__global__ void __launch_bounds__(256) group_reverse(affine<fp> *points, u32 log_n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >> log_n) return;
    const u32 j = log_n ? __brev(i) >> (32 - log_n) : 0;
    if (j <= i) return;
    const affine<fp> a = load_point(&points[i]), b = load_point(&points[j]);
    store_point(&points[i], b);
    store_point(&points[j], a);
}

/* A coefficient as |k|, its bits and its sign. */
struct coefficient {
    u32 l[8], bits, negative;
};

/* points[k] += the sum of the entries start[k] - base .. start[k+1] - base - 1; an entry is (row, coefficient). */
__global__ void __launch_bounds__(GROUP_THREADS, 4)
    column_sums(affine<fp> *points, u32 n, const affine<fp> *rows, const u32 *start, u32 base, const uint2 *entries,
                const coefficient *coefs) {
    const u32 k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    xyzz<fp> sum = to_xyzz(load_point(&points[k]));
    for (u32 e = start[k] - base; e < start[k + 1] - base; e++) {
        affine<fp> row = load_point(&rows[entries[e].x]);
        const u32 coef = entries[e].y;
        if (coef == 1 || (coef > 1 && coefs[coef].negative)) row.y = neg(row.y);
        if (coef < 2) {
            xyzz_add_affine(sum, row);
            continue;
        }
        xyzz<fp> product = xyzz<fp>::infinity();
        for (u32 i = coefs[coef].bits; i-- > 0;) {
            xyzz_double(product);
            if ((coefs[coef].l[i / 32] >> (i % 32)) & 1) xyzz_add_affine(product, row);
        }
        xyzz_add(sum, product);
    }
    store_point(&points[k], zk::to_affine(sum));
}

/* ---- host ---- */

struct progress_report {
    zk_transform_progress report;
    void *ctx;
    uint64_t done, total;
    cuzk_status advance(zk_cuda *d, u32 n, cuzk_err *err) {
        ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
        done += n;
        if (report && !report(ctx, done, total))
            return ZK_FAIL(err, CUZK_CANCELLED, "cancelled during a transform of points");
        return CUZK_OK;
    }
};

/* t[b]: the product of step[i] over the bits i of b, on the host and from there to the device. */
cuzk_status upload_by_bits(fr **table, zk_cuda *d, scratch &memory, unsigned n_bits, const zk_fr *step, cuzk_err *err) {
    const size_t n = (size_t)1 << n_bits;
    zk_fr *t = new (std::nothrow) zk_fr[n];
    if (!t) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "twiddles of 2^%u: no memory", n_bits);
    t[0] = zk_fr_one;
    for (unsigned i = 0; i < n_bits; i++)
        for (size_t k = 0; k < (size_t)1 << i; k++) zk_fr_mul(&t[((size_t)1 << i) + k], &t[k], &step[i]);
    cuzk_status status = memory.take(table, n, "twiddles of points", err);
    if (status == CUZK_OK) status = zk_cuda_upload(d, (zk_dptr)*table, t, n * sizeof *t, err);
    delete[] t;
    return status;
}

cuzk_status scale_points(zk_cuda *d, affine<fp> *points, unsigned log2_n, const zk_fr *shift, const zk_fr *scale,
                         progress_report &progress, cuzk_err *err) {
    const u32 n = 1u << log2_n, high_bits = log2_n > POWER_BITS ? log2_n - POWER_BITS : 0;
    scratch memory(d);
    fr *low = nullptr, *high = nullptr, x, one = fr::one(), factor;
    memcpy(&x, shift, sizeof x);
    memcpy(&factor, scale, sizeof factor);
    ZK_TRY(memory.take(&low, 1u << POWER_BITS, "powers", err));
    ZK_TRY(memory.take(&high, 1u << high_bits, "powers", err));
    ZK_RUN_EACH(power_table, 1u << POWER_BITS, 256, d->main, low, 1u << POWER_BITS, 0, one, x, one, one);
    for (u32 i = 0; i < POWER_BITS; i++) x = sqr(x);
    ZK_RUN_EACH(power_table, 1u << high_bits, 256, d->main, high, 1u << high_bits, 0, one, x, one, factor);
    for (u32 first = 0; first < n; first += GROUP_LAUNCH) {
        const u32 here = n - first < GROUP_LAUNCH ? n - first : GROUP_LAUNCH;
        ZK_RUN_EACH(group_scale, here, GROUP_THREADS, d->main, points, first, here, low, high);
        ZK_TRY(progress.advance(d, here, err));
    }
    return CUZK_OK;
}

cuzk_status transform_points(zk_cuda *d, affine<fp> *points, unsigned log2_n, const zk_fr *shift, const zk_fr *scale,
                             progress_report &progress, cuzk_err *err) {
    const u32 n = 1u << log2_n;
    const unsigned n_bits = log2_n ? log2_n - 1 : 0, low_bits = n_bits < LOW_BITS ? n_bits : LOW_BITS;
    const bool scaled = !zk_fr_is_one(shift) || !zk_fr_is_one(scale);
    scratch memory(d);
    fr *low = nullptr, *high = nullptr;
    zk_fr step[32];
    progress.total = (scaled ? n : 0) + (uint64_t)(n / 2) * log2_n;
    if (scaled) ZK_TRY(scale_points(d, points, log2_n, shift, scale, progress, err));
    for (unsigned i = 0; i < n_bits; i++) zk_fr_root_of_unity(&step[i], i + 2);
    ZK_TRY(upload_by_bits(&low, d, memory, low_bits, step, err));
    ZK_TRY(upload_by_bits(&high, d, memory, n_bits - low_bits, step + low_bits, err));
    for (unsigned level = 0; level < log2_n; level++)
        for (u32 first = 0; first < n / 2; first += GROUP_LAUNCH) {
            const u32 here = n / 2 - first < GROUP_LAUNCH ? n / 2 - first : GROUP_LAUNCH;
            ZK_RUN_EACH(group_level, here, GROUP_THREADS, d->main, points, log2_n, level, first, here, low, high);
            ZK_TRY(progress.advance(d, here, err));
        }
    ZK_RUN_EACH(group_reverse, n, 256, d->main, points, log2_n);
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

/* |k| is the smaller of k and r - k. */
void coefficient_of(coefficient *c, const zk_fr *k) {
    uint64_t limbs[4], minus[4];
    zk_fr opposite;
    zk_fr_neg(&opposite, k);
    zk_fr_to_limbs(limbs, k);
    zk_fr_to_limbs(minus, &opposite);
    c->negative = zk_limbs_less(minus, limbs, 4);
    c->bits = 0;
    for (u32 i = 0; i < 8; i++) {
        c->l[i] = (u32)((c->negative ? minus : limbs)[i / 2] >> (i % 2 * 32));
        if (c->l[i]) c->bits = 32 * i + 32 - (u32)__builtin_clz(c->l[i]);
    }
}

cuzk_status add_columns(zk_cuda *d, affine<fp> *points, const zk_sparse_columns &columns, const affine<fp> *rows,
                        cuzk_err *err) {
    const size_t n = columns.n, n_coefs = columns.n_coefs;
    const u32 base = columns.start[0], n_entries = columns.start[n] - base;
    scratch memory(d);
    u32 *starts = nullptr;
    uint2 *list = nullptr;
    coefficient *dictionary = nullptr, *host = new (std::nothrow) coefficient[n_coefs];
    if (!host) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%zu coefficients: no memory", n_coefs);
    for (size_t i = 0; i < n_coefs; i++) coefficient_of(&host[i], &columns.coefs[i]);
    cuzk_status status = memory.take(&dictionary, n_coefs, "coefficients", err);
    if (status == CUZK_OK) status = zk_cuda_upload(d, (zk_dptr)dictionary, host, n_coefs * sizeof *host, err);
    delete[] host;
    ZK_TRY(status);
    ZK_TRY(memory.take(&starts, n + 1, "columns", err));
    ZK_TRY(memory.take(&list, n_entries ? n_entries : 1, "columns", err));
    ZK_TRY(zk_cuda_upload(d, (zk_dptr)starts, columns.start, (n + 1) * sizeof *starts, err));
    ZK_TRY(zk_cuda_upload(d, (zk_dptr)list, columns.entries + base, n_entries * sizeof *list, err));
    ZK_RUN_EACH(column_sums, n, GROUP_THREADS, d->main, points, (u32)n, rows, starts, base, list, dictionary);
    ZK_CUDA_TRY(cudaStreamSynchronize(d->main));
    return CUZK_OK;
}

} // namespace
} // namespace zk

extern "C" {

cuzk_status zk_cuda_g1_transform(zk_cuda *d, zk_dptr points, unsigned log2_n, const zk_fr *shift, const zk_fr *scale,
                                 bool (*progress)(void *ctx, uint64_t done, uint64_t total), void *progress_ctx,
                                 cuzk_err *err) {
    if (log2_n > 28) return ZK_FAIL(err, CUZK_UNSUPPORTED, "transform of 2^%u points, at most 2^28", log2_n);
    zk::progress_report report{progress, progress_ctx, 0, 0};
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    return zk::guarded(err, "transform of points", [&] {
        return zk::transform_points(d, (zk::affine<zk::fp> *)points, log2_n, shift, scale, report, err);
    });
}

cuzk_status zk_cuda_g1_add_columns(zk_cuda *d, zk_dptr points, const zk_sparse_columns *columns, zk_dptr rows,
                                   cuzk_err *err) {
    if (columns->n >> 30) return ZK_FAIL(err, CUZK_UNSUPPORTED, "sums of %zu columns, at most 2^30", columns->n);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    if (columns->n == 0) return CUZK_OK;
    return zk::guarded(err, "sums of columns", [&] {
        return zk::add_columns(d, (zk::affine<zk::fp> *)points, *columns, (const zk::affine<zk::fp> *)rows, err);
    });
}

} /* extern "C" */
