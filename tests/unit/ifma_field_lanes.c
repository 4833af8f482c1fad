#include "ifma_field_lanes.h"

#include "field/fp52x8.h"
#include "field/fr52x8.h"

static void fp_load(zk_fp52x8 *r, const zk_fp a[8]) {
    uint64_t word[6][8];
    __m512i w[6];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 8; k++) word[i][k] = a[k].l[i];
        w[i] = _mm512_loadu_si512(word[i]);
    }
    zk_fp52x8_from_words(r, w);
}

static void fp_store(zk_fp r[8], const zk_fp52x8 *a) {
    uint64_t word[8];
    __m512i w[6];
    zk_fp52x8_to_words(w, a);
    for (int i = 0; i < 6; i++) {
        _mm512_storeu_si512(word, w[i]);
        for (int k = 0; k < 8; k++) r[k].l[i] = word[k];
    }
}

void lanes_fp(zk_fp r[8], const zk_fp a[8], const zk_fp b[8], lanes_op op) {
    zk_fp52x8 x, y, t = {0}, u;
    fp_load(&x, a);
    fp_load(&y, b);
    switch (op) {
    case LANES_ROUND_TRIP:
        t = x;
        break;
    case LANES_MUL:
        zk_fp52x8_mul(&t, &x, &y);
        break;
    case LANES_SQR:
        zk_fp52x8_sqr(&t, &x);
        break;
    case LANES_ADD:
        zk_fp52x8_add_loose(&t, &x, &y);
        zk_fp52x8_carry(&t, &t);
        break;
    case LANES_SUB:
        zk_fp52x8_sub_loose(&t, &x, &y, 2);
        zk_fp52x8_reduce(&t, &t);
        break;
    case LANES_NEG_ODD:
        zk_fp52x8_neg_if_loose(&t, &x, 0xaa, 2);
        zk_fp52x8_carry(&t, &t);
        break;
    case LANES_SWAP:
        zk_fp52x8_swap_lanes(&t, &x, 1);
        break;
    default:
        t = y;
        for (int i = 0; i < 7; i++) zk_fp52x8_add_loose(&t, &t, &x);
        zk_fp52x8_carry_factor(&t, &t);
        zk_fp52x8_sub_loose(&u, &x, &y, 7);
        zk_fp52x8_carry_factor(&u, &u);
        zk_fp52x8_mul_factor(&t, &t, &u);
        zk_fp52x8_broadcast(&u, &zk_fp_one);
        zk_fp52x8_mul(&t, &t, &u);
    }
    fp_store(r, &t);
}

static void fr_load(zk_fr52x8 *r, const zk_fr a[8]) {
    __m512i w[4];
    zk_fr52x8_load_words(w, a);
    zk_fr52x8_from_words(r, w);
}

static void fr_mul(zk_fr52x8 *r, const zk_fr52x8 *a, const zk_fr52x8 *b) {
    /* Both in the form with R = 2^256: the product over 2^260 is taken back by 2^4, in the form with R = 2^260. */
    zk_fr52 constant;
    zk_fr sixteen;
    zk_fr52x8 t, u;
    zk_fr_from_u64(&sixteen, 16);
    zk_fr_to_fr52(&constant, &sixteen);
    zk_fr52x8_broadcast(&u, &constant);
    zk_fr52x8_mul_loose(&t, a, b);
    zk_fr52x8_carry_factor(&t, &t);
    zk_fr52x8_mul_loose(r, &t, &u);
}

void lanes_fr(zk_fr r[8], const zk_fr a[8], const zk_fr b[8], lanes_op op) {
    zk_fr52x8 x, y, t = {0}, u;
    __m512i w[4];
    fr_load(&x, a);
    fr_load(&y, b);
    switch (op) {
    case LANES_ROUND_TRIP:
        t = x;
        break;
    case LANES_MUL:
        fr_mul(&t, &x, &y);
        break;
    case LANES_SQR:
        fr_mul(&t, &x, &x);
        break;
    case LANES_ADD:
        zk_fr52x8_add_loose(&t, &x, &y);
        break;
    case LANES_SUB:
        zk_fr52x8_sub_loose(&t, &x, &y, 14);
        zk_fr52x8_reduce(&t, &t);
        break;
    case LANES_NEG_ODD:
        for (int i = 0; i < 5; i++) u.l[i] = _mm512_setzero_si512();
        zk_fr52x8_sub_loose(&u, &u, &x, 15);
        for (int i = 0; i < 5; i++) t.l[i] = _mm512_mask_mov_epi64(x.l[i], 0xaa, u.l[i]);
        break;
    case LANES_SWAP: {
        zk_fr swapped[8];
        for (int k = 0; k < 8; k++) swapped[k] = a[k ^ 1];
        fr_load(&t, swapped);
        break;
    }
    default:
        t = y;
        for (int i = 0; i < 7; i++) zk_fr52x8_add_loose(&t, &t, &x);
        zk_fr52x8_carry_factor(&t, &t);
        zk_fr52x8_sub_loose(&u, &x, &y, 15);
        for (int i = 0; i < 17; i++) zk_fr52x8_sub_loose(&u, &u, &x, 1);
        for (int i = 0; i < 17; i++) zk_fr52x8_add_loose(&u, &u, &x);
        zk_fr52x8_carry_factor(&u, &u);
        fr_mul(&t, &t, &u);
    }
    zk_fr52x8_to_words(w, &t);
    zk_fr52x8_store_words(r, w);
}

void lanes_transpose(uint64_t r[2][8][8], const uint64_t rows[8][8]) {
    __m512i in[8], out[8];
    const uint64_t *row[8];
    for (int k = 0; k < 8; k++) {
        row[k] = rows[k];
        in[k] = _mm512_loadu_si512(rows[k]);
    }
    zk_v8_transpose(out, in);
    for (int i = 0; i < 8; i++) _mm512_storeu_si512(r[0][i], out[i]);
    zk_v8_load_transposed(out, row, 8);
    for (int i = 0; i < 8; i++) _mm512_storeu_si512(r[1][i], out[i]);
}
