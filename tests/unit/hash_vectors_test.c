/* Poseidon, tree hashes and fr32 against the vectors. */
#include "base/bytes.h"
#include "base/json_dom.h"
#include "field/cpu.h"
#include "hash/fr32.h"
#include "hash/poseidon.h"
#include "hash/poseidon_dot.h"
#include "hash/sha256.h"
#include "rounding_mode.h"
#include "zk_test.h"

static zk_json_doc *load(const char *name) {
    char path[4096];
    cuzk_err err = {0};
    zk_json_doc *doc = NULL;
    snprintf(path, sizeof path, "%s/primitives/%s", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_json_parse_file(&doc, path, 64u << 20, &err), err);
    return doc;
}

static const zk_json_value *get(const zk_json_value *object, const char *name) {
    const zk_json_value *value = zk_json_member_of(object, name);
    ZK_CHECKF(value != NULL, "member %s", name);
    return value;
}

static uint64_t get_u64(const zk_json_value *object, const char *name) {
    uint64_t out = 0;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_u64(&out, get(object, name), UINT64_MAX, name, &err), err);
    return out;
}

static const char *text_of(const zk_json_value *value) {
    const char *text = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_string(&text, value, "text", &err), err);
    return text;
}

static void node_of(uint8_t out[32], const zk_json_value *value) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_json_get_hex(out, 32, value, "node", &err), err);
}

static void fr_of(zk_fr *out, const zk_json_value *value) {
    uint8_t bytes[32];
    node_of(bytes, value);
    ZK_CHECK(zk_fr_from_bytes_le(out, bytes));
}

/* SHA-256 of the text, as a little-endian integer mod r. */
static void hfr(zk_fr *out, const char *text) {
    uint8_t digest[32];
    zk_sha256(digest, text, strlen(text));
    zk_fr_from_bytes_reduce(out, digest);
}

/* data(text, n) of the vectors' README. */
static void make_data(uint8_t *out, size_t n, const char *text) {
    for (uint64_t k = 0; n > 0; k++) {
        uint8_t digest[32], counter[8];
        zk_sha256_ctx ctx;
        size_t take = n < 32 ? n : 32;
        zk_store_le64(counter, k);
        zk_sha256_init(&ctx);
        zk_sha256_update(&ctx, text, strlen(text));
        zk_sha256_update(&ctx, counter, 8);
        zk_sha256_final(digest, &ctx);
        memcpy(out, digest, take);
        out += take, n -= take;
    }
}

static void check_digest(const zk_fr *values, size_t n, const zk_json_value *want) {
    zk_sha256_ctx ctx;
    uint8_t bytes[32], expected[32];
    zk_sha256_init(&ctx);
    for (size_t i = 0; i < n; i++) {
        zk_fr_to_bytes_le(bytes, &values[i]);
        zk_sha256_update(&ctx, bytes, 32);
    }
    zk_sha256_final(bytes, &ctx);
    node_of(expected, want);
    ZK_CHECK_MEM(bytes, expected, 32);
}

static void test_poseidon_constants(void) {
    zk_json_doc *doc = load("poseidon.json");
    const zk_json_value *instances = get(zk_json_root(doc), "instances");
    ZK_CHECK(zk_json_count(instances) > 0);
    for (size_t i = 0; i < zk_json_count(instances); i++) {
        const zk_json_value *instance = zk_json_element_of(instances, i);
        const zk_poseidon_params *p = zk_poseidon_get((unsigned)get_u64(instance, "arity"));
        ZK_CHECK(p != NULL);
        ZK_CHECK(p->width == get_u64(instance, "width"));
        ZK_CHECK(p->full_rounds == get_u64(instance, "full_rounds"));
        ZK_CHECK(p->partial_rounds == get_u64(instance, "partial_rounds"));
        size_t n_constants = (size_t)(p->full_rounds + p->partial_rounds) * p->width;
        ZK_CHECK(n_constants == get_u64(instance, "round_constants_count"));
        check_digest(p->round_constants, n_constants, get(instance, "round_constants_sha256"));
        check_digest(p->mds, (size_t)p->width * p->width, get(instance, "mds_sha256_row_major"));
    }
    zk_json_doc_destroy(doc);
    ZK_CHECK(zk_poseidon_get(0) == NULL && zk_poseidon_get(ZK_POSEIDON_MAX_ARITY + 1) == NULL);
    ZK_CHECK(zk_poseidon_get(8) == zk_poseidon_get(8));
}

/* Plain, fast and recorded forms give the listed hash. */
static void test_poseidon_hashes(void) {
    zk_json_doc *doc = load("poseidon.json");
    const zk_json_value *instances = get(zk_json_root(doc), "instances");
    static zk_poseidon_sbox sboxes[ZK_POSEIDON_MAX_SBOXES];
    for (size_t i = 0; i < zk_json_count(instances); i++) {
        const zk_json_value *instance = zk_json_element_of(instances, i), *cases = get(instance, "cases");
        const zk_poseidon_params *p = zk_poseidon_get((unsigned)get_u64(instance, "arity"));
        zk_fr tag, in[ZK_POSEIDON_MAX_ARITY], want, got;
        fr_of(&tag, get(instance, "domain_tag"));
        bool tree = strstr(text_of(get(instance, "name")), "merkle") != NULL;
        ZK_CHECK(zk_fr_eq(&tag, &p->tree_tag) == tree);
        ZK_CHECK(zk_poseidon_n_sboxes(p) <= sizeof sboxes / sizeof sboxes[0]);
        for (size_t k = 0; k < zk_json_count(cases); k++) {
            const zk_json_value *c = zk_json_element_of(cases, k);
            for (unsigned j = 0; j < p->arity; j++) fr_of(&in[j], zk_json_element_of(get(c, "in"), j));
            fr_of(&want, get(c, "out"));
            zk_poseidon_hash_plain(&got, p, &tag, in);
            ZK_CHECKF(zk_fr_eq(&got, &want), "plain, arity %u case %zu", p->arity, k);
            zk_poseidon_hash_tagged(&got, p, &tag, in);
            ZK_CHECKF(zk_fr_eq(&got, &want), "fast, arity %u case %zu", p->arity, k);
            zk_poseidon_trace(&got, sboxes, p, &tag, in);
            ZK_CHECKF(zk_fr_eq(&got, &want), "recorded, arity %u case %zu", p->arity, k);
            if (!tree) continue;
            zk_poseidon_hash(&got, p, in);
            ZK_CHECKF(zk_fr_eq(&got, &want), "tree, arity %u case %zu", p->arity, k);
        }
    }
    zk_json_doc_destroy(doc);
}

/* The recorded S-boxes hang together: squares are squares, and in the first round x is input plus constant. */
static void test_poseidon_trace(void) {
    const zk_poseidon_params *p = zk_poseidon_get(4);
    zk_poseidon_sbox sboxes[5 * ZK_POSEIDON_FULL_ROUNDS + 64];
    zk_fr in[4], out, t;
    for (unsigned i = 0; i < 4; i++) zk_fr_from_u64(&in[i], 1000 + i);
    zk_poseidon_trace(&out, sboxes, p, &p->tree_tag, in);
    for (unsigned i = 0; i < p->width; i++) {
        zk_fr_add(&t, i == 0 ? &p->tree_tag : &in[i - 1], &p->compressed[i]);
        ZK_CHECK(zk_fr_eq(&t, &sboxes[i].x));
    }
    unsigned n = zk_poseidon_n_sboxes(p);
    for (unsigned i = 0; i < n; i++) {
        zk_fr_sqr(&t, &sboxes[i].x);
        ZK_CHECK(zk_fr_eq(&t, &sboxes[i].x2));
        zk_fr_sqr(&t, &t);
        ZK_CHECK(zk_fr_eq(&t, &sboxes[i].x4));
        zk_fr_mul(&t, &t, &sboxes[i].x);
        if (i + p->width < n) zk_fr_add(&t, &t, &p->compressed[p->width + i]);
        ZK_CHECK(zk_fr_eq(&t, &sboxes[i].y));
    }
}

/* Every arity: the optimised form equals the plain one, also for r - 1 everywhere. */
static void test_poseidon_forms_agree(void) {
    for (unsigned arity = 1; arity <= 20; arity++) {
        const zk_poseidon_params *p = zk_poseidon_get(arity);
        zk_fr in[20], a, b;
        for (unsigned round = 0; round < 3; round++) {
            for (unsigned i = 0; i < arity; i++) {
                char text[64];
                snprintf(text, sizeof text, "forms %u %u", arity, i);
                hfr(&in[i], text);
                if (round == 1) zk_fr_neg(&in[i], &zk_fr_one);
                if (round == 2) in[i] = zk_fr_zero;
            }
            zk_poseidon_hash_plain(&a, p, &p->tree_tag, in);
            zk_poseidon_hash(&b, p, in);
            ZK_CHECKF(zk_fr_eq(&a, &b), "arity %u round %u", arity, round);
        }
    }
}

static void set_limit(const char *limit) {
    ZK_CHECK((limit ? setenv("CUZK_CPU", limit, 1) : unsetenv("CUZK_CPU")) == 0);
}

/* Many hashes at once equal hashes one by one, whatever the CPU may use: counts around multiples of eight; inputs 0,
 * r - 1, the greatest limbs, and mixed with random ones, so that every lane meets every value. */
static void test_poseidon_many(void) {
    enum { N = 17, MAX = 13 };
    static const char *const limits[] = {"portable", "adx", "avx2", "ifma", NULL};
    static const size_t counts[] = {0, 1, 2, 7, 8, 9, 10, 16, N};
    static zk_fr in[N * MAX], want[N], got[N + 1];
    const char *old = getenv("CUZK_CPU");
    char *saved = old ? strdup(old) : NULL;
    zk_fr special[4] = {zk_fr_zero, zk_fr_one};
    zk_fr_neg(&special[2], &zk_fr_one);
    special[3] = (zk_fr){{zk_fr_modulus[0] - 1, zk_fr_modulus[1], zk_fr_modulus[2], zk_fr_modulus[3]}};
    uint64_t seed = 11;
    const unsigned usual = mode_now();
    for (unsigned arity = 1; arity <= MAX; arity++) {
        const zk_poseidon_params *p = zk_poseidon_get(arity);
        for (unsigned round = 0; round < 6; round++) {
            for (size_t i = 0; i < N * arity; i++) {
                uint8_t bytes[64];
                for (unsigned k = 0; k < 64; k++) bytes[k] = (uint8_t)zk_test_rand(&seed);
                zk_fr_from_bytes_wide(&in[i], bytes);
                if (round < 4) in[i] = special[round];
                if (round == 4 && zk_test_rand(&seed) % 2) in[i] = special[zk_test_rand(&seed) % 4];
            }
            for (size_t i = 0; i < N; i++) zk_poseidon_hash_plain(&want[i], p, &p->tree_tag, in + i * arity);
            for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
                set_limit(limits[l]);
                for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
                    size_t n = counts[c];
                    for (size_t i = 0; i <= N; i++) got[i] = special[3];
                    mode_set(0x5f80); /* rounding up, to be back afterwards */
                    const unsigned mode = mode_now();
                    zk_poseidon_hash_many(got, p, in, n);
                    ZK_CHECK(mode_now() == mode);
                    mode_set(usual);
                    for (size_t i = 0; i <= N; i++)
                        ZK_CHECKF(zk_fr_eq(&got[i], i < n ? &want[i] : &special[3]),
                                  "%s: arity %u round %u n %zu hash %zu", limits[l] ? limits[l] : "best", arity, round,
                                  n, i);
                }
            }
        }
    }
    set_limit(saved);
    free(saved);
}

/* The permutation's entry 1 is the hash. */
static void test_poseidon_permute(void) {
    static const unsigned arities[] = {2, 8, 11};
    for (unsigned k = 0; k < 3; k++) {
        const zk_poseidon_params *p = zk_poseidon_get(arities[k]);
        zk_fr state[12], hash;
        for (unsigned i = 0; i <= arities[k]; i++) zk_fr_from_u64(&state[i], 77 + i);
        zk_poseidon_hash_plain(&hash, p, &state[0], state + 1);
        zk_poseidon_permute(state, p);
        ZK_CHECK(zk_fr_eq(&state[1], &hash));
    }
}

/* Sums of products against one multiplication after another; r - 1 everywhere makes the sums as large as they get. */
static void check_dot(zk_poseidon_dot_fn dot, const char *name) {
    static zk_fr a[ZK_POSEIDON_MAX_DOT], b[3 * ZK_POSEIDON_MAX_DOT];
    zk_fr init, want, got, p, minus_one;
    uint64_t seed = 5;
    zk_fr_neg(&minus_one, &zk_fr_one);
    for (unsigned round = 0; round < 4; round++) {
        for (unsigned i = 0; i < 3 * ZK_POSEIDON_MAX_DOT; i++) {
            uint8_t bytes[64];
            for (unsigned k = 0; k < 64; k++) bytes[k] = (uint8_t)zk_test_rand(&seed);
            zk_fr_from_bytes_wide(&b[i], bytes);
            if (i < ZK_POSEIDON_MAX_DOT) zk_fr_from_bytes_wide(&a[i], bytes);
            zk_fr extreme = {{zk_fr_modulus[0] - 1, zk_fr_modulus[1], zk_fr_modulus[2], zk_fr_modulus[3]}};
            if (round == 1) b[i] = extreme; /* the greatest limbs, not the value r - 1 */
            if (round == 1 && i < ZK_POSEIDON_MAX_DOT) a[i] = extreme;
            if (round == 2) b[i] = minus_one;
            if (round == 3) b[i] = zk_fr_zero;
        }
        init = round == 1 ? b[0] : a[3];
        for (size_t n = 0; n <= ZK_POSEIDON_MAX_DOT; n += n < 20 ? 1 : 12) {
            for (size_t stride = 1; stride <= 3; stride++) {
                want = stride == 2 ? zk_fr_zero : init;
                for (size_t i = 0; i < n; i++) {
                    zk_fr_mul(&p, &a[i], &b[i * stride]);
                    zk_fr_add(&want, &want, &p);
                }
                dot(&got, stride == 2 ? NULL : &init, a, b, stride, n);
                ZK_CHECKF(zk_fr_eq(&got, &want), "%s: round %u n %zu stride %zu", name, round, n, stride);
            }
        }
    }
}

static void test_poseidon_dot(void) {
    check_dot(zk_poseidon_dot_portable, "portable");
#if defined(ZK_POSEIDON_HAVE_ADX)
    const zk_cpu_features *cpu = zk_cpu_get_features();
    if (cpu->bmi2 && cpu->adx) check_dot(zk_poseidon_dot_adx, "adx");
#endif
}

/* acc = e_0; each chunk of up to 35 further elements: acc = H36(acc, chunk, zeros). */
static void test_poseidon_md(void) {
    zk_json_doc *doc = load("poseidon.json");
    const zk_json_value *cases = get(zk_json_root(doc), "md");
    const char *label = text_of(get(zk_json_root(doc), "label"));
    const zk_poseidon_params *p = zk_poseidon_get(36);
    for (size_t k = 0; k < zk_json_count(cases); k++) {
        const zk_json_value *c = zk_json_element_of(cases, k);
        uint64_t n = get_u64(c, "n");
        zk_fr acc, want, in[36];
        for (uint64_t i = 0; i < n;) {
            unsigned fill = 0;
            for (; fill < 36; fill++) in[fill] = zk_fr_zero;
            fill = 0;
            if (i > 0) in[fill++] = acc;
            for (; fill < 36 && i < n; fill++, i++) {
                char text[128];
                snprintf(text, sizeof text, "%s/poseidon/md/%llu/%llu", label, (unsigned long long)n,
                         (unsigned long long)i);
                hfr(&in[fill], text);
                if (i == 0) {
                    acc = in[0];
                    continue;
                }
            }
            zk_poseidon_hash(&acc, p, in);
        }
        fr_of(&want, get(c, "out"));
        ZK_CHECKF(zk_fr_eq(&acc, &want), "n = %llu", (unsigned long long)n);
    }
    zk_json_doc_destroy(doc);
}

static void test_hash_nodes(void) {
    zk_json_doc *doc = load("hash.json");
    const zk_json_value *root = zk_json_root(doc), *list = get(root, "hash_single_column");
    zk_fr in[11], want, got;
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *c = zk_json_element_of(list, k), *rows = get(c, "rows");
        size_t n = zk_json_count(rows);
        ZK_CHECK(n <= 11);
        for (size_t i = 0; i < n; i++) fr_of(&in[i], zk_json_element_of(rows, i));
        zk_poseidon_hash(&got, zk_poseidon_get((unsigned)n), in);
        fr_of(&want, get(c, "hash"));
        ZK_CHECK(zk_fr_eq(&got, &want));
    }
    list = get(root, "comm_r");
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *c = zk_json_element_of(list, k);
        fr_of(&in[0], get(c, "comm_c"));
        fr_of(&in[1], get(c, "comm_r_last"));
        zk_poseidon_hash(&got, zk_poseidon_get(2), in);
        fr_of(&want, get(c, "comm_r"));
        ZK_CHECK(zk_fr_eq(&got, &want));
    }
    list = get(root, "sha256_node");
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *c = zk_json_element_of(list, k);
        uint8_t message[64], digest[32], expected[32];
        node_of(message, get(c, "left"));
        node_of(message + 32, get(c, "right"));
        zk_sha256(digest, message, 64);
        node_of(expected, get(c, "sha256_before_truncation"));
        ZK_CHECK_MEM(digest, expected, 32);
        zk_sha256_trunc254(digest, message, 64);
        node_of(expected, get(c, "node"));
        ZK_CHECK_MEM(digest, expected, 32);
    }
    list = get(root, "sha256_zero_roots");
    uint8_t pair[64] = {0}, expected[32];
    for (size_t k = 0; k < zk_json_count(list); k++) {
        ZK_CHECK(get_u64(zk_json_element_of(list, k), "height") == k);
        node_of(expected, get(zk_json_element_of(list, k), "root"));
        ZK_CHECK_MEM(pair, expected, 32);
        zk_sha256_trunc254(pair, pair, 64);
        memcpy(pair + 32, pair, 32);
    }
    list = get(root, "poseidon_zero_roots_arity8");
    zk_fr zeros = zk_fr_zero;
    for (size_t k = 0; k < zk_json_count(list); k++) {
        ZK_CHECK(get_u64(zk_json_element_of(list, k), "height") == k);
        fr_of(&want, get(zk_json_element_of(list, k), "root"));
        ZK_CHECK(zk_fr_eq(&zeros, &want));
        for (unsigned i = 0; i < 8; i++) in[i] = zeros;
        zk_poseidon_hash(&zeros, zk_poseidon_get(8), in);
    }
    zk_json_doc_destroy(doc);
}

static void test_fr32_pad(void) {
    zk_json_doc *doc = load("fr32.json");
    const zk_json_value *list = get(zk_json_root(doc), "pad");
    const char *label = text_of(get(zk_json_root(doc), "label"));
    static uint8_t data[20000], padded[20480 + 32];
    ZK_CHECK(zk_json_count(list) > 0);
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *c = zk_json_element_of(list, k);
        size_t n = (size_t)get_u64(c, "n");
        char text[128];
        uint8_t digest[32], expected[32];
        ZK_CHECK(n <= sizeof data);
        if (strcmp(text_of(get(c, "input")), "data") == 0) {
            snprintf(text, sizeof text, "%s/fr32/%zu", label, n);
            make_data(data, n, text);
        } else {
            memset(data, 0xff, n);
        }
        size_t n_padded = (size_t)zk_fr32_padded_bytes(n);
        ZK_CHECK(n_padded == get_u64(c, "padded_len"));
        ZK_CHECK(zk_fr32_unpadded_bytes(n_padded) == get_u64(c, "to_unpadded_bytes_of_padded_len"));
        memset(padded, 0xa5, sizeof padded);
        zk_fr32_pad(padded, data, n);
        for (size_t i = n_padded; i < n_padded + 32; i++) ZK_CHECK(padded[i] == 0xa5);
        zk_sha256(digest, padded, n_padded);
        node_of(expected, get(c, "padded_sha256"));
        ZK_CHECKF(memcmp(digest, expected, 32) == 0, "n = %zu", n);
    }
    list = get(zk_json_root(doc), "size_map_padded_unpadded");
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *c = zk_json_element_of(list, k);
        ZK_CHECK(zk_fr32_unpadded_bytes(zk_json_element_of(c, 0)->u64) == zk_json_element_of(c, 1)->u64);
        ZK_CHECK(zk_fr32_padded_bytes(zk_json_element_of(c, 1)->u64) == zk_json_element_of(c, 0)->u64);
    }
    zk_json_doc_destroy(doc);
}

static void test_fr32_unpad(void) {
    zk_json_doc *doc = load("fr32.json");
    const zk_json_value *list = get(zk_json_root(doc), "unpad");
    const char *label = text_of(get(zk_json_root(doc), "label"));
    static uint8_t data[4096], padded[8192], out[4096], expected[4096];
    cuzk_err err = {0};
    for (size_t k = 0; k < zk_json_count(list); k++) {
        const zk_json_value *c = zk_json_element_of(list, k);
        size_t total = (size_t)get_u64(c, "total"), offset = (size_t)get_u64(c, "offset"),
               n = (size_t)get_u64(c, "len");
        char text[128];
        ZK_CHECK(total <= sizeof data && n <= sizeof out);
        snprintf(text, sizeof text, "%s/fr32/un/%zu", label, total);
        make_data(data, total, text);
        zk_fr32_pad(padded, data, total);
        ZK_CHECK_OK(zk_fr32_unpad(out, offset, n, padded, (size_t)zk_fr32_padded_bytes(total), &err), err);
        ZK_CHECK_OK(zk_json_get_hex(expected, n, get(c, "out"), "out", &err), err);
        ZK_CHECKF(memcmp(out, expected, n) == 0, "total %zu offset %zu len %zu", total, offset, n);
    }
    /* Past the end: refused, also where offset + n would wrap. */
    ZK_CHECK(zk_fr32_unpad(out, 1, 127, padded, 128, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_fr32_unpad(out, 128, 0, padded, 128, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_fr32_unpad(out, 127, 0, padded, 128, NULL) == CUZK_OK);
    ZK_CHECK(zk_fr32_unpad(out, 2, SIZE_MAX, padded, 128, NULL) == CUZK_BAD_INPUT);
    zk_json_doc_destroy(doc);
}

ZK_TEST_MAIN(ZK_CASE(test_poseidon_constants), ZK_CASE(test_poseidon_hashes), ZK_CASE(test_poseidon_trace),
             ZK_CASE(test_poseidon_forms_agree), ZK_CASE(test_poseidon_permute), ZK_CASE(test_poseidon_many),
             ZK_CASE(test_poseidon_dot), ZK_CASE(test_poseidon_md), ZK_CASE(test_hash_nodes), ZK_CASE(test_fr32_pad),
             ZK_CASE(test_fr32_unpad))
