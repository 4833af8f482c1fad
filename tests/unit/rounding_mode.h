/* How doubles are rounded on this thread (MXCSR), for tests of code that changes it. A program starts
 * with 0x1f80; 0x2000 more rounds down, 0x4000 more up. */
#ifndef ROUNDING_MODE_H
#define ROUNDING_MODE_H

#if defined(__x86_64__)
#include <immintrin.h>

/* Without the flags of exceptions: plans are made by arithmetic that is not exact. */
static inline unsigned mode_now(void) { return _mm_getcsr() & ~0x3fu; }
static inline void mode_set(unsigned mode) { _mm_setcsr(mode); }
#else
static inline unsigned mode_now(void) { return 0; }
static inline void mode_set(unsigned mode) { (void)mode; }
#endif

#endif
