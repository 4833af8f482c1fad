/* The functions of each variant; use them through field/dispatch.h. */
#ifndef ZK_FIELD_VARIANTS_H
#define ZK_FIELD_VARIANTS_H

#include "field/fp.h"
#include "field/fr.h"

void zk_fr_mul_portable(zk_fr *r, const zk_fr *a, const zk_fr *b);
void zk_fr_sqr_portable(zk_fr *r, const zk_fr *a);
void zk_fp_mul_portable(zk_fp *r, const zk_fp *a, const zk_fp *b);
void zk_fp_sqr_portable(zk_fp *r, const zk_fp *a);
void zk_fp2_mul_portable(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b);
void zk_fp2_sqr_portable(zk_fp2 *r, const zk_fp2 *a);

/* x86-64 only; the CPU must have BMI2 and ADX. */
#if defined(__x86_64__)
#define ZK_FIELD_HAVE_ADX 1
void zk_fr_mul_adx(zk_fr *r, const zk_fr *a, const zk_fr *b);
void zk_fr_sqr_adx(zk_fr *r, const zk_fr *a);
void zk_fp_mul_adx(zk_fp *r, const zk_fp *a, const zk_fp *b);
void zk_fp_sqr_adx(zk_fp *r, const zk_fp *a);
void zk_fp2_mul_adx(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b);
void zk_fp2_sqr_adx(zk_fp2 *r, const zk_fp2 *a);
#endif

#endif
