/* Eight words of 64 bits (zk_v8) and sixteen of 32 (zk_w16), one a lane: the vocabulary of the kernels in lanes, which
 * are written once and built for AVX-512 with IFMA (zk_v8 is a zmm) and for AVX2 with FMA (two ymm). Include only in
 * files built with either of the two.
 *
 * A set of lanes is a __mmask8 or __mmask16, bit k for lane k, whatever the instruction set.
 *
 * zk_v8_zero, set1, add, sub, and, or, xor, slli, srli (by constants), sll, srl (by a count in an xmm)
 * zk_v8_srai52              arithmetic shift
 * zk_v8_masked_and_or       (x | y) & mask
 * zk_v8_blend(a, b, lanes)  b in the lanes given, else a
 * zk_v8_sub_in(old, lanes, a, b)  a - b in the lanes given, else old; zk_v8_and_in: a & b
 * zk_v8_zero_lanes          lanes that are 0;  zk_v8_negative_lanes: that are negative as signed numbers
 * zk_v8_load, store         any alignment;  zk_v8_store_row: 64-byte aligned
 * zk_v8_swap_bytes          of each word;  zk_v8_store_first: the first four words, or all
 * zk_v8_swap_lanes          lane k from lane k ^ distance
 * zk_v8_mul_low32           of the low halves as unsigned numbers
 * zk_v8_madd52lo, madd52hi  t + the low or high 52 bits of the product of the low 52 bits of a and b (v4_fma.h)
 * zk_v8_strided(p, step)    lane k = p[k step]
 * zk_v8_to_u32, to_u16      the low halves and quarters
 * zk_v8_transpose(r, row)   r[i] lane k = row[k] lane i
 * zk_v8_load_transposed     the same of the first n words, n even, of rows in memory, any alignment
 * zk_w16_set1, count (0 .. 15), load, store, load_i16, of_u8, add, sub, mul, and, or, abs, srl, srli
 * zk_w16_equal_lanes, less_lanes (both below 2^31), set_lanes (not zero);  zk_w16_keep: in the lanes given, else 0
 * zk_w16_compress(to, lanes, v)    the lanes given, one after another; writes 16 words, of which the rest is undefined
 * zk_w16_compress_u16              the same, of their low halves
 * zk_u32x8_odd              lanes of eight words of 32 bits that are odd
 */
#ifndef ZK_FIELD_V8_H
#define ZK_FIELD_V8_H

#include <immintrin.h>

#include "field/limb.h"

/* A function of a header that is too long to be inlined wherever it is called. */
#define ZK_LANES_FN static __attribute__((noinline, unused))

#if defined(__AVX512IFMA__)
#include "field/v8_avx512.h"
#else
#include "field/v8_avx2.h"
#endif

#endif
