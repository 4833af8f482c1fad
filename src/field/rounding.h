/* The rounding of doubles that the kernels for AVX2 and FMA (field/fp52x8_fma.h) need: toward zero, and no exception
 * trapped. The caller's own mode must be back when they return, so they only run through the functions here, which the
 * compiler cannot see through: no arithmetic moves across a change of the mode. In files built for AVX-512 they do
 * nothing but call. */
#ifndef ZK_FIELD_ROUNDING_H
#define ZK_FIELD_ROUNDING_H

#include <immintrin.h>

#include "base/pool.h"

#define ZK_MXCSR_TOWARD_ZERO 0x7f80u /* all six exceptions masked (0x1f80), rounding control 3 */

static inline void zk_rounding_set(unsigned mxcsr) { __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr) : "memory"); }

/* Calls a function that is declared ZK_ROUNDED_FN, and works on memory, with the mode set. */
#if defined(__AVX512IFMA__)
#define ZK_ROUNDED_FN static
#define ZK_ROUNDED(call) call
#else
#define ZK_ROUNDED_FN static __attribute__((noinline))
#define ZK_ROUNDED(call)                                                                                               \
    do {                                                                                                               \
        const unsigned before_ = _mm_getcsr();                                                                         \
        zk_rounding_set(ZK_MXCSR_TOWARD_ZERO);                                                                         \
        call;                                                                                                          \
        zk_rounding_set(before_);                                                                                      \
    } while (0)
#endif

typedef struct zk_rounded_loop {
    zk_range_fn fn;
    void *ctx;
} zk_rounded_loop;

static inline void zk_rounded_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    const zk_rounded_loop *loop = ctx;
    const unsigned before = _mm_getcsr();
    zk_rounding_set(ZK_MXCSR_TOWARD_ZERO);
    loop->fn(loop->ctx, begin, end, thread);
    zk_rounding_set(before);
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
