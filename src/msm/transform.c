#include "msm/transform.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "msm/glv.h"

/* The split network of ntt/kernels.h: level l works on 2^l blocks of n / 2^l points, block b has the twiddle zeta_b =
 * w^(n brv(b)) with b = sum b_i 2^i, brv(b) = sum b_i 2^(-i-2), and (u, v) become (u + zeta v, u - zeta v). From natural
 * to bit-reversed order; at last points change places. Block 0 of each level needs no multiplication. */
#define MULTIPLES 64 /* of points, made together by a thread */
#define LOW_BITS 10  /* of the number of a block: twiddles by two tables */
#define MAX_LOG2_N 32
#define LEVEL_CHUNKS 64 /* of a level, between two looks at progress */

typedef struct twiddles {
    zk_fr *low, *high; /* zeta_b = low[b mod 2^LOW_BITS] high[b >> LOW_BITS] */
} twiddles;

typedef struct transform_job {
    zk_g1_affine *points;
    size_t n;
    unsigned log2_n, level;
    size_t first; /* butterfly or point, of the chunk in hand */
    twiddles zeta;
    const zk_fr *shift, *scale;
} transform_job;

/* t[b] for b < 2^n_bits: product of root^(2^-(first + i + 2)) over the bits i of b, as steps[i] has them. */
static void fill_by_bits(zk_fr *t, unsigned n_bits, const zk_fr *step) {
    t[0] = zk_fr_one;
    for (unsigned i = 0; i < n_bits; i++)
        for (size_t k = 0; k < (size_t)1 << i; k++) zk_fr_mul(&t[((size_t)1 << i) + k], &t[k], &step[i]);
}

static cuzk_status make_twiddles(twiddles *t, unsigned log2_n, cuzk_err *err) {
    unsigned n_bits = log2_n ? log2_n - 1 : 0, low = n_bits < LOW_BITS ? n_bits : LOW_BITS;
    zk_fr step[MAX_LOG2_N];
    t->low = zk_malloc(sizeof *t->low << low);
    t->high = zk_malloc(sizeof *t->high << (n_bits - low));
    if (!t->low || !t->high) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "transform of 2^%u points: no memory", log2_n);
    for (unsigned i = 0; i < n_bits; i++) zk_fr_root_of_unity(&step[i], i + 2);
    fill_by_bits(t->low, low, step);
    fill_by_bits(t->high, n_bits - low, step + low);
    return CUZK_OK;
}

static void twiddle_of(zk_fr *zeta, const transform_job *job, size_t block) {
    zk_fr_mul(zeta, &job->zeta.low[block & (((size_t)1 << LOW_BITS) - 1)], &job->zeta.high[block >> LOW_BITS]);
}

/* Multiples of points, by tables whose entries share an inversion. */
typedef struct multiplier {
    zk_glv_table table[MULTIPLES];
    zk_g1 entries[2 * MULTIPLES];
    zk_g1_affine affine[2 * MULTIPLES];
} multiplier;

/* r[i] = [k_i] p_i where p_i = *at(i); digits[i]: of k_i. Infinity stays infinity. */
static cuzk_status multiply(zk_g1 *r, multiplier *m, const zk_g1_affine *const *p,
                            zk_glv_digit (*digits)[ZK_GLV_DIGITS], size_t n, cuzk_err *err) {
    (void)err;
    for (size_t i = 0; i < n; i++) {
        if (zk_g1_affine_is_infinity(p[i])) {
            zk_g1_set_infinity(&m->entries[2 * i]);
            m->entries[2 * i + 1] = m->entries[2 * i];
        } else {
            zk_glv_entries(&m->entries[2 * i], p[i]);
        }
    }
    ZK_TRY(zk_g1_batch_to_affine(m->affine, m->entries, 2 * n));
    for (size_t i = 0; i < n; i++) {
        if (zk_g1_affine_is_infinity(p[i])) {
            zk_g1_set_infinity(&r[i]);
            continue;
        }
        zk_glv_table_fill(&m->table[i], p[i], &m->affine[2 * i]);
        zk_glv_mul(&r[i], &m->table[i], digits[i]);
    }
    return CUZK_OK;
}
