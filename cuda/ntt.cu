/* Number-theoretic transforms: tables, passes, and the quotient of Groth16. */
#include "ntt_kernels.cuh"

namespace zk {

/* Entry i of a table of powers: scale x^(row column) y^row z^column. */
ZK_HD fr power(u32 i, u32 log_columns, const fr &x, const fr &y, const fr &z, const fr &scale) {
    const u32 row = i >> log_columns, column = i & ((1u << log_columns) - 1);
    return mul(mul(scale, pow_u64(z, column)), mul(pow_u64(x, (u64)row * column), pow_u64(y, row)));
}
__global__ void __launch_bounds__(256) power_table(fr *out, u32 n, u32 log_columns, fr x, fr y, fr z, fr scale) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) store(&out[i], power(i, log_columns, x, y, z, scale));
}
__global__ void __launch_bounds__(256)
    power_factors(fr_factor *out, u32 n, u32 log_columns, fr x, fr y, fr z, fr scale) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const fr_factor f = factor_of(power(i, log_columns, x, y, z, scale));
    store(&out[i].w, f.w);
    store(&out[i].q, f.q);
}

__global__ void __launch_bounds__(256) stage_factors(uint4 *stage, u32 log_s, fr w) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, log_u = log_s - 3, k = (i >> log_u) + 1;
    if (k > 7) return;
    const u32 u = i & ((1u << log_u) - 1);
    const fr_factor f = factor_of(pow_u64(w, u * k));
    uint4 *out = stage + ((4 * (k - 1)) << log_u) + u;
    out[0] = make_uint4(f.w.l[0], f.w.l[1], f.w.l[2], f.w.l[3]);
    out[(size_t)1 << log_u] = make_uint4(f.w.l[4], f.w.l[5], f.w.l[6], f.w.l[7]);
    out[(size_t)2 << log_u] = make_uint4(f.q.l[0], f.q.l[1], f.q.l[2], f.q.l[3]);
    out[(size_t)3 << log_u] = make_uint4(f.q.l[4], f.q.l[5], f.q.l[6], f.q.l[7]);
}

__global__ void __launch_bounds__(256) full_table(fr *out, u32 n, u32 log_columns, factor_table table) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const u32 row = i >> log_columns, column = i & ((1u << log_columns) - 1);
    const fr high = load(&table.high[((size_t)row << (log_columns - table.low_bits)) + (column >> table.low_bits)]);
    const fr low = load(&table.low[((size_t)row << table.low_bits) + (column & ((1u << table.low_bits) - 1))]);
    store(&out[i], mul(high, low));
}

/* Powers of the coset's shift come from two tables, by the low and the high bits of the exponent. */
#if defined(ZK_CUDA_EMULATE)
constexpr u32 POWER_BITS = 6; /* tables are made for every device that a test opens */
#else
constexpr u32 POWER_BITS = 14;
#endif

__global__ void __launch_bounds__(256) scale_powers(fr *x, u32 n, factor_table table) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const fr f = mul(load(&table.high[i >> POWER_BITS]), load(&table.low[i & ((1u << POWER_BITS) - 1)]));
    store(&x[i], mul(load(&x[i]), f));
}

__global__ void tiny_transform(fr *x, u32 log_n, fr w, fr scale) {
    const u32 j = threadIdx.x, n = 1u << log_n;
    fr acc = fr::zero(), wj = pow_u64(w, j), f = fr::one();
    for (u32 i = 0; i < n; i++) {
        acc = add(acc, mul(load(&x[i]), f));
        f = mul(f, wj);
    }
    __syncthreads();
    store(&x[j], mul(acc, scale));
}

__global__ void __launch_bounds__(256) scaled_products(fr *a, const fr *b, u32 n, fr scale) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    store(&a[i], mul(mul(load(&a[i]), load(&b[i])), scale));
}

__global__ void __launch_bounds__(256) subtract_scaled(fr *a, const fr *c, u32 n, fr scale) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    store(&a[i], sub(load(&a[i]), mul(load(&c[i]), scale)));
}

__global__ void __launch_bounds__(256) product_points(fr *a, const fr *b, u32 log_n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = 1u << log_n, j = (n - i) & (n - 1);
    if (i >= n || j < i) return;
    const fr x = mul(load(&a[i]), load(&b[i])), y = mul(load(&a[j]), load(&b[j]));
    store(&a[i], y);
    store(&a[j], x);
}

__global__ void __launch_bounds__(256) swap_digits(fr *x, u32 log_n1, u32 log_n2) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, log_n = 2 * log_n1 + log_n2;
    if (i >> log_n) return;
    const u32 mask = (1u << log_n1) - 1, top = i >> (log_n1 + log_n2), mid = (i >> log_n1) & ((1u << log_n2) - 1);
    const u32 j = ((i & mask) << (log_n1 + log_n2)) | (mid << log_n1) | top;
    if (j <= i) return;
    const fr a = load(&x[i]), b = load(&x[j]);
    store(&x[i], b);
    store(&x[j], a);
}

__global__ void __launch_bounds__(256) swap_negative(fr *x, u32 log_n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = 1u << log_n, j = (n - i) & (n - 1);
    if (i >= n || j <= i) return;
    const fr a = load(&x[i]), b = load(&x[j]);
    store(&x[i], b);
    store(&x[j], a);
}

/* ---- tables ---- */

constexpr unsigned ROOT_LOG2 = 32, MOST_LOG2 = 28; /* of the order of root_2_32, of the largest transform */

/* 7^((r-1)/2^32), 7, 1/7 */
static fr root_2_32() {
    return fr{{0x5f0e466au, 0xb9b58d8cu, 0x1819d7ecu, 0x5b1b4c80u, 0x52a31e64u, 0x0af53ae3u, 0x19e9b27bu, 0x5bf3addau}};
}
static fr shift() {
    return fr{{0xfffffff1u, 0x0000000eu, 0x00189c0fu, 0x17e363d3u, 0x6f8457b0u, 0xff9c5787u, 0x8fc5a8c4u, 0x35133220u}};
}
static fr shift_inverse() {
    return fr{{0xdb6db6dcu, 0xdb6db6dau, 0xdb6cc6dau, 0xe6b5824au, 0x05810db9u, 0xf8b356e0u, 0x60ec4796u, 0x66d0f1e6u}};
}
/* x^(2^k) */
static fr sqr_times(fr x, unsigned k) {
    while (k--) x = sqr(x);
    return x;
}
static fr root_of_unity(unsigned log2_n) { return sqr_times(root_2_32(), ROOT_LOG2 - log2_n); }
static fr n_inverse(unsigned log2_n) {
    fr two = dbl(fr::one());
    return inverse(pow_u64(two, log2_n));
}

struct ntt_shape {
    unsigned passes, log_n, n1, n2, n3; /* logarithms; n2 = 0 for two passes, n1 = n2 = 0 for one */
    ZK_HD unsigned rest() const { return n2 + n3; }
    unsigned low_bits() const { return rest() / 2; }
    unsigned high_power_bits() const { return log_n > POWER_BITS ? log_n - POWER_BITS : 0; }
};
static ntt_shape shape_of(unsigned log_n) {
    ntt_shape s = {1, log_n, 0, 0, log_n};
    if (log_n >= 10 && log_n <= 18) {
        s.passes = 2;
        s.n1 = log_n / 2;
        s.n3 = log_n - s.n1;
    } else if (log_n > 18) {
        s.passes = 3;
        s.n1 = s.n3 = (log_n + 1) / 3; /* equal, as swap_digits wants */
        s.n2 = log_n - 2 * s.n1;
    }
    return s;
}

/* All tables of one size, parts of one allocation. */
struct table_set {
    uint4 *stages;                  /* of all passes, see stage_of */
    fr_factor *n_inverse;           /* one, 1/n */
    fr_factor *first;               /* two passes: [N1][N3]; three: null */
    fr_factor *second;              /* [N2][N3]: (w^N1)^(k2 i3) */
    fr_factor *scaled_second;       /* times 1/n */
    fr_factor *coset_second;        /* times 7^(-N1 k2) */
    fr_factor *quotient_second;     /* times -1 / (n (7^n - 1)) */
    fr_factor *middle, *final;      /* [N1][N3]: 7^(n - k1 - N1 N2 k3) / n; 7^(-k1 - N1 N2 k3) / (n (7^n - 1)) */
    fr *power_low, *power_high;     /* 7^i: [2^POWER_BITS], [n / 2^POWER_BITS] */
    fr *inverse_low, *inverse_high; /* 7^-i */
    fr *high, *low;                 /* three passes: w^(k1 j), j < N2 N3, by high and low bits of j */
    fr *full;                       /* three passes: [N1][N2 N3], their products; null: they are not kept */
};

/* The parts but `full`, which is an allocation of its own; returns the bytes they take. With base null it only
 * measures. */
static size_t deal_tables(table_set *t, unsigned char *base, const ntt_shape &s) {
    size_t used = 0;
    const auto take = [&](auto **part, size_t count) {
        *part = base ? (decltype(*part + 0))(base + used) : nullptr;
        used += sizeof(**part) * count;
    };
    const auto deal = [&](auto **part, unsigned log2_count) { take(part, (size_t)1 << log2_count); };
    *t = table_set();
    take(&t->stages, STAGES_SIZE);
    deal(&t->power_low, POWER_BITS);
    deal(&t->power_high, s.high_power_bits());
    deal(&t->inverse_low, POWER_BITS);
    deal(&t->inverse_high, s.high_power_bits());
    if (s.passes == 2) deal(&t->first, s.log_n);
    if (s.passes == 3) {
        deal(&t->high, s.n1 + s.rest() - s.low_bits());
        deal(&t->low, s.n1 + s.low_bits());
        for (fr_factor **second : {&t->second, &t->scaled_second, &t->coset_second, &t->quotient_second})
            deal(second, s.rest());
        for (fr_factor **third : {&t->middle, &t->final}) deal(third, s.n1 + s.n3);
    }
    take(&t->n_inverse, 1); /* last, for the alignment of the others */
    return used;
}

/* out: [2^log_rows][2^log_columns], see power_table. */
static cuzk_status fill(zk_cuda *d, fr *out, unsigned log_rows, unsigned log_columns, const fr &x, const fr &y,
                        const fr &z, const fr &scale, cuzk_err *err) {
    const u32 n = 1u << (log_rows + log_columns);
    ZK_RUN_EACH(power_table, n, 256, d->main, out, n, log_columns, x, y, z, scale);
    return CUZK_OK;
}
static cuzk_status fill(zk_cuda *d, fr_factor *out, unsigned log_rows, unsigned log_columns, const fr &x, const fr &y,
                        const fr &z, const fr &scale, cuzk_err *err) {
    const u32 n = 1u << (log_rows + log_columns);
    ZK_RUN_EACH(power_factors, n, 256, d->main, out, n, log_columns, x, y, z, scale);
    return CUZK_OK;
}

/* Of every size: factors inside passes, 1/n, powers of the shift. */
static cuzk_status fill_common_tables(const table_set &t, zk_cuda *d, const ntt_shape &s, cuzk_err *err) {
    const fr one = fr::one(), g = shift(), gi = shift_inverse();
    for (u32 l = STAGE_FIRST; l <= STAGE_LAST; l++)
        ZK_RUN_EACH(stage_factors, (size_t)7 << (l - 3), 256, d->main, stage_of(t.stages, l), l, root_of_unity(l));
    ZK_TRY(fill(d, t.power_low, POWER_BITS, 0, one, g, one, one, err));
    ZK_TRY(fill(d, t.power_high, s.high_power_bits(), 0, one, sqr_times(g, POWER_BITS), one, one, err));
    ZK_TRY(fill(d, t.inverse_low, POWER_BITS, 0, one, gi, one, one, err));
    ZK_TRY(fill(d, t.inverse_high, s.high_power_bits(), 0, one, sqr_times(gi, POWER_BITS), one, one, err));
    return fill(d, t.n_inverse, 0, 0, one, one, one, n_inverse(s.log_n), err);
}
/* Of three passes: between them, and what a quotient multiplies by. */
static cuzk_status fill_three_pass_tables(const table_set &t, zk_cuda *d, const ntt_shape &s, cuzk_err *err) {
    const fr one = fr::one(), w = root_of_unity(s.log_n), ni = n_inverse(s.log_n), gi = shift_inverse();
    const unsigned lb = s.low_bits(), hb = s.rest() - lb;
    const fr w_second = sqr_times(w, s.n1), g_second = sqr_times(gi, s.n1);
    const fr g_third = sqr_times(gi, s.n1 + s.n2), gn = sqr_times(shift(), s.log_n);
    const fr of_quotient = mul(ni, inverse(sub(gn, one)));
    ZK_TRY(fill(d, t.high, s.n1, hb, sqr_times(w, lb), one, one, one, err));
    ZK_TRY(fill(d, t.low, s.n1, lb, w, one, one, one, err));
    ZK_TRY(fill(d, t.second, s.n2, s.n3, w_second, one, one, one, err));
    ZK_TRY(fill(d, t.scaled_second, s.n2, s.n3, w_second, one, one, ni, err));
    ZK_TRY(fill(d, t.coset_second, s.n2, s.n3, w_second, g_second, one, one, err));
    ZK_TRY(fill(d, t.quotient_second, s.n2, s.n3, w_second, one, one, neg(of_quotient), err));
    ZK_TRY(fill(d, t.middle, s.n1, s.n3, one, gi, g_third, mul(gn, ni), err));
    return fill(d, t.final, s.n1, s.n3, one, gi, g_third, of_quotient, err);
}

/* The device keeps the tables of the size asked for last. twiddles: of zk_cuda_ntt_twiddles for this size, or 0. */
static cuzk_status make_tables(table_set *t, zk_cuda *d, const ntt_shape &s, zk_dptr twiddles, cuzk_err *err) {
    if (!d->ntt.valid || d->ntt.log2_n != s.log_n) {
        const size_t bytes = deal_tables(t, nullptr, s);
        d->ntt.valid = false;
        zk_cuda_free(d, d->ntt.memory);
        d->ntt.memory = 0;
        ZK_TRY(zk_cuda_alloc(&d->ntt.memory, d, bytes, "twiddle tables", err));
        (void)deal_tables(t, (unsigned char *)d->ntt.memory, s);
        ZK_TRY(fill_common_tables(*t, d, s, err));
        if (s.passes == 2) {
            const fr one = fr::one();
            ZK_TRY(fill(d, t->first, s.n1, s.n3, root_of_unity(s.log_n), one, one, one, err));
        }
        if (s.passes == 3) ZK_TRY(fill_three_pass_tables(*t, d, s, err));
        d->ntt.log2_n = s.log_n;
        d->ntt.valid = true;
    }
    (void)deal_tables(t, (unsigned char *)d->ntt.memory, s);
    t->full = (fr *)twiddles;
    return CUZK_OK;
}

/* ---- passes ---- */

static cuzk_status run_pass(zk_cuda *d, unsigned log_r, const ntt_pass_args &p, cuzk_err *err) {
    const u32 per_block = NTT_POINTS >> log_r, units = 1u << (p.log_n - log_r);
    const u32 blocks = ceil_div(units, per_block);
#define ZK_PASS(L)                                                                                                     \
    case L: {                                                                                                          \
        auto pass = ntt_pass<L>;                                                                                       \
        ZK_CUDA_TRY(cudaFuncSetAttribute(pass, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)NTT_SHARED_BYTES));   \
        ZK_RUN_BARRIERS(pass, blocks, NTT_THREADS, NTT_SHARED_BYTES, d->main, p);                                      \
        return CUZK_OK;                                                                                                \
    }
    switch (log_r) {
        ZK_PASS(3)
        ZK_PASS(4)
        ZK_PASS(5)
        ZK_PASS(6)
        ZK_PASS(7)
        ZK_PASS(8)
        ZK_PASS(9)
        ZK_PASS(10)
    }
#undef ZK_PASS
    return ZK_FAIL(err, CUZK_INTERNAL, "ntt: no pass of 2^%u points", log_r);
}

static ntt_pass_args pass_of(const ntt_shape &s, const table_set &t, unsigned number, const fr *src, fr *dst,
                             u32 flags) {
    ntt_pass_args p = {};
    p.src = src;
    p.dst = dst;
    p.flags = flags | (number == 3 ? (u32)PASS_ROWS : 0u);
    p.log_n = s.log_n;
    p.log_n1 = s.n1;
    p.log_n2 = s.n2;
    p.stages = t.stages;
    p.log_columns = number == 1 ? s.rest() : number == 2 ? s.n3 : 0;
    return p;
}

static factor_table first_factors(const ntt_shape &s, const table_set &t) {
    factor_table f;
    if (s.passes == 2) {
        f.known = t.first;
    } else if (t.full) {
        f.high = t.full;
    } else {
        f.high = t.high;
        f.low = t.low;
        f.low_bits = s.low_bits();
    }
    return f;
}

/* Of 1, 2 or 4 points. */
static cuzk_status transform_tiny(zk_cuda *d, fr *x, const ntt_shape &s, bool inverse_, cuzk_err *err) {
    fr w = root_of_unity(s.log_n), scale = fr::one();
    if (inverse_) {
        w = inverse(w);
        scale = n_inverse(s.log_n);
    }
    ZK_RUN_BARRIERS(tiny_transform, 1, 1u << s.log_n, 0, d->main, x, s.log_n, w, scale);
    return CUZK_OK;
}

/* Natural order to natural order, no shift. The inverse is the transform with its results at -k, times 1/n. Two passes
 * go by a second buffer; three do without one when memory is short, and put the results in order in place. */
static cuzk_status transform(zk_cuda *d, fr *x, const ntt_shape &s, const table_set &t, bool inverse_, cuzk_err *err) {
    if (s.log_n < 3) return transform_tiny(d, x, s, inverse_, err);
    scratch memory(d);
    fr *other = nullptr;
    bool in_place = false;
    if (s.passes > 1) {
        cuzk_err none = {};
        const cuzk_status status = memory.take(&other, (size_t)1 << s.log_n, "transform", &none);
        in_place = status == CUZK_OUT_OF_MEMORY && s.passes == 3;
        if (status != CUZK_OK && !in_place) return ZK_FAIL(err, status, "ntt: %s", none.message);
    }
    const fr *from = x;
    if (s.passes > 1) {
        fr *to = s.passes == 2 ? other : x;
        ntt_pass_args p = pass_of(s, t, 1, from, to, PASS_AFTER);
        p.after = first_factors(s, t);
        ZK_TRY(run_pass(d, s.n1, p, err));
        from = to;
    }
    if (s.passes > 2) {
        fr *to = in_place ? x : other;
        ntt_pass_args p = pass_of(s, t, 2, from, to, PASS_AFTER);
        p.after.known = inverse_ ? t.scaled_second : t.second;
        ZK_TRY(run_pass(d, s.n2, p, err));
        from = to;
    }
    /* One pass only: its block reads all before it stores. */
    u32 flags = PASS_CANONICAL | (in_place ? 0u : (u32)PASS_NATURAL | (inverse_ ? (u32)PASS_NEGATE : 0u));
    if (inverse_ && s.passes < 3) flags |= PASS_AFTER | PASS_AFTER_ONE;
    ntt_pass_args p = pass_of(s, t, 3, from, x, flags);
    p.after.known = t.n_inverse;
    ZK_TRY(run_pass(d, s.n3, p, err));
    if (in_place) {
        const u32 n = 1u << s.log_n;
        ZK_RUN_EACH(swap_digits, n, 256, d->main, x, s.n1, s.n2);
        if (inverse_) ZK_RUN_EACH(swap_negative, n, 256, d->main, x, s.log_n);
    }
    return CUZK_OK;
}

/* x_i times the power i that the two tables give. */
static cuzk_status scale(zk_cuda *d, fr *x, unsigned log_n, const fr *high, const fr *low, cuzk_err *err) {
    factor_table f;
    f.high = high;
    f.low = low;
    const u32 n = 1u << log_n;
    ZK_RUN_EACH(scale_powers, n, 256, d->main, x, n, f);
    return CUZK_OK;
}

static cuzk_status ntt(zk_cuda *d, fr *x, const ntt_shape &s, const table_set &t, zk_cuda_ntt_kind kind,
                       cuzk_err *err) {
    const bool inverse_ = kind == ZK_CUDA_NTT_INVERSE || kind == ZK_CUDA_NTT_COSET_INVERSE;
    if (kind == ZK_CUDA_NTT_COSET_FORWARD) ZK_TRY(scale(d, x, s.log_n, t.power_high, t.power_low, err));
    ZK_TRY(transform(d, x, s, t, inverse_, err));
    if (kind == ZK_CUDA_NTT_COSET_INVERSE) ZK_TRY(scale(d, x, s.log_n, t.inverse_high, t.inverse_low, err));
    return CUZK_OK;
}

/* The first two passes, in place; `second` is the table between pass 2 and pass 3. */
static cuzk_status first_passes(zk_cuda *d, fr *x, const ntt_shape &s, const table_set &t, const fr_factor *second,
                                cuzk_err *err) {
    ntt_pass_args p = pass_of(s, t, 1, x, x, PASS_AFTER);
    p.after = first_factors(s, t);
    ZK_TRY(run_pass(d, s.n1, p, err));
    p = pass_of(s, t, 2, x, x, PASS_AFTER);
    p.after.known = second;
    return run_pass(d, s.n2, p, err);
}

/* One vector from the domain to the coset, by forward transforms only; all passes but the last, which is pass 1 with
 * first_factors before it. With F the transform and P the map i -> -i: F^-1 = P F / n, and P commutes with F. So
 * F(shift(F^-1 a)) is, up to P, F applied to (F a)_k 7^(-k mod n) / n: the values of a on the coset at 7 w^-j. Passes
 * 1 2 3|3 2 1. The powers of 7 are digit by digit in the tables; -k mod n is n - k except for k = 0, which middle_fix
 * mends. */
static cuzk_status to_coset(zk_cuda *d, fr *x, const ntt_shape &s, const table_set &t, cuzk_err *err) {
    ZK_TRY(first_passes(d, x, s, t, t.second, err));
    ntt_pass_args p = pass_of(s, t, 3, x, x, PASS_TWICE);
    p.middle = t.middle;
    p.middle_fix = sqr_times(shift_inverse(), s.log_n);
    ZK_TRY(run_pass(d, s.n3, p, err));
    p = pass_of(s, t, 2, x, x, PASS_BEFORE);
    p.before.known = t.coset_second;
    return run_pass(d, s.n2, p, err);
}

/* A quotient in two halves, so that c may be made in the memory of b between them. Six transforms: where Z is the
 * constant 7^n - 1, on the coset, a b - c is interpolated by what interpolates a b there, less c itself, whose degree
 * is below n: h = (interpolate(a b) - c) / Z, and c needs only its coefficients. The last pass of b takes the product
 * and the first pass of the last transform with it. That undoes the P of to_coset: the share of a b is 7^-i / n F(a
 * b)_i; that of c is P F(c) / n. */
static cuzk_status share_of_ab_three_pass(zk_cuda *d, fr *a, fr *b, const ntt_shape &s, const table_set &t,
                                          cuzk_err *err) {
    ZK_TRY(to_coset(d, a, s, t, err));
    ntt_pass_args p = pass_of(s, t, 1, a, a, PASS_BEFORE | PASS_CANONICAL);
    p.before = first_factors(s, t);
    ZK_TRY(run_pass(d, s.n1, p, err));
    ZK_TRY(to_coset(d, b, s, t, err));
    p = pass_of(s, t, 1, b, b, PASS_BEFORE | PASS_TWICE | PASS_POINTWISE | PASS_AFTER);
    p.times = a;
    p.before = p.after = first_factors(s, t);
    ZK_TRY(run_pass(d, s.n1, p, err));
    p = pass_of(s, t, 2, b, b, PASS_AFTER);
    p.after.known = t.coset_second;
    ZK_TRY(run_pass(d, s.n2, p, err));
    p = pass_of(s, t, 3, b, a, PASS_AFTER | PASS_AFTER_K1 | PASS_NATURAL | PASS_CANONICAL);
    p.after.known = t.final;
    return run_pass(d, s.n3, p, err);
}

static cuzk_status share_of_c_three_pass(zk_cuda *d, fr *a, fr *c, const ntt_shape &s, const table_set &t,
                                         cuzk_err *err) {
    ZK_TRY(first_passes(d, c, s, t, t.quotient_second, err));
    ntt_pass_args p = pass_of(s, t, 3, c, a, PASS_NATURAL | PASS_NEGATE | PASS_CANONICAL | PASS_ADD);
    return run_pass(d, s.n3, p, err);
}

/* Fewer points, by seven transforms: a b / Z on the coset, c by its coefficients as above. */
static fr inverse_of_z(const ntt_shape &s) { return inverse(sub(sqr_times(shift(), s.log_n), fr::one())); }

static cuzk_status share_of_ab_plain(zk_cuda *d, fr *a, fr *b, const ntt_shape &s, const table_set &t, cuzk_err *err) {
    for (fr *x : {a, b}) {
        ZK_TRY(ntt(d, x, s, t, ZK_CUDA_NTT_INVERSE, err));
        ZK_TRY(ntt(d, x, s, t, ZK_CUDA_NTT_COSET_FORWARD, err));
    }
    const u32 n = 1u << s.log_n;
    ZK_RUN_EACH(scaled_products, n, 256, d->main, a, b, n, inverse_of_z(s));
    return ntt(d, a, s, t, ZK_CUDA_NTT_COSET_INVERSE, err);
}

static cuzk_status share_of_c_plain(zk_cuda *d, fr *a, fr *c, const ntt_shape &s, const table_set &t, cuzk_err *err) {
    ZK_TRY(ntt(d, c, s, t, ZK_CUDA_NTT_INVERSE, err));
    const u32 n = 1u << s.log_n;
    ZK_RUN_EACH(subtract_scaled, n, 256, d->main, a, c, n, inverse_of_z(s));
    return CUZK_OK;
}

/* a b on the coset, at 7 w^-j. The last pass of b takes a as a table of factors. */
static cuzk_status products_three_pass(zk_cuda *d, fr *a, fr *b, const ntt_shape &s, const table_set &t,
                                       cuzk_err *err) {
    for (fr *x : {a, b}) {
        ZK_TRY(to_coset(d, x, s, t, err));
        ntt_pass_args p = pass_of(s, t, 1, x, a, PASS_BEFORE | PASS_CANONICAL);
        p.before = first_factors(s, t);
        if (x == b) {
            p.flags |= PASS_AFTER;
            p.after.high = a; /* an element is read by the thread that writes it */
        }
        ZK_TRY(run_pass(d, s.n1, p, err));
    }
    return CUZK_OK;
}

static cuzk_status products_plain(zk_cuda *d, fr *a, fr *b, const ntt_shape &s, const table_set &t, cuzk_err *err) {
    for (fr *x : {a, b}) {
        ZK_TRY(ntt(d, x, s, t, ZK_CUDA_NTT_INVERSE, err));
        ZK_TRY(ntt(d, x, s, t, ZK_CUDA_NTT_COSET_FORWARD, err));
    }
    ZK_RUN_EACH(product_points, (u64)1 << s.log_n, 256, d->main, a, b, s.log_n);
    return CUZK_OK;
}

/* Checks the size and makes the device current: the start of every call, with its shape. */
static cuzk_status begin(ntt_shape *s, zk_cuda *d, unsigned log2_n, cuzk_err *err) {
    if (log2_n > MOST_LOG2)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "ntt of 2^%u points, at most 2^%u", log2_n, MOST_LOG2);
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    *s = shape_of(log2_n);
    return CUZK_OK;
}
/* The same with its tables. */
static cuzk_status begin(ntt_shape *s, table_set *t, zk_cuda *d, unsigned log2_n, zk_dptr twiddles, cuzk_err *err) {
    ZK_TRY(begin(s, d, log2_n, err));
    return make_tables(t, d, *s, twiddles, err);
}

typedef cuzk_status (*pair_work)(zk_cuda *, fr *, fr *, const ntt_shape &, const table_set &, cuzk_err *);

/* What is done with two vectors, in the form for transforms of three passes or in that for all others. */
static cuzk_status on_pair(pair_work three_pass, pair_work plain, zk_cuda *d, zk_dptr x, zk_dptr y, unsigned log2_n,
                    zk_dptr twiddles, cuzk_err *err) {
    ntt_shape s;
    table_set t;
    ZK_TRY(begin(&s, &t, d, log2_n, twiddles, err));
    return (s.passes == 3 ? three_pass : plain)(d, (fr *)x, (fr *)y, s, t, err);
}

} // namespace zk

extern "C" {

cuzk_status zk_cuda_ntt(zk_cuda *d, zk_dptr x, unsigned log2_n, zk_cuda_ntt_kind kind, zk_dptr twiddles,
                        cuzk_err *err) {
    zk::ntt_shape s;
    zk::table_set t;
    ZK_TRY(zk::begin(&s, &t, d, log2_n, twiddles, err));
    return zk::ntt(d, (zk::fr *)x, s, t, kind, err);
}

cuzk_status zk_cuda_ntt_quotient_ab(zk_cuda *d, zk_dptr a, zk_dptr b, unsigned log2_n, zk_dptr twiddles,
                                    cuzk_err *err) {
    return zk::on_pair(zk::share_of_ab_three_pass, zk::share_of_ab_plain, d, a, b, log2_n, twiddles, err);
}

cuzk_status zk_cuda_ntt_quotient_c(zk_cuda *d, zk_dptr a, zk_dptr c, unsigned log2_n, zk_dptr twiddles, cuzk_err *err) {
    return zk::on_pair(zk::share_of_c_three_pass, zk::share_of_c_plain, d, a, c, log2_n, twiddles, err);
}

cuzk_status zk_cuda_ntt_quotient(zk_cuda *d, zk_dptr a, zk_dptr b, zk_dptr c, unsigned log2_n, zk_dptr twiddles,
                                 cuzk_err *err) {
    ZK_TRY(zk_cuda_ntt_quotient_ab(d, a, b, log2_n, twiddles, err));
    return zk_cuda_ntt_quotient_c(d, a, c, log2_n, twiddles, err);
}

cuzk_status zk_cuda_ntt_products(zk_cuda *d, zk_dptr a, zk_dptr b, unsigned log2_n, zk_dptr twiddles, cuzk_err *err) {
    return zk::on_pair(zk::products_three_pass, zk::products_plain, d, a, b, log2_n, twiddles, err);
}

void zk_cuda_ntt_bytes(size_t *tables, size_t *temporary, unsigned log2_n) {
    zk::table_set measure;
    const zk::ntt_shape s = zk::shape_of(log2_n);
    *tables = zk_cuda_alloc_bytes(zk::deal_tables(&measure, nullptr, s));
    *temporary = s.passes == 2 ? zk_cuda_alloc_bytes(sizeof(zk::fr) << log2_n) : 0; /* three passes do without */
}

cuzk_status zk_cuda_ntt_prepare(zk_cuda *d, unsigned log2_n, cuzk_err *err) {
    zk::ntt_shape s;
    zk::table_set t;
    return zk::begin(&s, &t, d, log2_n, 0, err);
}

cuzk_status zk_cuda_ntt_twiddles(zk_dptr *twiddles, zk_cuda *d, unsigned log2_n, cuzk_err *err) {
    using namespace zk;
    ntt_shape s;
    table_set t;
    *twiddles = 0;
    ZK_TRY(begin(&s, d, log2_n, err));
    if (s.passes != 3) return CUZK_OK;
    ZK_TRY(make_tables(&t, d, s, 0, err));
    const u32 n = 1u << log2_n;
    zk_dptr table;
    ZK_TRY(zk_cuda_alloc(&table, d, (size_t)n * sizeof(fr), "twiddles", err));
    const auto fill_it = [&]() -> cuzk_status {
        ZK_RUN_EACH(full_table, n, 256, d->main, (fr *)table, n, s.rest(), first_factors(s, t));
        return zk_cuda_sync(d, err); /* other queues read it, too */
    };
    const cuzk_status status = fill_it();
    if (status == CUZK_OK)
        *twiddles = table;
    else
        zk_cuda_free(d, table);
    return status;
}

} /* extern "C" */
