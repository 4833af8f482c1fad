/* The circuits of sector updates against the reference: structure. FULL: of all sizes, else of those that are quick. */
#include "circuit/num.h"
#include "circuit/update.h"
#include "circuit_check.h"
#include "gadget_run.h"

static void check(uint64_t sector_bytes) {
    cuzk_err err = {0};
    zk_program *p = NULL;
    ZK_CHECK_OK(zk_update_program(&p, sector_bytes, &err), err);
    check_structure("update", sector_bytes, p);
    zk_program_destroy(p);
}

static void test_structure_2k(void) { check(2048); }
static void test_structure_4k(void) { check(4096); }
static void test_structure_32k(void) { check(32768); }

#ifdef FULL
static void test_structure_16k(void) { check(16384); }
static void test_structure_8m(void) { check(UINT64_C(8) << 20); }
static void test_structure_16m(void) { check(UINT64_C(16) << 20); }
static void test_structure_512m(void) { check(UINT64_C(512) << 20); }
static void test_structure_32g(void) { check(UINT64_C(32) << 30); }
static void test_structure_64g(void) { check(UINT64_C(64) << 30); }
#endif

/* Every size is built; the large ones have the reference's numbers of variables and rows, and stay small. */
static void test_sizes(void) {
    static const struct {
        uint64_t bytes;
        uint32_t n_aux, n_rows;
    } sizes[] = {{16384, 6293944, 6300021},
                 {UINT64_C(8) << 20, 9998039, 10007503},
                 {UINT64_C(16) << 20, 10457659, 10467573},
                 {UINT64_C(512) << 20, 57401314, 57450479},
                 {UINT64_C(32) << 30, 80978488, 81049499},
                 {UINT64_C(64) << 30, 84931220, 85006101}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cuzk_err err = {0};
        zk_program *p = NULL;
        ZK_CHECK_OK(zk_update_program(&p, sizes[i].bytes, &err), err);
        ZK_CHECKF(p->n_inputs == 5 && p->n_aux == sizes[i].n_aux && p->n_rows == sizes[i].n_rows, "%u aux, %u rows",
                  p->n_aux, p->n_rows);
        ZK_CHECKF(p->bytes < 100000000, "%zu bytes", p->bytes);
        zk_program_destroy(p);
    }
    zk_program *p = NULL;
    cuzk_err err = {0};
    ZK_CHECK(zk_update_program(&p, 1024, &err) == CUZK_UNSUPPORTED && !p);
    ZK_CHECKF(strstr(err.message, "sector size 1024"), "%s", err.message);
    ZK_CHECK(zk_update_program(&p, UINT64_C(1) << 30, NULL) == CUZK_UNSUPPORTED);
}

/* ---- gadgets that only updates use ---- */

enum { N_VALUES = 8 };

typedef struct small {
    gadget_run r;
    zk_cell values[N_VALUES], bits[3], selected, inserted[N_VALUES], product, affine, sum;
} small;

/* 8 values and a number from hints; what the gadgets make of them. */
static void small_build(small *t) {
    zk_synth s = {0};
    zk_program *p = NULL;
    cuzk_err err = {0};
    memset(t, 0, sizeof *t);
    ZK_CHECK_OK(zk_builder_create(&s.builder, "test", &err), err);
    zk_cell number = 0;
    s.n_hints = 1;
    zk_synth_alloc(&s, &number, 1);
    zk_synth_split(&s, t->bits, 3, number);
    s.n_hints += N_VALUES;
    zk_synth_alloc(&s, t->values, N_VALUES);
    t->selected = zk_synth_select(&s, t->values, t->bits, 3);
    zk_synth_insert(&s, t->inserted, 8, t->bits, t->values[0], t->values + 1);
    t->product = zk_synth_mul(&s, t->values[2], t->values[5]);
    t->affine = zk_synth_affine(&s, 7, t->values[3], 0);
    t->sum = zk_synth_sum(&s, t->values, N_VALUES);
    ZK_CHECK_OK(s.status, s.err);
    ZK_CHECK_OK(zk_builder_finish(&p, s.builder, &err), err);
    zk_builder_destroy(s.builder);
    run_alloc(&t->r, p, true);
}

static void test_gadgets(void) {
    small t;
    uint8_t hints[1 + N_VALUES][32];
    zk_fr v[N_VALUES], want, found, seven;
    uint64_t seed = 3;
    small_build(&t);
    zk_fr_from_u64(&seven, 7);
    for (unsigned number = 0; number < 8; number++) {
        memset(hints, 0, sizeof hints);
        hints[0][0] = (uint8_t)number;
        for (unsigned i = 0; i < N_VALUES; i++) {
            for (unsigned k = 0; k < 31; k++) hints[1 + i][k] = (uint8_t)zk_test_rand(&seed);
            ZK_CHECK(zk_fr_from_bytes_le(&v[i], hints[1 + i]));
        }
        run_witness(&t.r, (const uint8_t(*)[32])hints);
        run_satisfied(&t.r);
        found = cell_value(&t.r, t.selected);
        ZK_CHECK(zk_fr_eq(&found, &v[number]));
        for (unsigned i = 0; i < N_VALUES; i++) { /* v[0] at place `number`, the others around it in order */
            found = cell_value(&t.r, t.inserted[i]);
            ZK_CHECK(zk_fr_eq(&found, &v[i == number ? 0 : i < number ? i + 1 : i]));
        }
        zk_fr_mul(&want, &v[2], &v[5]);
        found = cell_value(&t.r, t.product);
        ZK_CHECK(zk_fr_eq(&found, &want));
        zk_fr_mul(&want, &v[3], &seven);
        found = cell_value(&t.r, t.affine);
        ZK_CHECK(zk_fr_eq(&found, &want));
        want = zk_fr_zero;
        for (unsigned i = 0; i < N_VALUES; i++) zk_fr_add(&want, &want, &v[i]);
        found = cell_value(&t.r, t.sum);
        ZK_CHECK(zk_fr_eq(&found, &want));
        for (uint32_t aux = 0; aux < t.r.p->n_aux; aux++) {
            aux_disturb(t.r.p, &t.r.w, aux);
            ZK_CHECKF(run_check(&t.r) < t.r.p->n_rows, "number %u: aux %u is free", number, aux);
            aux_restore(t.r.p, &t.r.w, aux);
        }
    }
    /* A number of more bits than were split off does not satisfy. */
    hints[0][0] = 8;
    run_witness(&t.r, (const uint8_t(*)[32])hints);
    ZK_CHECK(run_check(&t.r) < t.r.p->n_rows);
    run_free(&t.r);
    /* More values than the gadget has room for. */
    zk_synth s = {0};
    zk_cell none[1] = {0};
    zk_synth_select(&s, none, none, 8);
    ZK_CHECK(s.status == CUZK_INTERNAL);
}

ZK_TEST_MAIN(
#ifdef FULL
    ZK_CASE(test_structure_16k), ZK_CASE(test_structure_8m), ZK_CASE(test_structure_16m), ZK_CASE(test_structure_512m),
    ZK_CASE(test_structure_32g), ZK_CASE(test_structure_64g),
#endif
    ZK_CASE(test_structure_2k), ZK_CASE(test_structure_4k), ZK_CASE(test_structure_32k), ZK_CASE(test_sizes),
    ZK_CASE(test_gadgets))
