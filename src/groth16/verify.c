#include "groth16/verify.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/pool.h"
#include "base/rand.h"
#include "curve/many.h"
#include "msm/msm.h"
#include "pairing/pairing.h"
#include "pairing/tower.h"

/* ---- proofs ---- */

void zk_proof_encode(uint8_t bytes[ZK_PROOF_BYTES], const zk_proof *proof) {
    zk_g1_compress(bytes, &proof->a);
    zk_g2_compress(bytes + 48, &proof->b);
    zk_g1_compress(bytes + 144, &proof->c);
}

static cuzk_status refuse(const char *what, size_t offset, const char *why, const uint8_t *bytes, cuzk_err *err) {
    char text[ZK_POINT_TEXT_BYTES];
    zk_point_text(text, bytes + offset);
    return ZK_FAIL(err, CUZK_BAD_PROOF,
                   "point %s at offset %zu: %s: found %s, expected a compressed point of the group", what, offset, why,
                   text);
}

cuzk_status zk_proof_decode(zk_proof *proof, const uint8_t bytes[ZK_PROOF_BYTES], cuzk_err *err) {
    zk_point_verdict verdict = zk_g1_decompress(&proof->a, bytes, true);
    if (verdict != ZK_POINT_OK) return refuse("A", 0, zk_point_verdict_text(verdict), bytes, err);
    if (zk_g1_affine_is_infinity(&proof->a)) return refuse("A", 0, "infinity", bytes, err);
    verdict = zk_g2_decompress(&proof->b, bytes + 48, true);
    if (verdict != ZK_POINT_OK) return refuse("B", 48, zk_point_verdict_text(verdict), bytes, err);
    if (zk_g2_affine_is_infinity(&proof->b)) return refuse("B", 48, "infinity", bytes, err);
    verdict = zk_g1_decompress(&proof->c, bytes + 144, true);
    if (verdict != ZK_POINT_OK) return refuse("C", 144, zk_point_verdict_text(verdict), bytes, err);
    if (zk_g1_affine_is_infinity(&proof->c)) return refuse("C", 144, "infinity", bytes, err);
    return CUZK_OK;
}

/* ---- prepared keys ---- */

struct zk_prepared_vk {
    char *name;
    zk_g1_affine alpha_g1;
    uint32_t n_ic;
    zk_g1_affine *ic;
    zk_g2_prepared *beta, *gamma, *delta;
};

cuzk_status zk_prepared_vk_create(zk_prepared_vk **prepared, const zk_vk *vk, const char *name, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    *prepared = NULL;
    zk_prepared_vk *p = zk_calloc(1, sizeof *p);
    if (p) {
        p->alpha_g1 = vk->alpha_g1;
        p->n_ic = vk->n_ic;
        p->name = zk_strdup(name);
        p->ic = zk_malloc(vk->n_ic * sizeof *p->ic);
        p->beta = zk_malloc(zk_g2_prepared_bytes());
        p->gamma = zk_malloc(zk_g2_prepared_bytes());
        p->delta = zk_malloc(zk_g2_prepared_bytes());
    }
    if (!p || !p->name || !p->ic || !p->beta || !p->gamma || !p->delta) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: preparing the verifying key: out of memory", name);
        goto out;
    }
    memcpy(p->ic, vk->ic, vk->n_ic * sizeof *p->ic);
    zk_g2_prepare(p->beta, &vk->beta_g2);
    zk_g2_prepare(p->gamma, &vk->gamma_g2);
    zk_g2_prepare(p->delta, &vk->delta_g2);
    *prepared = p;
    p = NULL;
out:
    zk_prepared_vk_destroy(p);
    return status;
}

void zk_prepared_vk_destroy(zk_prepared_vk *prepared) {
    if (!prepared) return;
    free(prepared->name);
    free(prepared->ic);
    free(prepared->beta);
    free(prepared->gamma);
    free(prepared->delta);
    free(prepared);
}

/* ---- the equation ---- */

static cuzk_status check_publics(const zk_prepared_vk *vk, const uint8_t (*publics)[32], size_t n_publics,
                                 size_t n_proofs, cuzk_err *err) {
    if (n_publics != vk->n_ic - 1)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "public inputs: found %zu for each proof, %s takes %u", n_publics, vk->name,
                       vk->n_ic - 1);
    for (size_t i = 0; i < n_proofs; i++)
        for (size_t j = 0; j < n_publics; j++) {
            zk_fr x;
            const uint8_t *bytes = publics[i * n_publics + j];
            if (zk_fr_from_bytes_le(&x, bytes)) continue;
            char text[65];
            zk_hex_encode(text, bytes, 32);
            return ZK_FAIL(err, CUZK_BAD_INPUT,
                           "public input %zu of proof %zu: found %s (little-endian), expected a value below r", j, i,
                           text);
        }
    return CUZK_OK;
}

/* The pairs of the equation whose second point is the key's. */
#define N_FIXED 3

/* Product over n proofs of the equations, each to the power z_i = zk_pair_to_fr of random bits (1 for n = 1):
 *   prod e(z_i A_i, B_i) e(-(sum z_i) alpha, beta) e(-sum_j (sum_i z_i x_ij) ic_j, gamma) e(-sum z_i C_i, delta) = 1 */
static cuzk_status check_product(bool *holds, const zk_prepared_vk *vk, const zk_proof *proofs, size_t n,
                                 const uint8_t (*publics)[32], size_t n_publics, zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    /* z_i A_i, then z_i C_i, in whose place those of the fixed pairs come when their sum is known. */
    zk_g1_affine *p = zk_malloc((2 * n + N_FIXED) * sizeof *p);
    zk_g2_affine *q = zk_malloc(n * sizeof *q);
    uint64_t(*pairs)[2] = zk_malloc(2 * n * sizeof *pairs);
    zk_fr *x = zk_calloc(vk->n_ic, sizeof *x);
    zk_g1 sum_c, sum;
    zk_fp12 f;
    if (!p || !q || !pairs || !x) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "verifying %zu proofs: out of memory", n);
        goto out;
    }
    if (n > 1) ZK_GOTO(zk_rand_bytes((uint8_t *)pairs, n * sizeof *pairs, err));
    for (size_t i = 0; i < n; i++) {
        zk_fr z = zk_fr_one, t;
        if (n > 1) zk_pair_to_fr(&z, pairs[i]);
        memcpy(pairs[n + i], pairs[i], sizeof *pairs);
        p[i] = proofs[i].a;
        p[n + i] = proofs[i].c;
        q[i] = proofs[i].b;
        zk_fr_add(&x[0], &x[0], &z);
        for (size_t j = 0; j < n_publics; j++) {
            if (!zk_fr_from_bytes_le(&t, publics[i * n_publics + j])) {
                status = ZK_FAIL(err, CUZK_INTERNAL, "public input %zu of proof %zu is not canonical", j, i);
                goto out;
            }
            zk_fr_mul(&t, &t, &z);
            zk_fr_add(&x[j + 1], &x[j + 1], &t);
        }
    }
    if (n > 1) zk_g1_mul_pairs_many(p, p, (const uint64_t(*)[2])pairs, 2 * n, pool);
    zk_g1_set_infinity(&sum_c);
    for (size_t i = 0; i < n; i++) zk_g1_add_affine(&sum_c, &sum_c, &p[n + i]);
    zk_g1_from_affine(&sum, &vk->alpha_g1);
    zk_g1_mul_var(&sum, &sum, &x[0]);
    zk_g1_neg(&sum, &sum);
    zk_g1_to_affine(&p[n], &sum);
    ZK_GOTO(zk_msm_g1(&sum, vk->ic, x, vk->n_ic, pool, err));
    zk_g1_neg(&sum, &sum);
    zk_g1_to_affine(&p[n + 1], &sum);
    zk_g1_neg(&sum_c, &sum_c);
    zk_g1_to_affine(&p[n + 2], &sum_c);
    const zk_g2_prepared *const fixed[N_FIXED] = {vk->beta, vk->gamma, vk->delta};
    zk_pairing_miller_loop_many(&f, p, q, n, p + n, fixed, N_FIXED, pool);
    zk_pairing_final_exp(&f, &f);
    *holds = zk_fp12_is_one(&f);
out:
    free(p);
    free(q);
    free(pairs);
    free(x);
    return status;
}

/* All points of all proofs. If one is refused, the first proof in order that has one says so. */
static cuzk_status decode(zk_proof *proofs, const uint8_t *bytes, size_t n, bool batch, zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    const size_t n_g1 = 2 * n;
    const uint8_t **at = zk_malloc(3 * n * sizeof *at);
    zk_g1_affine *ac = zk_malloc(n_g1 * sizeof *ac);
    zk_g2_affine *b = zk_malloc(n * sizeof *b);
    zk_point_verdict *verdicts = zk_malloc(3 * n * sizeof *verdicts);
    if (!at || !ac || !b || !verdicts) {
        status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "verifying %zu proofs: out of memory", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        at[2 * i] = bytes + i * ZK_PROOF_BYTES;
        at[2 * i + 1] = at[2 * i] + 144;
        at[n_g1 + i] = at[2 * i] + 48;
    }
    zk_g1_decompress_many(ac, verdicts, at, n_g1, pool);
    zk_g2_decompress_many(b, verdicts + n_g1, at + n_g1, n, pool);
    for (size_t i = 0; i < n && status == CUZK_OK; i++) {
        const bool good =
            verdicts[2 * i] == ZK_POINT_OK && verdicts[2 * i + 1] == ZK_POINT_OK && verdicts[n_g1 + i] == ZK_POINT_OK;
        proofs[i] = (zk_proof){.a = ac[2 * i], .c = ac[2 * i + 1], .b = b[i]};
        if (good && !zk_g1_affine_is_infinity(&proofs[i].a) && !zk_g1_affine_is_infinity(&proofs[i].c) &&
            !zk_g2_affine_is_infinity(&proofs[i].b))
            continue;
        status = zk_proof_decode(&proofs[i], bytes + i * ZK_PROOF_BYTES, err);
        if (status != CUZK_OK && batch) zk_err_prefix(err, "proof %zu of %zu", i, n);
        if (status != CUZK_OK && !batch) zk_err_prefix(err, "proof");
    }
out:
    free(at);
    free(ac);
    free(b);
    free(verdicts);
    return status;
}

static cuzk_status verify(const zk_prepared_vk *vk, const uint8_t *bytes, size_t n_bytes, size_t n,
                          const uint8_t (*publics)[32], size_t n_publics, bool batch, zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_proof *proofs = NULL;
    bool holds = false;
    ZK_TRY(check_publics(vk, publics, n_publics, n, err));
    if (n == 0 || n_bytes / ZK_PROOF_BYTES != n || n_bytes % ZK_PROOF_BYTES)
        return ZK_FAIL(err, CUZK_BAD_PROOF, "proof: found %zu bytes, expected %zu proofs of %d bytes", n_bytes, n,
                       ZK_PROOF_BYTES);
    proofs = zk_calloc(n, sizeof *proofs);
    if (!proofs) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "verifying %zu proofs: out of memory", n);
    ZK_GOTO(decode(proofs, bytes, n, batch, pool, err));
    ZK_GOTO(check_product(&holds, vk, proofs, n, publics, n_publics, pool, err));
    if (holds) goto out;
    size_t bad = 0;
    for (; n > 1 && bad < n; bad++) {
        ZK_GOTO(check_product(&holds, vk, &proofs[bad], 1, publics + bad * n_publics, n_publics, pool, err));
        if (!holds) break;
    }
    status = batch ? ZK_FAIL(err, CUZK_BAD_PROOF, "proof %zu of %zu does not hold for its public inputs under %s", bad,
                             n, vk->name)
                   : ZK_FAIL(err, CUZK_BAD_PROOF, "the proof does not hold for these public inputs under %s", vk->name);
out:
    free(proofs);
    return status;
}

cuzk_status zk_verify(const zk_prepared_vk *vk, const uint8_t *proof, size_t n_proof_bytes,
                      const uint8_t (*publics)[32], size_t n_publics, zk_pool *pool, cuzk_err *err) {
    return verify(vk, proof, n_proof_bytes, 1, publics, n_publics, false, pool, err);
}

cuzk_status zk_verify_batch(const zk_prepared_vk *vk, const uint8_t *proofs, size_t n_proof_bytes, size_t n_proofs,
                            const uint8_t (*publics)[32], size_t n_publics, zk_pool *pool, cuzk_err *err) {
    return verify(vk, proofs, n_proof_bytes, n_proofs, publics, n_publics, true, pool, err);
}
