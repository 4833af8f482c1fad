/* Recoding of scalars into signed digits, for curve/group.inc. */
#ifndef ZK_CURVE_WNAF_H
#define ZK_CURVE_WNAF_H

#include <stddef.h>
#include <stdint.h>

#include "field/fr.h"

#define ZK_WNAF_WINDOW 5
#define ZK_WNAF_TABLE (1 << (ZK_WNAF_WINDOW - 2)) /* odd multiples 1, 3, ..., 15 */
#define ZK_WNAF_MAX_DIGITS (ZK_FR_BITS + 1)

/* k = sum digits[i] 2^i, each digit 0 or odd with |digit| < 2^(w-1), of w neighbours at most one nonzero (width-w NAF,
 * Solinas 2000). Returns the number of digits, 0 for k = 0. */
size_t zk_wnaf_recode(int8_t digits[ZK_WNAF_MAX_DIGITS], const zk_fr *k);

#endif
