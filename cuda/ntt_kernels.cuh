/* Kernels of the number-theoretic transform over Fr.
 *
 * n = N1 N2 N3, input index i = (i1 N2 + i2) N3 + i3, output index k = k1 + N1 (k2 + N2 k3), w of order n.
 *
 *   pass 1   over i1, stride N2 N3:  then times w^(k1 (i2 N3 + i3))
 *   pass 2   over i2, stride N3:     then times w^(N1 k2 i3)
 *   pass 3   over i3, contiguous
 *
 * each in place; the result for k lies at (k1, k2, k3), and pass 3 can store to k instead (into another buffer). Run
 * the other way round (pass 3, times, pass 2, times, pass 1) the same passes take that order back to the natural one,
 * so that a pair of transforms with something pointwise between them needs no reordering.
 *
 * A pass is one kernel, ntt_pass<LOGR>: R = 2^LOGR points each, 8 in a thread, 1024 in a block of 128 threads; radix-8
 * rounds (a last round of 2 or 4 where LOGR is no multiple of 3) with an exchange through shared memory between them.
 * All multiplications by known factors share one piece of code, all butterflies another, so that a pass fits the
 * instruction cache. Values are in [0, 2r) on the way; mul_factor, and mul_lazy with a canonical factor, keep them
 * there.
 *
 * Multiplications a point for 2^27: 3 x 3.25 inside passes, 2 between them (3 with two-level tables): 11.75 instead
 * of 13.5.
 */
#ifndef ZK_CUDA_NTT_KERNELS_CUH
#define ZK_CUDA_NTT_KERNELS_CUH

#include "device.cuh"
#include "factor.cuh"
#include "inverse.cuh"

namespace zk {

constexpr int NTT_THREADS = 128, NTT_POINTS = 8 * NTT_THREADS, NTT_MAX_LOGR = 10;
constexpr size_t NTT_SHARED_BYTES = (NTT_POINTS + NTT_POINTS / 8) * sizeof(fr);

/* Factors by (row, column) of a pass: known ones, known[row columns + column]; or values in Montgomery form, from one
 * table, high[row columns + column], or the product of two, high[row (columns >> low_bits) + (column >> low_bits)]
 * low[(row << low_bits) + (column mod 2^low_bits)]. */
struct factor_table {
    const fr_factor *known = nullptr;
    const fr *high = nullptr, *low = nullptr;
    u32 low_bits = 0;
};

enum pass_flags : u32 {
    PASS_ROWS = 1,        /* points are contiguous (pass 3), not strided (passes 1 and 2) */
    PASS_NATURAL = 2,     /* rows: store to natural order */
    PASS_NEGATE = 4,      /* with NATURAL: to index -k mod n */
    PASS_BEFORE = 8,      /* multiply by `before` after loading */
    PASS_AFTER = 16,      /* multiply by `after` before storing */
    PASS_TWICE = 32,      /* two transforms, the `middle` step between */
    PASS_POINTWISE = 64,  /* the middle step is v *= times[its place], otherwise v *= middle[k1][row] */
    PASS_CANONICAL = 128, /* reduce before storing */
    PASS_ADD = 256,       /* with CANONICAL: add to what is there, canonical too */
    PASS_AFTER_K1 = 512,  /* rows: `after` is [N1][R] */
};
struct ntt_pass_args {
    const fr *src;
    fr *dst;
    u32 flags;
    u32 log_n, log_columns; /* strided: distance of points = 2^log_columns; rows: 0 */
    u32 log_n1, log_n2;     /* rows: see above */
    const uint4 *stages;    /* factors inside a pass, see stage_of */
    factor_table before, after;
    const fr_factor *middle; /* rows: [N1][R] */
    fr middle_fix;           /* further factor of k = 0, Montgomery form */
    const fr *times;         /* pointwise: [n], canonical */
};

/* With w = 7^((r-1)/8) of order 8: w^2, (w + w^3) / 2, (w - w^3) / 2. */
enum eighth_factor { EIGHTH_SQUARE, EIGHTH_SUM, EIGHTH_DIFFERENCE };
template <eighth_factor K> ZK_HD fr_factor eighth() {
    constexpr u32 v[3][2][8] = {
        {{0x00000000u, 0x00010000u, 0x76030000u, 0xec030002u, 0x760304d0u, 0x8d51ccceu, 0x00000000u, 0x00000000u},
         {0x5576304fu, 0x61c5d9dau, 0x3e76ec2au, 0x33cfcc0du, 0x56cd56b5u, 0x381204cau, 0x00000001u, 0x00000000u}},
        {{0xa306c7d4u, 0x69307ddau, 0x8de2036cu, 0x20ffd8fcu, 0x9daf1e24u, 0x23614066u, 0x306dbb96u, 0x23c58c92u},
         {0xca853396u, 0x8a8dc2a9u, 0x7f68e2f3u, 0x93bdc41bu, 0xf62d255cu, 0x00ad26bbu, 0x0956072du, 0x4efe41cau}},
        {{0xf46d77a6u, 0x08f87f58u, 0xf931b394u, 0x928b48c5u, 0xd3285ebeu, 0x68a4e566u, 0xd38cab51u, 0x1091da63u},
         {0x0937dc72u, 0xda6003c9u, 0x9a31192fu, 0x8e381741u, 0x4c1e8070u, 0x305e3aa4u, 0x4adf8f8au, 0x24971e36u}},
    };
    fr_factor f;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        f.w.l[i] = v[K][0][i];
        f.q.l[i] = v[K][1][i];
    }
    return f;
}
/* Of the factors, those with few limbs by fewer multiplications. */
ZK_HD fr mul_square_of_eighth(const fr &v) { return mul_factor<0x3e, 7>(eighth<EIGHTH_SQUARE>(), v); }

/* Factors w_s^(u k) between the rounds of a pass, w_s of order s = 2^log_s from 16 to 1024, 0 < k < 8, u < s / 8: their
 * quarters (of 16 bytes) as stage_of(stages, log_s)[4 (k - 1) + quarter][u], so that a warp, whose threads differ in u,
 * reads few lines of the cache. */
constexpr int STAGE_FIRST = 4, STAGE_LAST = NTT_MAX_LOGR;
ZK_HD constexpr size_t stage_offset(u32 log_s) { return 28 * (((size_t)1 << (log_s - 3)) - 2); }
template <class T> ZK_HD T *stage_of(T *stages, u32 log_s) { return stages + stage_offset(log_s); }
constexpr size_t STAGES_SIZE = stage_offset(STAGE_LAST + 1);

/* A factor whose quarters lie `step` apart. */
ZK_HD fr_factor load_quarters(const uint4 *p, u32 step) {
    fr_factor f;
    const uint4 a = *p, b = p[step], c = p[2 * step], d = p[3 * step];
    f.w = fr{{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
    f.q = fr{{c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w}};
    return f;
}

ZK_HD void butterfly(fr &a, fr &b) {
    const fr s = add_mod<2>(a, b);
    b = sub_mod<2>(a, b);
    a = s;
}

/* 8-, twice 4- or four times 2-point transforms of consecutive values, results in bit-reversed places. The odd results
 * of 8 points are a 4-point transform of d0, w d1, w^2 d2, w^3 d3; what it needs of d1 and d3, w d1 + w^3 d3 and w^2 (w
 * d1 - w^3 d3) = w^3 d1 + w d3, are sum and difference of (d1 + d3)(w + w^3)/2 and (d1 - d3)(w - w^3)/2: four
 * multiplications in all instead of five. */
ZK_HD void small_transforms(fr v[8], u32 radix) {
    if (radix == 8) {
#pragma unroll
        for (int k = 0; k < 4; k++) butterfly(v[k], v[k + 4]);
        butterfly(v[5], v[7]);
        v[5] = mul_factor(eighth<EIGHTH_SUM>(), v[5]);
        v[6] = mul_square_of_eighth(v[6]);
        v[7] = mul_factor(eighth<EIGHTH_DIFFERENCE>(), v[7]);
    }
    if (radix >= 4) {
#pragma unroll
        for (int k = 0; k < 8; k += 4) {
            butterfly(v[k], v[k + 2]);
            butterfly(v[k + 1], v[k + 3]);
        }
        v[3] = mul_square_of_eighth(v[3]);
        if (radix == 4) v[7] = mul_square_of_eighth(v[7]);
    }
#pragma unroll
    for (int k = 0; k < 8; k += 2) butterfly(v[k], v[k + 1]);
}

ZK_HD constexpr int reverse3(int k) { return ((k & 1) << 2) | (k & 2) | (k >> 2); }

template <int LOGR> __global__ void __launch_bounds__(NTT_THREADS, 512 / NTT_THREADS) ntt_pass(ntt_pass_args p) {
    constexpr u32 T = 1u << (LOGR - 3); /* threads a transform */
    constexpr u32 C = NTT_THREADS / T;  /* transforms a block */
    constexpr u32 ROUNDS = (LOGR + 2) / 3, LAST = LOGR % 3 == 0 ? 8 : LOGR % 3 == 1 ? 2 : 4;
    ZK_DYNAMIC_SHARED(uint4, shared); /* halves of 16 bytes: [2][POINTS + padding] */
    constexpr u32 HALF = NTT_POINTS + NTT_POINTS / 8;

    const u32 c = threadIdx.x % C;
    u32 t = threadIdx.x / C;
    const u32 unit = blockIdx.x * C + c;
    const bool active = ((u64)unit << LOGR) < ((u64)1 << p.log_n);
    u32 base, log_stride, column = 0;
    if (p.flags & PASS_ROWS) {
        const u32 k1 = unit & ((1u << p.log_n1) - 1), k2 = unit >> p.log_n1;
        base = ((k1 << p.log_n2) + k2) << LOGR;
        log_stride = 0;
    } else {
        column = unit & ((1u << p.log_columns) - 1);
        base = ((unit >> p.log_columns) << (LOGR + p.log_columns)) + column;
        log_stride = p.log_columns;
    }

    fr v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        v[reverse3(k)] = fr::zero();
        if (active) v[reverse3(k)] = load(&p.src[base + (size_t)((t + T * k) << log_stride)]);
    }
    /* From here value number k of the thread is v[reverse3(k)] at the multiplications. */
    u32 row = t, round = 0;
    const u32 total = p.flags & PASS_TWICE ? 2 * ROUNDS : ROUNDS;
    u32 u = 0, log_s = LOGR; /* of the round done last */
#pragma unroll 1
    for (u32 it = 0; it <= total; it++) {
        enum { NONE, KNOWN, VALUES, TWO_TABLES } kind = KNOWN;
        const u32 by_k1 = (unit & ((1u << p.log_n1) - 1)) << LOGR; /* rows: of a table [N1][R] */
        const bool inside = round && it != total;                  /* a transform, where the first factor is one */
        const fr_factor *known = nullptr;
        const uint4 *quarters = nullptr; /* of the first known factor, */
        u32 quarter_step = 1;            /* this far apart, those of the next one four times as far */
        const fr *f = nullptr, *f2 = nullptr;
        size_t step = 0, at = 0, at2 = 0, step2 = 0;
        if (it == 0 || it == total) {
            const factor_table &table = it ? p.after : p.before;
            kind = !(p.flags & (it ? PASS_AFTER : PASS_BEFORE)) ? NONE
                   : table.known                                ? KNOWN
                   : table.low                                  ? TWO_TABLES
                                                                : VALUES;
            known = table.known;
            f = table.high;
            f2 = table.low;
            at = ((size_t)row << (p.log_columns - table.low_bits)) + (column >> table.low_bits);
            step = (size_t)T << (p.log_columns - table.low_bits);
            at2 = ((size_t)row << table.low_bits) + (column & ((1u << table.low_bits) - 1));
            step2 = (size_t)T << table.low_bits;
            if (p.flags & PASS_AFTER_K1) at += by_k1;
        } else if (inside) {
            quarter_step = 1u << (log_s - 3);
            quarters = stage_of(p.stages, log_s) + u - 4 * quarter_step;
        } else if (p.flags & PASS_POINTWISE) {
            kind = VALUES;
            f = p.times;
            at = base + ((size_t)row << log_stride);
            step = (size_t)T << log_stride;
        } else {
            known = p.middle;
            at = by_k1 + row;
            step = T;
        }
        if (kind == KNOWN && active) {
            const size_t factor_step = inside ? 4 * quarter_step : 4 * step;
            if (!inside) quarters = (const uint4 *)(known + at);
#pragma unroll
            for (int k = 0; k < 8; k++)
                if (k || !inside)
                    v[reverse3(k)] =
                        mul_factor(load_quarters(quarters + factor_step * k, quarter_step), v[reverse3(k)]);
        }
        if (kind >= VALUES && active) {
#pragma unroll
            for (int k = 0; k < 8; k++) v[reverse3(k)] = mul_lazy(load(&f[at + step * k]), v[reverse3(k)]);
        }
        if (kind == TWO_TABLES && active) {
#pragma unroll
            for (int k = 0; k < 8; k++) v[reverse3(k)] = mul_lazy(load(&f2[at2 + step2 * k]), v[reverse3(k)]);
        }
        if (it && !inside && it != total && !(p.flags & PASS_POINTWISE) && unit == 0 && row == 0)
            v[0] = mul_lazy(p.middle_fix, v[0]);
        if (it == total) break;

        u32 radix = 8;
        if (round == 0) { /* values are in reversed places: put them in order */
            fr x = v[1];
            v[1] = v[4];
            v[4] = x;
            x = v[3];
            v[3] = v[6];
            v[6] = x;
            log_s = LOGR;
            t = row;
            u = t; /* the first round has one group */
        } else {   /* through shared memory from the places of the round before */
            const u32 g = t >> (log_s - 3), s8 = 1u << (log_s - 3);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < 8; k++) {
                u32 e = ((g << log_s) + (k * s8) + u) * C + c;
                e += e / (8 * C) * C; /* no bank conflicts */
                const fr &x = v[reverse3(k)];
                shared[e] = make_uint4(x.l[0], x.l[1], x.l[2], x.l[3]);
                shared[HALF + e] = make_uint4(x.l[4], x.l[5], x.l[6], x.l[7]);
            }
            __syncthreads();
            log_s -= 3;
            t = threadIdx.x / C;
            radix = round == ROUNDS - 1 ? LAST : 8;
#pragma unroll
            for (int k = 0; k < 8; k++) {
                u32 e;
                if (radix == 8)
                    e = ((t >> (log_s - 3)) << log_s) + (t & ((1u << (log_s - 3)) - 1)) + ((u32)k << (log_s - 3));
                else if (radix == 4) /* groups whose numbers differ in bit 2 */
                    e = ((((t >> 2) << 3) | ((u32)(k >> 2) << 2) | (t & 3)) << 2) + (k & 3);
                else /* in bits 1 and 2 */
                    e = ((((t >> 1) << 3) | ((u32)((k >> 1) & 1) << 2) | ((u32)(k >> 2) << 1) | (t & 1)) << 1) +
                        (k & 1);
                e = e * C + c;
                e += e / (8 * C) * C; /* no bank conflicts */
                const uint4 lo = shared[e], hi = shared[HALF + e];
                fr x;
                x.l[0] = lo.x, x.l[1] = lo.y, x.l[2] = lo.z, x.l[3] = lo.w;
                x.l[4] = hi.x, x.l[5] = hi.y, x.l[6] = hi.z, x.l[7] = hi.w;
                v[k] = x;
            }
            u = radix == 8 ? t & ((1u << (log_s - 3)) - 1) : 0;
        }
        small_transforms(v, radix);
        if (++round == ROUNDS) {
            /* Result k is row `row` + T k: the digits of the group number, reversed. */
            u32 group = LAST == 8 ? t : LAST == 4 ? ((t >> 2) << 3) | (t & 3) : ((t >> 1) << 3) | (t & 1);
            row = 0;
#pragma unroll
            for (u32 d = 0; d + 1 < ROUNDS; d++) {
                row = (row << 3) | (group & 7);
                group >>= 3;
            }
            round = 0;
        }
    }
    if (!active) return;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const u32 r = row + T * k;
        u32 e = base + (r << log_stride);
        if (p.flags & PASS_NATURAL) {
            e = (r << (p.log_n1 + p.log_n2)) + unit;
            if (p.flags & PASS_NEGATE) e = (0u - e) & ((1u << p.log_n) - 1);
        }
        fr x = v[reverse3(k)];
        if (p.flags & PASS_CANONICAL) x = canonical(x);
        if (p.flags & PASS_ADD) x = add(x, load(&p.dst[e]));
        store(&p.dst[e], x);
    }
}

/* out[row 2^log_columns + column] = scale x^(row column) y^row z^column, of n entries: values, or known factors */
__global__ void __launch_bounds__(256) power_table(fr *out, u32 n, u32 log_columns, fr x, fr y, fr z, fr scale);
__global__ void __launch_bounds__(256)
    power_factors(fr_factor *out, u32 n, u32 log_columns, fr x, fr y, fr z, fr scale);
/* stage[4 (k - 1) + quarter][u] for one order s, w_s = w */
__global__ void __launch_bounds__(256) stage_factors(uint4 *stage, u32 log_s, fr w);
/* full[row][column] = high * low */
__global__ void __launch_bounds__(256) full_table(fr *out, u32 n, u32 log_columns, factor_table table);
/* x[i] *= high[i >> 14] low[i mod 2^14] */
__global__ void __launch_bounds__(256) scale_powers(fr *x, u32 n, factor_table table);
/* Transforms of 2^log_n <= 4 points by definition, results times scale. */
__global__ void tiny_transform(fr *x, u32 log_n, fr w, fr scale);
/* a = a b scale */
__global__ void __launch_bounds__(256) scaled_products(fr *a, const fr *b, u32 n, fr scale);
/* a = a - c scale */
__global__ void __launch_bounds__(256) subtract_scaled(fr *a, const fr *c, u32 n, fr scale);
/* a_i b_i to a_(-i mod n) */
__global__ void __launch_bounds__(256) product_points(fr *a, const fr *b, u32 log_n);
/* In place: (k1, k2, k3) with (k3, k2, k1), N1 = N3; and i with -i mod n. */
__global__ void __launch_bounds__(256) swap_digits(fr *x, u32 log_n1, u32 log_n2);
__global__ void __launch_bounds__(256) swap_negative(fr *x, u32 log_n);

} // namespace zk
#endif
