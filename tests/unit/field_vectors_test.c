/* field.json, every entry, for each variant of the field functions that this machine runs. */
#include "field/fp.h"
#include "field/fr.h"
#include "field_variants.h"
#include "zk_json.h"

static const zk_json *vectors(const char *section) {
    static const zk_json *file;
    if (!file) file = zk_json_load("primitives/field.json");
    return zk_json_get(file, section);
}

/* ---- reading and comparing elements ---- */

static zk_fr fr(const zk_json *v) {
    uint8_t bytes[32];
    zk_fr r;
    zk_json_hex(bytes, 32, v);
    ZK_CHECK(zk_fr_from_bytes_le(&r, bytes));
    return r;
}

static zk_fp fp(const zk_json *v) {
    uint8_t bytes[48];
    zk_fp r;
    zk_json_hex(bytes, 48, v);
    ZK_CHECK(zk_fp_from_bytes_le(&r, bytes));
    return r;
}

static zk_fp2 fp2(const zk_json *v) { return (zk_fp2){fp(zk_json_at(v, 0)), fp(zk_json_at(v, 1))}; }

/* Results are compared as bytes, so that a representation that is not fully reduced shows. */
static void check_fr(const zk_fr *got, const zk_json *expected, const char *what, size_t i) {
    uint8_t a[32], b[32];
    zk_fr_to_bytes_le(a, got);
    zk_json_hex(b, 32, expected);
    ZK_CHECKF(memcmp(a, b, 32) == 0, "fr %s, entry %zu", what, i);
    zk_fr again = fr(expected);
    ZK_CHECKF(zk_fr_eq(got, &again), "fr %s, entry %zu: limbs", what, i);
}

static void check_fp(const zk_fp *got, const zk_json *expected, const char *what, size_t i) {
    uint8_t a[48], b[48];
    zk_fp_to_bytes_le(a, got);
    zk_json_hex(b, 48, expected);
    ZK_CHECKF(memcmp(a, b, 48) == 0, "fp %s, entry %zu", what, i);
    zk_fp again = fp(expected);
    ZK_CHECKF(zk_fp_eq(got, &again), "fp %s, entry %zu: limbs", what, i);
}

static void check_fp2(const zk_fp2 *got, const zk_json *expected, const char *what, size_t i) {
    check_fp(&got->c0, zk_json_at(expected, 0), what, i);
    check_fp(&got->c1, zk_json_at(expected, 1), what, i);
}

/* ---- tables of operations ---- */

static void fr_identity(zk_fr *r, const zk_fr *a) { *r = *a; }
static void fp2_mul_xi(zk_fp2 *r, const zk_fp2 *a) { zk_fp2_mul_xi(r, a); }

static void test_fr_all(void) {
    static const struct {
        const char *name;
        void (*f)(zk_fr *, const zk_fr *, const zk_fr *);
    } binary[] = {{"add", zk_fr_add}, {"sub", zk_fr_sub}, {"mul", zk_fr_mul}};
    static const struct {
        const char *name;
        void (*f)(zk_fr *, const zk_fr *);
    } unary[] = {{"double", zk_fr_double}, {"neg", zk_fr_neg}, {"square", zk_fr_sqr}};
    const zk_json *all = vectors("fr");
    for (size_t k = 0; k < sizeof binary / sizeof binary[0]; k++) {
        const zk_json *list = zk_json_get(zk_json_get(all, "binary"), binary[k].name);
        ZK_CHECK(list->n > 0);
        for (size_t i = 0; i < list->n; i++) {
            const zk_json *e = zk_json_at(list, i);
            zk_fr a = fr(zk_json_at(e, 0)), b = fr(zk_json_at(e, 1)), r, left = a, right = b;
            binary[k].f(&r, &a, &b);
            check_fr(&r, zk_json_at(e, 2), binary[k].name, i);
            binary[k].f(&left, &left, &b);
            check_fr(&left, zk_json_at(e, 2), "result on the left operand", i);
            binary[k].f(&right, &a, &right);
            check_fr(&right, zk_json_at(e, 2), "result on the right operand", i);
        }
    }
    for (size_t k = 0; k < sizeof unary / sizeof unary[0]; k++) {
        const zk_json *list = zk_json_get(zk_json_get(all, "unary"), unary[k].name);
        ZK_CHECK(list->n > 0);
        for (size_t i = 0; i < list->n; i++) {
            zk_fr a = fr(zk_json_at(zk_json_at(list, i), 0)), r;
            unary[k].f(&r, &a);
            check_fr(&r, zk_json_at(zk_json_at(list, i), 1), unary[k].name, i);
            unary[k].f(&a, &a);
            check_fr(&a, zk_json_at(zk_json_at(list, i), 1), "result on the operand", i);
        }
    }
    static const struct {
        const char *name;
        bool (*f)(zk_fr *, const zk_fr *);
    } partial[] = {{"inverse", zk_fr_inv_var}, {"sqrt", zk_fr_sqrt_var}};
    for (size_t k = 0; k < 2; k++) {
        const zk_json *list = zk_json_get(zk_json_get(all, "unary"), partial[k].name);
        for (size_t i = 0; i < list->n; i++) {
            const zk_json *expected = zk_json_at(zk_json_at(list, i), 1);
            zk_fr a = fr(zk_json_at(zk_json_at(list, i), 0)), r;
            fr_identity(&r, &a);
            bool ok = partial[k].f(&r, &a);
            ZK_CHECKF(ok == (expected->kind != ZK_JSON_NULL), "fr %s, entry %zu", partial[k].name, i);
            if (ok) check_fr(&r, expected, partial[k].name, i);
        }
    }
    const zk_json *pow = zk_json_get(all, "pow");
    for (size_t i = 0; i < pow->n; i++) {
        const zk_json *e = zk_json_at(pow, i);
        zk_fr a = fr(zk_json_at(e, 0)), r;
        uint64_t exponent[4];
        zk_json_hex((uint8_t *)exponent, 32, zk_json_at(e, 1));
        zk_fr_pow_var(&r, &a, exponent, 4);
        check_fr(&r, zk_json_at(e, 2), "pow", i);
        if (!exponent[1] && !exponent[2] && !exponent[3]) {
            zk_fr_pow_u64(&r, &a, exponent[0]);
            check_fr(&r, zk_json_at(e, 2), "pow_u64", i);
        }
    }
}

static void test_fr_constants(void) {
    const zk_json *all = vectors("fr");
    uint8_t bytes[32];
    zk_json_hex(bytes, 32, zk_json_get(all, "modulus"));
    ZK_CHECK_MEM(bytes, zk_fr_modulus, 32);
    zk_json_hex(bytes, 32, zk_json_get(all, "montgomery_R"));
    ZK_CHECK_MEM(bytes, &zk_fr_one, 32);
    zk_json_hex(bytes, 32, zk_json_get(all, "montgomery_R2"));
    ZK_CHECK_MEM(bytes, &zk_fr_r2, 32);
    check_fr(&zk_fr_generator, zk_json_get(all, "generator"), "generator", 0);
    check_fr(&zk_fr_generator, zk_json_get(all, "coset_generator"), "coset generator", 0);
    ZK_CHECK(zk_json_get(all, "two_adicity")->number == ZK_FR_TWO_ADICITY);
    ZK_CHECK(zk_json_get(all, "modulus_bits")->number == ZK_FR_BITS);
    ZK_CHECK(strtoull(zk_json_text(zk_json_get(all, "minus_modulus_inverse_mod_2_64")), NULL, 16) == ZK_FR_NEG_INV);
    const zk_json *roots = zk_json_get(all, "roots_of_unity_by_log2_order");
    ZK_CHECK(roots->n == 33);
    for (size_t i = 0; i < roots->n; i++) {
        zk_fr root;
        zk_fr_root_of_unity(&root, (unsigned)zk_json_at(zk_json_at(roots, i), 0)->number);
        check_fr(&root, zk_json_at(zk_json_at(roots, i), 1), "root of unity", i);
    }
    zk_fr inverse;
    ZK_CHECK(zk_fr_inv_var(&inverse, &zk_fr_root_of_unity_2_32));
    check_fr(&inverse, zk_json_get(all, "root_of_unity_inverse"), "inverse root", 0);
}

static void test_fr_encodings(void) {
    const zk_json *list = zk_json_get(vectors("fr"), "encodings");
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        uint8_t bytes[32], again[32];
        zk_fr before = {{1, 2, 3, 4}}, r = before, reduced;
        zk_json_hex(bytes, 32, zk_json_get(e, "bytes"));
        bool ok = zk_fr_from_bytes_le(&r, bytes);
        ZK_CHECKF(ok == zk_json_get(e, "accepted")->truth, "entry %zu", i);
        zk_fr_from_bytes_reduce(&reduced, bytes);
        if (ok) {
            zk_fr_to_bytes_le(again, &r);
            ZK_CHECK_MEM(again, bytes, 32);
            ZK_CHECK(zk_fr_eq(&reduced, &r));
        } else {
            ZK_CHECK_MEM(&r, &before, sizeof r);
        }
    }
}

static void test_fp_all(void) {
    static const struct {
        const char *name;
        void (*f)(zk_fp *, const zk_fp *, const zk_fp *);
    } binary[] = {{"add", zk_fp_add}, {"sub", zk_fp_sub}, {"mul", zk_fp_mul}};
    static const struct {
        const char *name;
        void (*f)(zk_fp *, const zk_fp *);
    } unary[] = {{"double", zk_fp_double}, {"neg", zk_fp_neg}, {"square", zk_fp_sqr}};
    const zk_json *all = vectors("fp");
    for (size_t k = 0; k < sizeof binary / sizeof binary[0]; k++) {
        const zk_json *list = zk_json_get(zk_json_get(all, "binary"), binary[k].name);
        ZK_CHECK(list->n > 0);
        for (size_t i = 0; i < list->n; i++) {
            const zk_json *e = zk_json_at(list, i);
            zk_fp a = fp(zk_json_at(e, 0)), b = fp(zk_json_at(e, 1)), r, left = a, right = b;
            binary[k].f(&r, &a, &b);
            check_fp(&r, zk_json_at(e, 2), binary[k].name, i);
            binary[k].f(&left, &left, &b);
            check_fp(&left, zk_json_at(e, 2), "result on the left operand", i);
            binary[k].f(&right, &a, &right);
            check_fp(&right, zk_json_at(e, 2), "result on the right operand", i);
        }
    }
    for (size_t k = 0; k < sizeof unary / sizeof unary[0]; k++) {
        const zk_json *list = zk_json_get(zk_json_get(all, "unary"), unary[k].name);
        ZK_CHECK(list->n > 0);
        for (size_t i = 0; i < list->n; i++) {
            zk_fp a = fp(zk_json_at(zk_json_at(list, i), 0)), r;
            unary[k].f(&r, &a);
            check_fp(&r, zk_json_at(zk_json_at(list, i), 1), unary[k].name, i);
            unary[k].f(&a, &a);
            check_fp(&a, zk_json_at(zk_json_at(list, i), 1), "result on the operand", i);
        }
    }
    static const struct {
        const char *name;
        bool (*f)(zk_fp *, const zk_fp *);
    } partial[] = {{"inverse", zk_fp_inv_var}, {"sqrt", zk_fp_sqrt_var}};
    for (size_t k = 0; k < 2; k++) {
        const zk_json *list = zk_json_get(zk_json_get(all, "unary"), partial[k].name);
        for (size_t i = 0; i < list->n; i++) {
            const zk_json *expected = zk_json_at(zk_json_at(list, i), 1);
            zk_fp a = fp(zk_json_at(zk_json_at(list, i), 0)), r = a;
            bool ok = partial[k].f(&r, &a);
            ZK_CHECKF(ok == (expected->kind != ZK_JSON_NULL), "fp %s, entry %zu", partial[k].name, i);
            if (ok) check_fp(&r, expected, partial[k].name, i);
        }
    }
    const zk_json *pow = zk_json_get(all, "pow");
    for (size_t i = 0; i < pow->n; i++) {
        const zk_json *e = zk_json_at(pow, i);
        zk_fp a = fp(zk_json_at(e, 0)), r;
        uint64_t exponent[6];
        size_t n_bytes = strlen(zk_json_text(zk_json_at(e, 1))) / 2;
        ZK_CHECK(n_bytes % 8 == 0 && n_bytes <= sizeof exponent);
        zk_json_hex((uint8_t *)exponent, n_bytes, zk_json_at(e, 1));
        zk_fp_pow_var(&r, &a, exponent, n_bytes / 8);
        check_fp(&r, zk_json_at(e, 2), "pow", i);
    }
}

static void test_fp_constants(void) {
    const zk_json *all = vectors("fp");
    uint8_t bytes[48];
    zk_json_hex(bytes, 48, zk_json_get(all, "modulus"));
    ZK_CHECK_MEM(bytes, zk_fp_modulus, 48);
    zk_json_hex(bytes, 48, zk_json_get(all, "montgomery_R"));
    ZK_CHECK_MEM(bytes, &zk_fp_one, 48);
    ZK_CHECK_MEM(bytes, &zk_fp2_one.c0, 48);
    zk_json_hex(bytes, 48, zk_json_get(all, "montgomery_R2"));
    ZK_CHECK_MEM(bytes, &zk_fp_r2, 48);
    ZK_CHECK(strtoull(zk_json_text(zk_json_get(all, "minus_modulus_inverse_mod_2_64")), NULL, 16) == ZK_FP_NEG_INV);
}

static void test_fp_encodings(void) {
    const zk_json *list = zk_json_get(vectors("fp"), "encodings");
    for (size_t i = 0; i < list->n; i++) {
        const zk_json *e = zk_json_at(list, i);
        bool accepted = zk_json_get(e, "accepted")->truth;
        uint8_t le[48], be[48], again[48];
        zk_fp before = {{1, 2, 3, 4, 5, 6}}, r = before, s = before;
        zk_json_hex(le, 48, zk_json_get(e, "value_le"));
        zk_json_hex(be, 48, zk_json_get(e, "value_be"));
        ZK_CHECKF(zk_fp_from_bytes_le(&r, le) == accepted, "entry %zu", i);
        ZK_CHECKF(zk_fp_from_bytes_be(&s, be) == accepted, "entry %zu", i);
        ZK_CHECK_MEM(&r, &s, sizeof r);
        if (accepted) {
            zk_fp_to_bytes_le(again, &r);
            ZK_CHECK_MEM(again, le, 48);
            zk_fp_to_bytes_be(again, &r);
            ZK_CHECK_MEM(again, be, 48);
        } else {
            ZK_CHECK_MEM(&r, &before, sizeof r);
        }
    }
}

static void test_fp2_all(void) {
    static const struct {
        const char *name;
        void (*f)(zk_fp2 *, const zk_fp2 *, const zk_fp2 *);
    } binary[] = {{"add", zk_fp2_add}, {"sub", zk_fp2_sub}, {"mul", zk_fp2_mul}};
    static const struct {
        const char *name;
        void (*f)(zk_fp2 *, const zk_fp2 *);
    } unary[] = {{"square", zk_fp2_sqr}, {"mul_by_nonresidue_1_plus_u", fp2_mul_xi}, {"frobenius", zk_fp2_conjugate}};
    const zk_json *all = vectors("fp2");
    for (size_t k = 0; k < sizeof binary / sizeof binary[0]; k++) {
        const zk_json *list = zk_json_get(all, binary[k].name);
        ZK_CHECK(list->n > 0);
        for (size_t i = 0; i < list->n; i++) {
            const zk_json *e = zk_json_at(list, i);
            zk_fp2 a = fp2(zk_json_at(e, 0)), b = fp2(zk_json_at(e, 1)), r, left = a, right = b;
            binary[k].f(&r, &a, &b);
            check_fp2(&r, zk_json_at(e, 2), binary[k].name, i);
            binary[k].f(&left, &left, &b);
            check_fp2(&left, zk_json_at(e, 2), "result on the left operand", i);
            binary[k].f(&right, &a, &right);
            check_fp2(&right, zk_json_at(e, 2), "result on the right operand", i);
        }
    }
    for (size_t k = 0; k < sizeof unary / sizeof unary[0]; k++) {
        const zk_json *list = zk_json_get(all, unary[k].name);
        ZK_CHECK(list->n > 0);
        for (size_t i = 0; i < list->n; i++) {
            zk_fp2 a = fp2(zk_json_at(zk_json_at(list, i), 0)), r;
            unary[k].f(&r, &a);
            check_fp2(&r, zk_json_at(zk_json_at(list, i), 1), unary[k].name, i);
            unary[k].f(&a, &a);
            check_fp2(&a, zk_json_at(zk_json_at(list, i), 1), "result on the operand", i);
        }
    }
    static const struct {
        const char *name;
        bool (*f)(zk_fp2 *, const zk_fp2 *);
    } partial[] = {{"inverse", zk_fp2_inv_var}, {"sqrt", zk_fp2_sqrt_var}};
    for (size_t k = 0; k < 2; k++) {
        const zk_json *list = zk_json_get(all, partial[k].name);
        for (size_t i = 0; i < list->n; i++) {
            const zk_json *expected = zk_json_at(zk_json_at(list, i), 1);
            zk_fp2 a = fp2(zk_json_at(zk_json_at(list, i), 0)), r = a;
            bool ok = partial[k].f(&r, &a);
            ZK_CHECKF(ok == (expected->kind != ZK_JSON_NULL), "fp2 %s, entry %zu", partial[k].name, i);
            if (ok) check_fp2(&r, expected, partial[k].name, i);
        }
    }
}

VARIANTS(test_fr_all)
VARIANTS(test_fr_constants)
VARIANTS(test_fr_encodings)
VARIANTS(test_fp_all)
VARIANTS(test_fp_constants)
VARIANTS(test_fp_encodings)
VARIANTS(test_fp2_all)

ZK_TEST_MAIN(ZK_CASE(test_fr_all_portable), ZK_CASE(test_fr_all_adx), ZK_CASE(test_fr_constants_portable),
             ZK_CASE(test_fr_constants_adx), ZK_CASE(test_fr_encodings_portable), ZK_CASE(test_fr_encodings_adx),
             ZK_CASE(test_fp_all_portable), ZK_CASE(test_fp_all_adx), ZK_CASE(test_fp_constants_portable),
             ZK_CASE(test_fp_constants_adx), ZK_CASE(test_fp_encodings_portable), ZK_CASE(test_fp_encodings_adx),
             ZK_CASE(test_fp2_all_portable), ZK_CASE(test_fp2_all_adx))
