/* ntt.json, all of it; and what it cannot say: against the definition, inverses, linearity, the quotient at a point,
 * several thread counts. Vectors go through the code that this CPU chooses, the rest through the scalar code;
 * lanes_ntt_test.c compares the two. */
#include "base/alloc.h"
#include "ntt/ntt.h"
#include "hash/sha256.h"
#include "scalars.h"
#include "zk_json.h"

typedef void (*transform_fn)(const zk_ntt_domain *, zk_fr *, zk_pool *);

static const struct {
    const char *name, *digest;
    transform_fn run, undo;
} transforms[] = {
    {"fft", "fft_sha256", zk_ntt_forward, zk_ntt_inverse},
    {"ifft", "ifft_sha256", zk_ntt_inverse, zk_ntt_forward},
    {"coset_fft", "coset_fft_sha256", zk_ntt_coset_forward, zk_ntt_coset_inverse},
    {"icoset_fft", "icoset_fft_sha256", zk_ntt_coset_inverse, zk_ntt_coset_forward},
};
#define N_TRANSFORMS (sizeof transforms / sizeof transforms[0])

static zk_ntt_domain *new_domain(unsigned log2_n) {
    cuzk_err err = {0};
    zk_ntt_domain *domain;
    ZK_CHECK_OK(zk_ntt_domain_create(&domain, log2_n, NULL, &err), err);
    return domain;
}

/* The fastest code that this CPU runs. */
static zk_ntt_domain *domain_of(unsigned log2_n) {
    static zk_ntt_domain *domains[33];
    if (!domains[log2_n]) domains[log2_n] = new_domain(log2_n);
    return domains[log2_n];
}

/* The scalar code. */
static zk_ntt_domain *scalar_domain_of(unsigned log2_n) {
    static zk_ntt_domain *domains[33];
    if (!domains[log2_n]) {
        const char *limit = getenv("CUZK_CPU");
        char *saved = limit ? strdup(limit) : NULL;
        setenv("CUZK_CPU", "adx", 1);
        domains[log2_n] = new_domain(log2_n);
        if (saved) {
            setenv("CUZK_CPU", saved, 1);
        } else {
            unsetenv("CUZK_CPU");
        }
        free(saved);
    }
    return domains[log2_n];
}

static zk_fr *new_vector(size_t n) {
    zk_fr *x = calloc(n ? n : 1, sizeof *x);
    ZK_CHECK(x);
    return x;
}

static void check_digest(const zk_fr *x, size_t n, const zk_json *expected, const char *what, unsigned size) {
    zk_sha256_ctx ctx;
    uint8_t digest[32], wanted[32];
    zk_sha256_init(&ctx);
    for (size_t i = 0; i < n; i++) {
        uint8_t bytes[32];
        zk_fr_to_bytes_le(bytes, &x[i]);
        zk_sha256_update(&ctx, bytes, 32);
    }
    zk_sha256_final(digest, &ctx);
    zk_json_hex(wanted, 32, expected);
    ZK_CHECKF(memcmp(digest, wanted, 32) == 0, "%s of %u", what, size);
}

static const zk_json *vectors(void) {
    static const zk_json *file;
    if (!file) file = zk_json_load("primitives/ntt.json");
    return file;
}

static void test_vectors(void) {
    const zk_json *cases = zk_json_get(vectors(), "cases");
    const char *label = zk_json_text(zk_json_get(vectors(), "label"));
    ZK_CHECK(cases->n >= 14);
    for (size_t k = 0; k < cases->n; k++) {
        const zk_json *c = zk_json_at(cases, k);
        unsigned log2_n = (unsigned)zk_json_get(c, "log2_n")->number;
        size_t n = (size_t)1 << log2_n;
        zk_fr *input = new_vector(n), *x = new_vector(n);
        for (size_t i = 0; i < n; i++) {
            char text[96];
            snprintf(text, sizeof text, "%s/ntt/%u/%zu", label, log2_n, i);
            input[i] = hfr(text);
        }
        check_digest(input, n, zk_json_get(c, "input_sha256"), "input", log2_n);
        for (size_t t = 0; t < N_TRANSFORMS; t++) {
            memcpy(x, input, n * sizeof *x);
            transforms[t].run(domain_of(log2_n), x, log2_n % 2 ? two_threads() : NULL);
            check_digest(x, n, zk_json_get(c, transforms[t].digest), transforms[t].name, log2_n);
            if (log2_n > 4) continue;
            const zk_json *list = zk_json_get(c, transforms[t].name);
            ZK_CHECK(list->n == n);
            for (size_t i = 0; i < n; i++) {
                uint8_t bytes[32], wanted[32];
                zk_fr_to_bytes_le(bytes, &x[i]);
                zk_json_hex(wanted, 32, zk_json_at(list, i));
                ZK_CHECKF(memcmp(bytes, wanted, 32) == 0, "%s of 2^%u, element %zu", transforms[t].name, log2_n, i);
            }
        }
        free(input);
        free(x);
    }
}

static void test_quotient_vectors(void) {
    static const char *const digests[3] = {"a_sha256", "b_sha256", "c_sha256"};
    const zk_json *cases = zk_json_get(vectors(), "h");
    const char *label = zk_json_text(zk_json_get(vectors(), "label"));
    ZK_CHECK(cases->n >= 12);
    for (size_t k = 0; k < cases->n; k++) {
        const zk_json *c = zk_json_at(cases, k);
        unsigned rows = (unsigned)zk_json_get(c, "rows")->number, log2_n = 0;
        size_t n = (size_t)zk_json_get(c, "domain")->number;
        while ((size_t)1 << log2_n < n) log2_n++;
        bool satisfied = zk_json_get(c, "satisfied")->truth;
        zk_fr *x[3] = {new_vector(n), new_vector(n), new_vector(n)};
        for (size_t i = 0; i < rows; i++) {
            for (int v = 0; v < (satisfied ? 2 : 3); v++) {
                char text[96];
                snprintf(text, sizeof text, "%s/h/%u/%c/%zu", label, rows, 'a' + v, i);
                x[v][i] = hfr(text);
            }
            if (satisfied) zk_fr_mul(&x[2][i], &x[0][i], &x[1][i]);
        }
        for (int v = 0; v < 3; v++) check_digest(x[v], rows, zk_json_get(c, digests[v]), digests[v], rows);
        zk_ntt_quotient(domain_of(log2_n), x[0], x[1], x[2], k % 2 ? two_threads() : NULL);
        check_digest(x[0], n - 1, zk_json_get(c, "h_sha256"), "h", rows);
        uint8_t last[32], wanted[32];
        zk_fr_to_bytes_le(last, &x[0][n - 1]);
        zk_json_hex(wanted, 32, zk_json_get(c, "dropped_top_coefficient"));
        ZK_CHECKF(memcmp(last, wanted, 32) == 0, "dropped coefficient of %u rows", rows);
        for (int v = 0; v < 3; v++) free(x[v]);
    }
}

/* sum_i x_i p^i */
static zk_fr evaluate(const zk_fr *x, size_t n, const zk_fr *p) {
    zk_fr y = zk_fr_zero;
    for (size_t i = n; i-- > 0;) {
        zk_fr_mul(&y, &y, p);
        zk_fr_add(&y, &y, &x[i]);
    }
    return y;
}

static void test_definition(void) {
    uint64_t seed = 1;
    for (unsigned log2_n = 0; log2_n <= 6; log2_n++) {
        size_t n = (size_t)1 << log2_n;
        zk_fr x[64], y[64], z[64], w, p = zk_fr_one, shifted;
        for (size_t i = 0; i < n; i++) x[i] = y[i] = z[i] = fr_random(&seed);
        zk_ntt_forward(domain_of(log2_n), y, NULL);
        zk_ntt_coset_forward(domain_of(log2_n), z, NULL);
        zk_fr_root_of_unity(&w, log2_n);
        for (size_t j = 0; j < n; j++) {
            zk_fr wanted = evaluate(x, n, &p);
            ZK_CHECKF(zk_fr_eq(&wanted, &y[j]), "n %zu, element %zu", n, j);
            zk_fr_mul(&shifted, &p, &zk_fr_generator);
            wanted = evaluate(x, n, &shifted);
            ZK_CHECKF(zk_fr_eq(&wanted, &z[j]), "coset, n %zu, element %zu", n, j);
            zk_fr_mul(&p, &p, &w);
        }
        ZK_CHECK(zk_fr_is_one(&p));
    }
}

/* Every size up to 2^18, where a third pass begins; single outputs against the definition. */
static void test_every_size(void) {
    uint64_t seed = 2;
    for (unsigned log2_n = 0; log2_n <= 18; log2_n++) {
        size_t n = (size_t)1 << log2_n;
        zk_fr *x = new_vector(n), *y = new_vector(n);
        for (size_t i = 0; i < n; i++) x[i] = fr_random(&seed);
        for (size_t t = 0; t < N_TRANSFORMS; t++) {
            memcpy(y, x, n * sizeof *x);
            transforms[t].run(scalar_domain_of(log2_n), y, two_threads());
            if (t % 2 == 0) {
                size_t j = zk_test_rand(&seed) % n;
                zk_fr p, wanted;
                zk_fr_root_of_unity(&p, log2_n);
                zk_fr_pow_u64(&p, &p, j);
                if (t == 2) zk_fr_mul(&p, &p, &zk_fr_generator);
                wanted = evaluate(x, n, &p);
                ZK_CHECKF(zk_fr_eq(&wanted, &y[j]), "%s of 2^%u, element %zu", transforms[t].name, log2_n, j);
            }
            transforms[t].undo(scalar_domain_of(log2_n), y, NULL);
            ZK_CHECKF(memcmp(x, y, n * sizeof *x) == 0, "%s of 2^%u and back", transforms[t].name, log2_n);
        }
        free(x);
        free(y);
    }
}

static void test_linearity(void) {
    const unsigned log2_n = 17;
    const size_t n = (size_t)1 << log2_n;
    uint64_t seed = 3;
    zk_fr *x = new_vector(n), *y = new_vector(n), *z = new_vector(n), s = fr_random(&seed);
    for (size_t t = 0; t < N_TRANSFORMS; t++) {
        for (size_t i = 0; i < n; i++) {
            x[i] = fr_random(&seed);
            y[i] = fr_random(&seed);
            zk_fr_mul(&z[i], &s, &y[i]);
            zk_fr_add(&z[i], &z[i], &x[i]);
        }
        transforms[t].run(domain_of(log2_n), x, NULL);
        transforms[t].run(domain_of(log2_n), y, NULL);
        transforms[t].run(domain_of(log2_n), z, two_threads());
        for (size_t i = 0; i < n; i++) {
            zk_fr sum;
            zk_fr_mul(&sum, &s, &y[i]);
            zk_fr_add(&sum, &sum, &x[i]);
            ZK_CHECKF(zk_fr_eq(&sum, &z[i]), "%s, element %zu", transforms[t].name, i);
        }
    }
    free(x);
    free(y);
    free(z);
}

/* h (x^n - 1) = a b - c as polynomials of degree 2n - 2, with c's interpolant: true at a random point. */
static void test_quotient_at_point(void) {
    uint64_t seed = 4;
    static const unsigned sizes[] = {0, 1, 2, 8, 9, 10, 11, 13, 16, 17, 18};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = (size_t)1 << sizes[k];
        zk_fr *x[3], value[3], point = fr_random(&seed);
        for (int v = 0; v < 3; v++) {
            x[v] = new_vector(n);
            for (size_t i = 0; i < n && v < 2; i++) x[v][i] = fr_random(&seed);
        }
        for (size_t i = 0; i < n; i++) zk_fr_mul(&x[2][i], &x[0][i], &x[1][i]);
        for (int v = 0; v < 3; v++) {
            zk_fr *coefficients = new_vector(n);
            memcpy(coefficients, x[v], n * sizeof **x);
            zk_ntt_inverse(scalar_domain_of(sizes[k]), coefficients, NULL);
            value[v] = evaluate(coefficients, n, &point);
            free(coefficients);
        }
        zk_ntt_quotient(scalar_domain_of(sizes[k]), x[0], x[1], x[2], two_threads());
        zk_fr z, left, right, h = evaluate(x[0], n, &point);
        zk_fr_pow_u64(&z, &point, n);
        zk_fr_sub(&z, &z, &zk_fr_one);
        zk_fr_mul(&left, &h, &z);
        zk_fr_mul(&right, &value[0], &value[1]);
        zk_fr_sub(&right, &right, &value[2]);
        ZK_CHECKF(zk_fr_eq(&left, &right), "n %zu", n);
        ZK_CHECKF(zk_fr_is_zero(&x[0][n - 1]), "n %zu", n);
        for (int v = 0; v < 3; v++) free(x[v]);
    }
}

/* Transform by transform, then element by element at g w^-j; in both codes. */
static void test_products(void) {
    uint64_t seed = 5;
    static const unsigned sizes[] = {0, 1, 2, 3, 8, 9, 10, 12, 13, 17, 18};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = (size_t)1 << sizes[k];
        zk_fr *x[2], *y[2];
        for (int v = 0; v < 2; v++) {
            x[v] = new_vector(n);
            y[v] = new_vector(n);
            for (size_t i = 0; i < n; i++) x[v][i] = fr_random(&seed);
            memcpy(y[v], x[v], n * sizeof **y);
            zk_ntt_inverse(scalar_domain_of(sizes[k]), y[v], NULL);
            zk_ntt_coset_forward(scalar_domain_of(sizes[k]), y[v], NULL);
        }
        for (int code = 0; code < 2; code++) {
            zk_fr *z[2] = {new_vector(n), new_vector(n)};
            for (int v = 0; v < 2; v++) memcpy(z[v], x[v], n * sizeof **z);
            zk_ntt_products(code ? domain_of(sizes[k]) : scalar_domain_of(sizes[k]), z[0], z[1],
                            code ? two_threads() : NULL);
            for (size_t j = 0; j < n; j++) {
                zk_fr product;
                zk_fr_mul(&product, &y[0][j], &y[1][j]);
                ZK_CHECKF(zk_fr_eq(&z[0][(n - j) % n], &product), "n %zu, element %zu", n, j);
            }
            for (int v = 0; v < 2; v++) free(z[v]);
        }
        for (int v = 0; v < 2; v++) {
            free(x[v]);
            free(y[v]);
        }
    }
}

static void test_domain_limits(void) {
    cuzk_err err = {0};
    zk_ntt_domain *domain = NULL;
    ZK_CHECK(zk_ntt_domain_create(&domain, 33, NULL, &err) == CUZK_UNSUPPORTED && !domain);
    ZK_CHECK(zk_ntt_domain_bytes(33) == 0);
    /* The tables of the largest domain in use are within a quarter of its vector. */
    ZK_CHECK(zk_ntt_domain_bytes(27) > 0 && zk_ntt_domain_bytes(27) <= ((size_t)32 << 27) / 4);
}

static void test_out_of_memory(void) {
    for (uint64_t nth = 1; nth <= 2; nth++) {
        cuzk_err err = {0};
        zk_ntt_domain *domain;
        zk_alloc_fail_nth(nth);
        ZK_CHECK(zk_ntt_domain_create(&domain, 10, NULL, &err) == CUZK_OUT_OF_MEMORY && !domain);
        ZK_CHECK(err.status == CUZK_OUT_OF_MEMORY && zk_alloc_failed());
    }
    zk_alloc_fail_nth(0);
}

ZK_TEST_MAIN(ZK_CASE(test_definition), ZK_CASE(test_vectors), ZK_CASE(test_quotient_vectors), ZK_CASE(test_every_size),
             ZK_CASE(test_linearity), ZK_CASE(test_quotient_at_point), ZK_CASE(test_products),
             ZK_CASE(test_domain_limits), ZK_CASE(test_out_of_memory))
