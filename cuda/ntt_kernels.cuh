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
    PASS_ROWS = 1,         /* points are contiguous (pass 3), not strided (passes 1 and 2) */
    PASS_NATURAL = 2,      /* rows: store to natural order */
    PASS_NEGATE = 4,       /* with NATURAL: to index -k mod n */
    PASS_BEFORE = 8,       /* multiply by `before` after loading */
    PASS_AFTER = 16,       /* multiply by `after` before storing */
    PASS_TWICE = 32,       /* two transforms, the `middle` step between */
    PASS_POINTWISE = 64,   /* the middle step is v *= times[its place], otherwise v *= middle[k1][row] */
    PASS_CANONICAL = 128,  /* reduce before storing */
    PASS_ADD = 256,        /* with CANONICAL: add to what is there, canonical too */
    PASS_AFTER_K1 = 512,   /* rows: `after` is known ones, [N1][R] */
    PASS_AFTER_ONE = 1024, /* rows: `after` is one known factor for all */
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

/* ---- a pass ---- */

template <int LOGR> struct pass_layout {
    static constexpr u32 THREADS = 1u << (LOGR - 3);         /* of a transform, with eight points each */
    static constexpr u32 TRANSFORMS = NTT_THREADS / THREADS; /* of a block */
    static constexpr u32 ROUNDS = (LOGR + 2) / 3, LAST_RADIX = LOGR % 3 == 0 ? 8 : LOGR % 3 == 1 ? 2 : 4;
};

/* Where a transform lies: its point number i is element base + (i << log_stride) of the array. */
struct pass_place {
    u32 unit; /* its number */
    u32 base, log_stride;
    u32 column; /* in the tables of factors; rows: 0 */
};
template <int LOGR> ZK_HD pass_place place_of(const ntt_pass_args &p, u32 unit) {
    if (p.flags & PASS_ROWS) {
        const u32 k1 = unit & ((1u << p.log_n1) - 1), k2 = unit >> p.log_n1;
        return pass_place{unit, ((k1 << p.log_n2) + k2) << LOGR, 0, 0};
    }
    const u32 column = unit & ((1u << p.log_columns) - 1);
    return pass_place{unit, ((unit >> p.log_columns) << (LOGR + p.log_columns)) + column, p.log_columns, column};
}

/* Between small transforms a thread's value number k is v[reverse3(k)], as these leave it. Before the first round and
 * after the last one it is point, or result, row + THREADS k. */
template <int LOGR> ZK_HD void load_points(fr v[8], const ntt_pass_args &p, const pass_place &at, u32 row, bool there) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
        v[reverse3(k)] = fr::zero();
        if (there)
            v[reverse3(k)] = load(&p.src[at.base + (size_t)((row + pass_layout<LOGR>::THREADS * k) << at.log_stride)]);
    }
}
template <int LOGR> ZK_HD void store_results(const fr v[8], const ntt_pass_args &p, const pass_place &at, u32 row) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const u32 r = row + pass_layout<LOGR>::THREADS * k;
        u32 e = at.base + (r << at.log_stride);
        if (p.flags & PASS_NATURAL) {
            e = (r << (p.log_n1 + p.log_n2)) + at.unit;
            if (p.flags & PASS_NEGATE) e = (0u - e) & ((1u << p.log_n) - 1);
        }
        fr x = v[reverse3(k)];
        if (p.flags & PASS_CANONICAL) x = canonical(x);
        if (p.flags & PASS_ADD) x = add(x, load(&p.dst[e]));
        store(&p.dst[e], x);
    }
}

/* What a step multiplies by. Known factors: that of value k lies at quarters + k next, its quarters quarter_step apart.
 * Values: high[k high_step], and of two tables times low[k low_step]. */
struct step_factors {
    enum { NONE, KNOWN, VALUES, TWO_TABLES } kind = KNOWN;
    bool first_is_one = false; /* there is none for value 0 */
    const uint4 *quarters = nullptr;
    u32 quarter_step = 1;
    size_t next = 0;
    const fr *high = nullptr, *low = nullptr;
    size_t high_step = 0, low_step = 0;
};

/* Of the table before the first round or after the last one. */
template <int LOGR>
ZK_HD void factors_between_passes(step_factors &f, const ntt_pass_args &p, const pass_place &place, u32 row,
                                  bool after) {
    constexpr size_t T = pass_layout<LOGR>::THREADS;
    const factor_table &table = after ? p.after : p.before;
    if (!(p.flags & (after ? PASS_AFTER : PASS_BEFORE))) {
        f.kind = f.NONE;
        return;
    }
    const u32 log_highs = p.log_columns - table.low_bits; /* of a row */
    size_t at = ((size_t)row << log_highs) + (place.column >> table.low_bits), step = T << log_highs;
    if (table.known) {
        if (p.flags & PASS_AFTER_K1) at += (place.unit & ((1u << p.log_n1) - 1)) << LOGR;
        if (p.flags & PASS_AFTER_ONE) at = step = 0;
        f.quarters = (const uint4 *)(table.known + at);
        f.next = 4 * step;
        return;
    }
    f.kind = f.VALUES;
    f.high = table.high + at;
    f.high_step = step;
    if (table.low) {
        f.kind = f.TWO_TABLES;
        f.low = table.low + ((size_t)row << table.low_bits) + (place.column & ((1u << table.low_bits) - 1));
        f.low_step = T << table.low_bits;
    }
}

/* Between two rounds of a transform, the one done last on groups of 2^log_s points: w_s^(u k). */
ZK_HD void factors_between_rounds(step_factors &f, const ntt_pass_args &p, u32 log_s, u32 u) {
    f.first_is_one = true;
    f.quarter_step = 1u << (log_s - 3);
    f.next = 4 * f.quarter_step;
    f.quarters = stage_of(p.stages, log_s) + u - f.next;
}

/* Between the two transforms of PASS_TWICE. */
template <int LOGR>
ZK_HD void factors_between_transforms(step_factors &f, const ntt_pass_args &p, const pass_place &place, u32 row) {
    constexpr size_t T = pass_layout<LOGR>::THREADS;
    if (p.flags & PASS_POINTWISE) {
        f.kind = f.VALUES;
        f.high = p.times + place.base + ((size_t)row << place.log_stride);
        f.high_step = T << place.log_stride;
    } else {
        f.quarters = (const uint4 *)(p.middle + ((place.unit & ((1u << p.log_n1) - 1)) << LOGR) + row);
        f.next = 4 * T;
    }
}

ZK_HD void multiply(fr v[8], const step_factors &f) {
    if (f.kind == f.KNOWN) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (k || !f.first_is_one)
                v[reverse3(k)] = mul_factor(load_quarters(f.quarters + f.next * k, f.quarter_step), v[reverse3(k)]);
    }
    if (f.kind >= f.VALUES) {
#pragma unroll
        for (int k = 0; k < 8; k++) v[reverse3(k)] = mul_lazy(load(&f.high[f.high_step * k]), v[reverse3(k)]);
    }
    if (f.kind == f.TWO_TABLES) {
#pragma unroll
        for (int k = 0; k < 8; k++) v[reverse3(k)] = mul_lazy(load(&f.low[f.low_step * k]), v[reverse3(k)]);
    }
}

/* From the places in which small transforms leave values to those in which they take them. */
ZK_HD void put_in_order(fr v[8]) {
    fr x = v[1];
    v[1] = v[4];
    v[4] = x;
    x = v[3];
    v[3] = v[6];
    v[6] = x;
}

/* Shared memory of a pass, as halves of values: [2][points and gaps]. The transforms of a block lie side by side; a gap
 * after each eight points keeps threads that differ in the next one off each other's banks. */
template <int LOGR> struct exchange {
    static constexpr u32 HALF = NTT_POINTS + NTT_POINTS / 8, C = pass_layout<LOGR>::TRANSFORMS;
    uint4 *shared;
    u32 transform; /* in the block */
    __device__ __forceinline__ u32 place(u32 point) const {
        const u32 e = point * C + transform;
        return e + e / (8 * C) * C;
    }
    __device__ __forceinline__ void put(u32 point, const fr &x) const {
        const u32 e = place(point);
        shared[e] = make_uint4(x.l[0], x.l[1], x.l[2], x.l[3]);
        shared[HALF + e] = make_uint4(x.l[4], x.l[5], x.l[6], x.l[7]);
    }
    __device__ __forceinline__ fr get(u32 point) const {
        const u32 e = place(point);
        const uint4 lo = shared[e], hi = shared[HALF + e];
        return fr{{lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w}};
    }
};

/* Which point thread t of a transform has as value k in a round on groups of 2^log_s points. In a last round of radix 4
 * or 2 a thread has two or four groups, those whose numbers differ in bit 2, in bits 1 and 2. */
ZK_HD u32 point_in_round(u32 radix, u32 log_s, u32 t, int k) {
    if (radix == 8) return ((t >> (log_s - 3)) << log_s) + (t & ((1u << (log_s - 3)) - 1)) + ((u32)k << (log_s - 3));
    if (radix == 4) return ((((t >> 2) << 3) | ((u32)(k >> 2) << 2) | (t & 3)) << 2) + (k & 3);
    return ((((t >> 1) << 3) | ((u32)((k >> 1) & 1) << 2) | ((u32)(k >> 2) << 1) | (t & 1)) << 1) + (k & 1);
}

/* The row of result 0 after the last round: the digits of the number of the thread's first group, reversed. */
template <int LOGR> ZK_HD u32 row_of_results(u32 t) {
    typedef pass_layout<LOGR> layout;
    u32 row = 0, group = layout::LAST_RADIX == 8   ? t
                         : layout::LAST_RADIX == 4 ? ((t >> 2) << 3) | (t & 3)
                                                   : ((t >> 1) << 3) | (t & 1);
#pragma unroll
    for (u32 d = 0; d + 1 < layout::ROUNDS; d++) {
        row = (row << 3) | (group & 7);
        group >>= 3;
    }
    return row;
}

/* Steps are: multiply by the factors that come before, between or after rounds, then, but for the last step, bring the
 * values into place and transform them. One loop over all of them has each piece of code once. */
template <int LOGR> __global__ void __launch_bounds__(NTT_THREADS, 512 / NTT_THREADS) ntt_pass(ntt_pass_args p) {
    typedef pass_layout<LOGR> layout;
    ZK_DYNAMIC_SHARED(uint4, shared);
    const exchange<LOGR> others{shared, threadIdx.x % layout::TRANSFORMS};
    const u32 thread = threadIdx.x / layout::TRANSFORMS;
    const pass_place place = place_of<LOGR>(p, blockIdx.x * layout::TRANSFORMS + others.transform);
    const bool active = ((u64)place.unit << LOGR) < ((u64)1 << p.log_n); /* the last block may have too many */
    fr v[8];
    load_points<LOGR>(v, p, place, thread, active);
    u32 row = thread, round = 0;
    u32 t = thread, log_s = LOGR, u = 0; /* of the round done last: whose values it has, on groups of 2^log_s, at u */
    const u32 last_step = p.flags & PASS_TWICE ? 2 * layout::ROUNDS : layout::ROUNDS;
#pragma unroll 1
    for (u32 step = 0; step <= last_step; step++) {
        const bool between_transforms = step && step != last_step && !round;
        step_factors f;
        if (step == 0 || step == last_step)
            factors_between_passes<LOGR>(f, p, place, row, step != 0);
        else if (round)
            factors_between_rounds(f, p, log_s, u);
        else
            factors_between_transforms<LOGR>(f, p, place, row);
        if (active) multiply(v, f);
        if (between_transforms && !(p.flags & PASS_POINTWISE) && place.unit == 0 && row == 0)
            v[0] = mul_lazy(p.middle_fix, v[0]);
        if (step == last_step) break;

        u32 radix = 8;
        if (round == 0) { /* one group, and the thread has what it needs */
            put_in_order(v);
            log_s = LOGR;
            u = t = row;
        } else {
            const u32 group = t >> (log_s - 3);
            __syncthreads();
#pragma unroll
            for (int k = 0; k < 8; k++) others.put((group << log_s) + (k << (log_s - 3)) + u, v[reverse3(k)]);
            __syncthreads();
            log_s -= 3;
            t = thread;
            if (round == layout::ROUNDS - 1) radix = layout::LAST_RADIX;
#pragma unroll
            for (int k = 0; k < 8; k++) v[k] = others.get(point_in_round(radix, log_s, t, k));
            u = radix == 8 ? t & ((1u << (log_s - 3)) - 1) : 0;
        }
        small_transforms(v, radix);
        if (++round == layout::ROUNDS) {
            row = row_of_results<LOGR>(t);
            round = 0;
        }
    }
    if (active) store_results<LOGR>(v, p, place, row);
}

/* out[row 2^log_columns + column] = scale x^(row column) y^row z^column, of n entries: values, or known factors */
__global__ void __launch_bounds__(256) power_table(fr *out, u32 n, u32 log_columns, fr x, fr y, fr z, fr scale);
__global__ void __launch_bounds__(256)
    power_factors(fr_factor *out, u32 n, u32 log_columns, fr x, fr y, fr z, fr scale);
/* stage[4 (k - 1) + quarter][u] for one order s, w_s = w */
__global__ void __launch_bounds__(256) stage_factors(uint4 *stage, u32 log_s, fr w);
/* full[row][column] = high * low */
__global__ void __launch_bounds__(256) full_table(fr *out, u32 n, u32 log_columns, factor_table table);
/* x[i] *= high[i >> POWER_BITS] low[i mod 2^POWER_BITS], see ntt.cu */
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
