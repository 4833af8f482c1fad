/* The portable variant's functions and, where the build has them, those of the ADX variant (field/dispatch.h). */
#ifndef ZK_FIELD_PORTABLE_H
#define ZK_FIELD_PORTABLE_H

#include "field/fp.h"
#include "field/fr.h"

void zk_fr_mul_portable(zk_fr *r, const zk_fr *a, const zk_fr *b);
void zk_fr_sqr_portable(zk_fr *r, const zk_fr *a);
void zk_fp_mul_portable(zk_fp *r, const zk_fp *a, const zk_fp *b);
void zk_fp_sqr_portable(zk_fp *r, const zk_fp *a);
void zk_fp2_mul_portable(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b);
void zk_fp2_sqr_portable(zk_fp2 *r, const zk_fp2 *a);

#endif
