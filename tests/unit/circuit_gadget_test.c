/* Gadgets: every shape of the small ones, SHA-256 and Poseidon against the hashes themselves. */
#include "circuit/bits.h"
#include "circuit/num.h"
#include "circuit/poseidon.h"
#include "circuit/sha256.h"
#include "gadget_run.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

#include <inttypes.h>

/* ---- bits ---- */

enum { BIT_AND, BIT_XOR, BIT_CH, BIT_MAJ };

static void record_bit_op(zk_recorder *rec, const void *param, const zk_lit *in, size_t n_in, zk_lit *out,
                          size_t n_out) {
    (void)n_in, (void)n_out;
    switch (*(const int *)param) {
    case BIT_AND:
        out[0] = zk_bit_and(rec, in[0], in[1]);
        break;
    case BIT_XOR:
        out[0] = zk_bit_xor(rec, in[0], in[1]);
        break;
    case BIT_CH:
        out[0] = zk_bit_ch(rec, in[0], in[1], in[2]);
        break;
    default:
        out[0] = zk_bit_maj(rec, in[0], in[1], in[2]);
        break;
    }
}
static const zk_gadget gadget_bit_op = {"bit op", record_bit_op};

static int bit_op(int op, int a, int b, int c) {
    switch (op) {
    case BIT_AND:
        return a & b;
    case BIT_XOR:
        return a ^ b;
    case BIT_CH:
        return a ? b : c;
    default:
        return a + b + c >= 2;
    }
}

/* Constants, three variables, their negations, in all combinations and for all values: the result is right, and any
 * other value of a variable that the gadget allocated breaks a row. */
static void test_bit_ops(void) {
    for (int op = BIT_AND; op <= BIT_MAJ; op++)
        for (int shape = 0; shape < 8 * 8 * 8; shape++) {
            zk_builder *b = NULL;
            zk_program *p = NULL;
            cuzk_err err = {0};
            gadget_run r;
            zk_cell x[3], choice[8], in[3], out;
            ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
            zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, x, 3);
            choice[6] = ZK_CELL_TRUE;
            choice[7] = ZK_CELL_FALSE;
            for (int i = 0; i < 6; i++) choice[i] = x[i / 2] ^ (i & 1);
            for (int i = 0; i < 3; i++) in[i] = choice[shape >> (3 * i) & 7];
            zk_builder_call(b, &gadget_bit_op, &op, sizeof op, in, 3, &out, 1);
            ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
            zk_builder_destroy(b);
            run_alloc(&r, p, true);
            for (int values = 0; values < 8; values++) {
                uint8_t hint[1][32] = {{(uint8_t)values}};
                run_witness(&r, (const uint8_t(*)[32])hint);
                int want = bit_op(op, cell_bit(&r, in[0]), cell_bit(&r, in[1]), cell_bit(&r, in[2]));
                ZK_CHECKF(cell_bit(&r, out) == want, "op %d, shape %o, values %d", op, (unsigned)shape, values);
                run_satisfied(&r);
                for (uint32_t aux = 3; aux < p->n_aux; aux++) {
                    aux_disturb(p, &r.w, aux);
                    ZK_CHECKF(run_check(&r) < p->n_rows, "op %d, shape %o, values %d: aux %u is free", op,
                              (unsigned)shape, values, aux);
                    aux_restore(p, &r.w, aux);
                }
            }
            run_free(&r);
        }
}

/* ---- SHA-256 ---- */

/* One compression whose 768 inputs are constants, variables, negations and repeats, mixed. */
static void check_sha256_block(uint64_t seed, unsigned percent_constant) {
    enum { N_VARS = 400 };
    static zk_cell vars[N_VARS], in[768], out[256];
    uint8_t hints[2][32];
    zk_builder *b = NULL;
    zk_program *p = NULL;
    cuzk_err err = {0};
    gadget_run r;
    uint64_t s = seed;
    for (size_t i = 0; i < sizeof hints; i++) hints[i / 32][i % 32] = (uint8_t)zk_test_rand(&s);
    ZK_CHECK_OK(zk_builder_create(&b, "test", &err), err);
    zk_builder_call(b, &gadget_test_bits, NULL, 0, NULL, 0, vars, N_VARS);
    for (int i = 0; i < 768; i++) {
        zk_cell x = zk_test_rand(&s) % 100 < percent_constant ? ZK_CELL_TRUE : vars[zk_test_rand(&s) % N_VARS];
        in[i] = x ^ (zk_test_rand(&s) & 1);
    }
    zk_builder_call(b, &zk_gadget_sha256_block, NULL, 0, in, 768, out, 256);
    ZK_CHECK_OK(zk_builder_finish(&p, b, &err), err);
    zk_builder_destroy(b);
    run_alloc(&r, p, true);
    run_witness(&r, (const uint8_t(*)[32])hints);
    uint8_t block[64] = {0};
    uint32_t state[8] = {0};
    for (int i = 0; i < 512; i++) block[i / 8] |= (uint8_t)(cell_bit(&r, in[i]) << (7 - i % 8));
    for (int i = 0; i < 256; i++) state[i / 32] |= (uint32_t)cell_bit(&r, in[512 + i]) << (i % 32);
    zk_sha256_compress_portable(state, block, 1);
    for (int i = 0; i < 256; i++)
        ZK_CHECKF(cell_bit(&r, out[i]) == (int)(state[i / 32] >> (i % 32) & 1), "seed %" PRIu64 ": bit %d", seed, i);
    run_satisfied(&r);
    for (int k = 0; k < 3 && p->n_aux > N_VARS; k++) {
        uint32_t aux = N_VARS + (uint32_t)(zk_test_rand(&s) % (p->n_aux - N_VARS));
        aux_disturb(p, &r.w, aux);
        ZK_CHECKF(run_check(&r) < p->n_rows, "seed %" PRIu64 ": aux %u is free", seed, aux);
        aux_restore(p, &r.w, aux);
    }
    run_free(&r);
}

static void test_sha256_block(void) {
    static const unsigned percent[] = {0, 1, 10, 50, 90, 99, 100};
    for (uint64_t i = 0; i < 14; i++) check_sha256_block(i + 1, percent[i % 7]);
}

/* Whole messages, with the row counts that the reference states for 64 bytes. */
static void check_sha256(size_t n_bytes, uint32_t n_rows) {
    static zk_cell bits[8 * 256], digest[256];
    uint8_t hints[8][32], message[256] = {0}, want[32];
    zk_synth s = {0};
    zk_program *p = NULL;
    cuzk_err err = {0};
    gadget_run r;
    uint64_t seed = n_bytes + 1;
    for (size_t i = 0; i < sizeof hints; i++) hints[i / 32][i % 32] = (uint8_t)zk_test_rand(&seed);
    ZK_CHECK_OK(zk_builder_create(&s.builder, "test", &err), err);
    s.n_hints = (8 * n_bytes + 255) / 256;
    zk_synth_call(&s, &gadget_test_bits, NULL, 0, NULL, 0, bits, 8 * n_bytes);
    zk_synth_sha256(&s, digest, bits, 8 * n_bytes);
    ZK_CHECK_OK(s.status, s.err);
    ZK_CHECK_OK(zk_builder_finish(&p, s.builder, &err), err);
    zk_builder_destroy(s.builder);
    run_alloc(&r, p, true);
    run_witness(&r, (const uint8_t(*)[32])hints);
    for (size_t i = 0; i < 8 * n_bytes; i++) message[i / 8] |= (uint8_t)(cell_bit(&r, bits[i]) << (7 - i % 8));
    zk_sha256(want, message, n_bytes);
    for (int i = 0; i < 256; i++) ZK_CHECK(cell_bit(&r, digest[i]) == (want[i / 8] >> (7 - i % 8) & 1));
    run_satisfied(&r);
    if (n_rows) ZK_CHECKF(p->n_rows - 8 * n_bytes == n_rows, "%zu bytes: %u rows", n_bytes, p->n_rows);
    run_free(&r);
}

static void test_sha256_messages(void) {
    static const size_t lengths[] = {0, 1, 31, 32, 54, 55, 56, 63, 65, 119, 120, 128, 200};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) check_sha256(lengths[i], 0);
    check_sha256(64, 44874);
}

/* ---- Poseidon ---- */

static void check_poseidon(uint32_t arity, uint32_t n_rows) {
    zk_synth s = {0};
    zk_program *p = NULL;
    cuzk_err err = {0};
    gadget_run r;
    zk_cell in[ZK_POSEIDON_MAX_ARITY], out;
    uint8_t hints[ZK_POSEIDON_MAX_ARITY][32];
    zk_fr values[ZK_POSEIDON_MAX_ARITY], want;
    uint64_t seed = arity;
    ZK_CHECK_OK(zk_builder_create(&s.builder, "test", &err), err);
    for (uint32_t i = 0; i < arity; i++) {
        uint8_t wide[64];
        for (int k = 0; k < 64; k++) wide[k] = (uint8_t)zk_test_rand(&seed);
        zk_fr_from_bytes_wide(&values[i], wide);
        if (i == 1) zk_fr_neg(&values[i], &zk_fr_one);
        if (i == 2) values[i] = zk_fr_zero;
        zk_fr_to_bytes_le(hints[i], &values[i]);
    }
    s.n_hints = arity;
    zk_synth_alloc(&s, in, arity);
    out = zk_synth_poseidon(&s, in, arity);
    ZK_CHECK_OK(s.status, s.err);
    ZK_CHECK_OK(zk_builder_finish(&p, s.builder, &err), err);
    zk_builder_destroy(s.builder);
    run_alloc(&r, p, true);
    run_witness(&r, (const uint8_t(*)[32])hints);
    const zk_poseidon_params *params = zk_poseidon_get(arity);
    zk_poseidon_hash_plain(&want, params, &params->tree_tag, values);
    zk_fr found = cell_value(&r, out);
    ZK_CHECKF(zk_fr_eq(&found, &want), "arity %u", arity);
    run_satisfied(&r);
    ZK_CHECKF(p->n_rows == n_rows, "arity %u: %u rows", arity, p->n_rows);
    for (uint32_t aux = arity; aux < p->n_aux; aux++) {
        aux_disturb(p, &r.w, aux);
        ZK_CHECKF(run_check(&r) < p->n_rows, "arity %u: aux %u is free", arity, aux);
        aux_restore(p, &r.w, aux);
    }
    run_free(&r);
}

/* Row counts: three for an S-box of the first round, four for every other, one for the hash. */
static void test_poseidon(void) {
    check_poseidon(2, 311);
    check_poseidon(4, 377);
    check_poseidon(8, 505);
    check_poseidon(11, 598);
}

/* ---- numbers ---- */

static void test_merkle_node(void) {
    for (uint32_t arity = 2; arity <= 8; arity += 6)
        for (uint32_t index = 0; index < arity; index++) {
            zk_synth s = {0};
            zk_program *p = NULL;
            cuzk_err err = {0};
            gadget_run r;
            zk_cell cur, bits[3], children[8];
            uint8_t hints[9][32] = {{100}, {(uint8_t)index}, {0}};
            for (uint32_t i = 0; i + 1 < arity; i++) hints[2 + i][0] = (uint8_t)(i + 1);
            ZK_CHECK_OK(zk_builder_create(&s.builder, "test", &err), err);
            s.n_hints = 1;
            zk_synth_alloc(&s, &cur, 1);
            s.n_hints += arity;
            zk_synth_merkle_node(&s, bits, children, arity, cur);
            ZK_CHECK_OK(s.status, s.err);
            ZK_CHECK_OK(zk_builder_finish(&p, s.builder, &err), err);
            zk_builder_destroy(s.builder);
            run_alloc(&r, p, true);
            run_witness(&r, (const uint8_t(*)[32])hints);
            run_satisfied(&r);
            for (uint32_t i = 0; i < arity; i++) {
                zk_fr want, found = cell_value(&r, children[i]);
                zk_fr_from_u64(&want, i == index ? 100 : i < index ? i + 1 : i);
                ZK_CHECKF(zk_fr_eq(&want, &found), "arity %u, index %u: child %u", arity, index, i);
            }
            for (uint32_t i = 0; 1u << i < arity; i++) ZK_CHECK(cell_bit(&r, bits[i]) == (int)(index >> i & 1));
            for (uint32_t aux = 0; aux < p->n_aux; aux++) {
                if (aux == 0 || (aux > (arity == 8 ? 3 : 1) && aux < (arity == 8 ? 11 : 3))) continue; /* free: hints */
                aux_disturb(p, &r.w, aux);
                ZK_CHECKF(run_check(&r) < p->n_rows, "arity %u, index %u: aux %u is free", arity, index, aux);
                aux_restore(p, &r.w, aux);
            }
            run_free(&r);
        }
}

/* value -> bits -> bytes swapped and back -> value; u64 and packed inputs; sums. */
static void test_numbers(void) {
    zk_synth s = {0};
    zk_program *p = NULL;
    cuzk_err err = {0};
    gadget_run r;
    zk_cell value, bits[256], swapped[256], u64_bits[64], packed, sum;
    uint8_t hints[2][32];
    zk_fr x, want, found;
    ZK_CHECK_OK(zk_builder_create(&s.builder, "test", &err), err);
    s.n_hints = 1;
    value = zk_synth_alloc_input(&s);
    zk_synth_to_bits(&s, bits, value);
    zk_cells_swap_bytes(swapped, bits, ZK_NUM_BITS);
    s.n_hints++;
    zk_synth_u64_input(&s, u64_bits);
    packed = zk_synth_pack(&s, bits, ZK_NUM_PACK_BITS);
    zk_synth_pack_input(&s, bits, 3);
    sum = zk_synth_add(&s, packed, value);
    zk_synth_equal(&s, value, packed);
    ZK_CHECK_OK(s.status, s.err);
    ZK_CHECK_OK(zk_builder_finish(&p, s.builder, &err), err);
    zk_builder_destroy(s.builder);
    ZK_CHECK(p->n_inputs == 4);
    run_alloc(&r, p, true);
    for (int k = 0; k < 2; k++) {
        /* 0x...07 below 2^254, and r - 1, whose top bit does not fit a pack. */
        zk_fr_from_u64(&x, 0x123456789abcdef7);
        if (k) zk_fr_neg(&x, &zk_fr_one);
        zk_fr_to_bytes_le(hints[0], &x);
        memset(hints[1], 0, 32);
        memset(hints[1], 0x81, 8);
        run_witness(&r, (const uint8_t(*)[32])hints);
        for (int i = 0; i < 256; i++) {
            if (i < 255) ZK_CHECK(cell_bit(&r, bits[i]) == (hints[0][i / 8] >> (i % 8) & 1));
            ZK_CHECK(cell_bit(&r, swapped[i]) == (hints[0][i / 8] >> (7 - i % 8) & 1));
        }
        ZK_CHECK(zk_fr_eq(&r.w.inputs[0], &zk_fr_one) && zk_fr_eq(&r.w.inputs[1], &x));
        zk_fr_from_u64(&want, 0x8181818181818181);
        ZK_CHECK(zk_fr_eq(&r.w.inputs[2], &want));
        zk_fr_from_u64(&want, hints[0][0] & 7);
        ZK_CHECK(zk_fr_eq(&r.w.inputs[3], &want));
        if (k) {
            ZK_CHECK(run_check(&r) == p->n_rows - 1); /* the last row, value = packed, and no other */
        } else {
            run_satisfied(&r);
            zk_fr_double(&want, &x);
            found = cell_value(&r, sum);
            ZK_CHECK(zk_fr_eq(&found, &want));
        }
    }
    run_free(&r);
}

/* A call that takes other hints than were pushed is found while building. */
static void test_synth_counts_hints(void) {
    zk_synth s = {0};
    cuzk_err err = {0};
    zk_cell out[2];
    ZK_CHECK_OK(zk_builder_create(&s.builder, "test", &err), err);
    zk_synth_hint(&s, NULL);
    zk_synth_alloc(&s, out, 2);
    ZK_CHECK(s.status == CUZK_INTERNAL && strstr(s.err.message, "took 2 hints"));
    zk_builder_destroy(s.builder);
    uint8_t room[1][32], value[32] = {0};
    s = (zk_synth){.hints = room, .max_hints = 1};
    zk_synth_hint(&s, value);
    ZK_CHECK(s.status == CUZK_OK);
    zk_synth_hint_u64(&s, 1);
    ZK_CHECK(s.status == CUZK_INTERNAL);
}

ZK_TEST_MAIN(ZK_CASE(test_bit_ops), ZK_CASE(test_sha256_block), ZK_CASE(test_sha256_messages), ZK_CASE(test_poseidon),
             ZK_CASE(test_merkle_node), ZK_CASE(test_numbers), ZK_CASE(test_synth_counts_hints))
