/* The rounding of doubles that the kernels for AVX2 and FMA (field/fp52x8_fma.h) need: toward zero, and no exception
 * trapped. The caller's own mode must be back when they return, so they only run through the functions here, which the
 * compiler cannot see through: no arithmetic moves across a change of the mode. */
#ifndef ZK_FIELD_ROUNDING_H
#define ZK_FIELD_ROUNDING_H

#include <immintrin.h>

#include "base/pool.h"

#define ZK_MXCSR_TOWARD_ZERO 0x7f80u

typedef struct zk_rounded_loop {
    zk_range_fn fn;
    void *ctx;
} zk_rounded_loop;

static inline void zk_rounded_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const zk_rounded_loop *loop = ctx;
    const unsigned before = _mm_getcsr();
    _mm_setcsr(ZK_MXCSR_TOWARD_ZERO);
    loop->fn(loop->ctx, begin, end, thread);
    _mm_setcsr(before);
}

/* zk_pool_for with the mode set on each thread while fn runs there. */
static inline void zk_rounded_for(zk_pool *pool, size_t n, size_t grain, zk_range_fn fn, void *ctx) {
#if defined(__AVX512IFMA__)
    zk_pool_for(pool, n, grain, fn, ctx);
#else
    zk_rounded_loop loop = {fn, ctx};
    zk_pool_for(pool, n, grain, zk_rounded_range, &loop);
#endif
}

#endif
