/* Encoded points to affine points and back. */
#ifndef ZK_CUDA_POINTS_CODEC_CUH
#define ZK_CUDA_POINTS_CODEC_CUH

#include "points_impl.cuh"

namespace zk {

ZK_HD u32 swap_bytes(u32 v) {
#if defined(__CUDA_ARCH__)
    return __byte_perm(v, 0, 0x0123);
#else
    return __builtin_bswap32(v);
#endif
}

/* 48 bytes, big-endian, plain. */
ZK_HD fp load_encoded(const uint4 *p) {
    fp r;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint4 v = p[i];
        r.l[11 - 4 * i] = swap_bytes(v.x);
        r.l[10 - 4 * i] = swap_bytes(v.y);
        r.l[9 - 4 * i] = swap_bytes(v.z);
        r.l[8 - 4 * i] = swap_bytes(v.w);
    }
    return r;
}
ZK_HD void store_encoded(uint4 *p, const fp &a) {
#pragma unroll
    for (int i = 0; i < 3; i++)
        p[i] = make_uint4(swap_bytes(a.l[11 - 4 * i]), swap_bytes(a.l[10 - 4 * i]), swap_bytes(a.l[9 - 4 * i]),
                          swap_bytes(a.l[8 - 4 * i]));
}

/* A coordinate; false if it is not below p. The flags of the encoding are bits that p does not have. */
ZK_HD bool decode_coordinate(fp *r, const uint4 *p) {
    const fp plain = load_encoded(p);
    *r = to_mont(plain);
    return is_reduced(plain);
}
ZK_HD bool decode_coordinate(fp2 *r, const uint4 *p) {
    const bool high = decode_coordinate(&r->c1, p), low = decode_coordinate(&r->c0, p + 3);
    return high && low;
}
/* flags: into the top bits of the first byte */
ZK_HD void encode_coordinate(uint4 *p, const fp &a, u32 flags) {
    fp plain = from_mont(a);
    plain.l[11] |= flags;
    store_encoded(p, plain);
}
ZK_HD void encode_coordinate(uint4 *p, const fp2 &a, u32 flags) {
    encode_coordinate(p, a.c1, flags);
    encode_coordinate(p + 3, a.c0, 0);
}
constexpr u32 ENCODED_INFINITY = 0x40000000u;

ZK_HD void curve_constant(fp *b) { *b = dbl(dbl(fp::one())); }
ZK_HD void curve_constant(fp2 *b) {
    curve_constant(&b->c0);
    b->c1 = b->c0;
}

/* raw: n encoded points. *bad: least index refused. */
template <class F>
__global__ void __launch_bounds__(128)
    decode_points(point_sink<F> sink, const uint4 *raw, u32 n, unsigned long long *bad) {
    constexpr u32 pieces = sizeof(F) / 16;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uint4 *from = raw + (size_t)i * 2 * pieces;
    affine<F> p;
    F b;
    const bool x_fits = decode_coordinate(&p.x, from), y_fits = decode_coordinate(&p.y, from + pieces);
    curve_constant(&b);
    /* Infinity is refused here: its flag is no canonical coordinate, and (0, 0) is not on the curve. */
    if (!x_fits || !y_fits || sqr(p.y) != add(mul(sqr(p.x), p.x), b)) {
        atomicMin(bad, (unsigned long long)(sink.first + i));
        return;
    }
    affine<F> *to = sink.place(i);
    store(&to->x, p.x);
    store(&to->y, p.y);
}

template <class F> __global__ void __launch_bounds__(128) encode_points(uint4 *out, const affine<F> *points, u32 n) {
    constexpr u32 pieces = sizeof(F) / 16;
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const affine<F> p{load(&points[i].x), load(&points[i].y)};
    uint4 *to = out + (size_t)i * 2 * pieces;
    encode_coordinate(to, p.x, p.is_infinity() ? ENCODED_INFINITY : 0);
    encode_coordinate(to + pieces, p.y, 0);
}

/* Copying by the host's threads: pages of a mapped file are brought in by several at a time. */
struct copy_job {
    char *to;
    const uint8_t *from;
    size_t bytes;
};
constexpr size_t COPY_CHUNK = 128 << 10;
inline void copy_range(void *ctx, size_t begin, size_t end, unsigned) {
    const copy_job *job = (const copy_job *)ctx;
    const size_t at = begin * COPY_CHUNK, to = end * COPY_CHUNK;
    memcpy(job->to + at, job->from + at, (to < job->bytes ? to : job->bytes) - at);
}

template <class F>
cuzk_status points_decode(size_t *bad, zk_cuda *d, zk_dptr full, zk_dptr bits, const uint8_t *encoded, size_t n,
                          const uint64_t *is_bit, zk_pool *pool, cuzk_err *err) {
    constexpr size_t point_bytes = sizeof(affine<F>);
    size_t slice = STAGING_BYTES / (64 * point_bytes + MASK_BYTES) * 64;
    const size_t most = (n + 63) / 64 * 64;
    if (slice > most) slice = most;
    scratch memory(d);
    std::optional<scratch> slots;
    upload_ring ring;
    least_index worst;
    ZK_TRY(worst.start(d, memory, "least refused point", err));
    ZK_TRY(fit_slice(&slice, 64, LEAST_STAGED, err, [&](size_t points, cuzk_err *e) {
        slots.emplace(d);
        return ring.start(d, *slots, 3, points * point_bytes + points / 64 * MASK_BYTES, e);
    }));
    point_sink<F> sink{(affine<F> *)full, (affine<F> *)bits, nullptr, nullptr, 0, 0};
    auto kernel = decode_points<F>;
    for (; sink.first < n; sink.first += slice) {
        const u32 here = (u32)(n - sink.first < slice ? n - sink.first : slice);
        size_t bytes = here * point_bytes, set = 0;
        char *host = nullptr, *arrived = nullptr;
        ZK_TRY(check_cancelled(d, "key load", err));
        ZK_TRY(ring.next(&host, err));
        copy_job job{host, encoded + sink.first * point_bytes, bytes};
        zk_pool_for(pool, (bytes + COPY_CHUNK - 1) / COPY_CHUNK, 1, copy_range, &job);
        if (is_bit) {
            set = put_mask(host + bytes, is_bit, sink.first, here);
            bytes += ceil_div(here, 64) * MASK_BYTES;
        }
        ZK_TRY(ring.send(&arrived, bytes, err));
        if (is_bit) sink_mask(&sink, arrived + here * point_bytes, here);
        ZK_RUN_EACH(kernel, here, 128, d->main, sink, (const uint4 *)arrived, here, worst.there);
        ZK_TRY(ring.done(err));
        sink.first_bit += set;
    }
    return worst.get(bad, d, n, err);
}

template <class F> cuzk_status points_encode(zk_cuda *d, zk_dptr encoded, zk_dptr points, size_t n, cuzk_err *err) {
    auto kernel = encode_points<F>;
    if (n) ZK_RUN_EACH(kernel, n, 128, d->main, (uint4 *)encoded, (const affine<F> *)points, (u32)n);
    return CUZK_OK;
}

} // namespace zk
#endif
