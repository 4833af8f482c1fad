/* Sector updates: rules, vanilla proofs, and that every alteration of them is refused, with the check that fails. */
#include "base/bytes.h"
#include "hash/sha256.h"
#include "update_vectors.h"

static const char *const samples[] = {"real-2048",    "real-4096",      "real-32768",       "real-8388608",
                                      "auto-2048",    "auto-4096",      "auto-16384",       "auto-32768",
                                      "auto-8388608", "auto-536870912", "auto-34359738368", "auto-68719476736"};
#define N_SAMPLES (sizeof samples / sizeof samples[0])

#ifndef ALL_FLIPS
#define ALL_FLIPS 0
#endif

/* ---- rules ---- */

static void check_rules(const char *sample) {
    zk_json_doc *doc = load_update_json(sample);
    const zk_json_value *v = zk_json_root(doc), *rho = get(v, "rho"), *proofs = get(v, "partition_proofs");
    zk_update_statement s;
    cuzk_err err = {0};
    zk_fr phi, x;
    uint8_t want[32], found[32];
    get_statement(&s, v);
    const zk_update_shape *shape = &s.shape;
    ZK_CHECK(shape->node_bits == get_u64(v, "node_index_bits") &&
             shape->partition_bits == get_u64(v, "partition_bits"));
    ZK_CHECK(shape->apex_bits == get_u64(v, "apex_bits"));
    ZK_CHECK(shape->n_challenges == get_u64(v, "challenges_per_partition"));
    ZK_CHECK(s.h == get_u64(v, "h") && zk_update_h_select(shape, s.h) == get_u64(v, "h_select"));
    ZK_CHECK(zk_update_h_select(shape, 0) == 0 && zk_update_h_select(shape, 13) == 0);
    const zk_json_value *arities = get(v, "tree_r_arities");
    ZK_CHECK(u64_of(zk_json_element_of(arities, 1)) == shape->tree.sub_arity &&
             u64_of(zk_json_element_of(arities, 2)) == shape->tree.top_arity);
    ZK_CHECK_OK(zk_update_phi(&phi, s.comm_d_new, s.comm_r_old, &err), err);
    get_node(want, v, "phi");
    zk_fr_to_bytes_le(found, &phi);
    ZK_CHECK_MEM(found, want, 32);
    for (size_t i = 0; i < zk_json_count(rho); i++) {
        const zk_json_value *pair = zk_json_element_of(rho, i);
        ZK_CHECK_OK(zk_update_rho(&x, &phi, u64_of(zk_json_element_of(pair, 0)), &err), err);
        hex_of(want, 32, zk_json_element_of(pair, 1));
        zk_fr_to_bytes_le(found, &x);
        ZK_CHECK_MEM(found, want, 32);
    }
    ZK_CHECK(zk_json_count(proofs) == zk_update_n_partitions(shape));
    for (uint32_t k = 0; k < zk_update_n_partitions(shape); k++) {
        const zk_json_value *p = zk_json_element_of(proofs, k), *challenges = get(p, "challenges");
        const zk_json_value *high = get(p, "rho_high_bits"), *inputs = get(p, "public_inputs");
        uint64_t own[ZK_UPDATE_MAX_CHALLENGES];
        uint8_t publics[ZK_UPDATE_N_PUBLICS][32];
        ZK_CHECK_OK(zk_update_challenges(own, shape, s.comm_r_new, k, &err), err);
        ZK_CHECK(zk_json_count(challenges) == shape->n_challenges);
        for (uint32_t i = 0; i < shape->n_challenges; i++) {
            ZK_CHECK(own[i] == u64_of(zk_json_element_of(challenges, i)));
            ZK_CHECK(own[i] >> (shape->node_bits - s.h) == u64_of(zk_json_element_of(high, i)));
        }
        zk_update_publics(publics, &s, k);
        ZK_CHECK(zk_json_count(inputs) == ZK_UPDATE_N_PUBLICS);
        for (uint32_t i = 0; i < ZK_UPDATE_N_PUBLICS; i++) {
            hex_of(want, 32, zk_json_element_of(inputs, i));
            ZK_CHECK_MEM(publics[i], want, 32);
        }
        ZK_CHECK(zk_update_proof_n_bytes(shape) == get_u64(p, "proof_bytes"));
    }
    zk_json_doc_destroy(doc);
}

static void test_rules(void) {
    for (size_t i = 0; i < N_SAMPLES; i++) check_rules(samples[i]);
}

static void test_sizes(void) {
    static const uint64_t good[] = {2048,
                                    4096,
                                    16384,
                                    32768,
                                    UINT64_C(8) << 20,
                                    UINT64_C(16) << 20,
                                    UINT64_C(512) << 20,
                                    UINT64_C(32) << 30,
                                    UINT64_C(64) << 30};
    static const uint64_t bad[] = {0, 1, 1024, 2047, 2049, 8192, UINT64_C(1) << 30, UINT64_C(128) << 30, UINT64_MAX};
    zk_update_shape shape;
    cuzk_err err = {0};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ZK_CHECK_OK(zk_update_shape_get(&shape, good[i], &err), err);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cuzk_err e = {0};
        ZK_CHECK(zk_update_shape_get(&shape, bad[i], &e) == CUZK_UNSUPPORTED && strstr(e.message, "sector size"));
    }
}

/* A really updated sector, node by node. */
static void test_encoding(void) {
    static const char *const real[] = {"real-2048", "real-4096", "real-32768"};
    for (size_t k = 0; k < sizeof real / sizeof *real; k++) {
        static const char *const names[] = {"old", "data", "new"};
        zk_json_doc *doc = load_update_json(real[k]);
        zk_update_statement s;
        zk_fr phi, rho = zk_fr_zero, v[3];
        cuzk_err err = {0};
        uint8_t *files[3];
        size_t n[3];
        get_statement(&s, zk_json_root(doc));
        ZK_CHECK_OK(zk_update_phi(&phi, s.comm_d_new, s.comm_r_old, &err), err);
        for (int f = 0; f < 3; f++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s.bin", real[k], names[f]);
            read_file(&files[f], &n[f], name);
            ZK_CHECK(n[f] == s.shape.sector_bytes);
        }
        uint32_t shift = s.shape.node_bits - s.h;
        for (size_t i = 0; i < n[0] / 32; i++) {
            if (i % ((size_t)1 << shift) == 0) ZK_CHECK_OK(zk_update_rho(&rho, &phi, i >> shift, &err), err);
            for (int f = 0; f < 3; f++) ZK_CHECK(zk_fr_from_bytes_le(&v[f], files[f] + 32 * i));
            zk_fr_mul(&v[1], &v[1], &rho);
            zk_fr_add(&v[0], &v[0], &v[1]);
            ZK_CHECKF(zk_fr_eq(&v[0], &v[2]), "%s: node %zu", real[k], i);
        }
        for (int f = 0; f < 3; f++) free(files[f]);
        zk_json_doc_destroy(doc);
    }
}

/* ---- good proofs ---- */

static void test_proofs_hold(void) {
    unsigned n_found = 0;
    for (size_t i = 0; i < N_SAMPLES; i++)
        for (uint32_t k = 0; k < 16; k++) {
            char name[128];
            update_case c;
            cuzk_err err = {0};
            zk_update_failure failure;
            snprintf(name, sizeof name, "%s-p%" PRIu32 ".bin", samples[i], k);
            if (!has_file(name)) continue;
            n_found++;
            case_load(&c, samples[i], k);
            uint8_t want[32], found[32], *again = malloc(c.n);
            get_node(want, zk_json_element_of(get(zk_json_root(c.doc), "partition_proofs"), k), "proof_sha256");
            zk_sha256(found, c.bytes, c.n);
            ZK_CHECK_MEM(found, want, 32);
            ZK_CHECK(again && c.n == zk_update_proof_n_bytes(&c.statement.shape));
            zk_update_proof_write(again, &c.statement.shape, &c.proof);
            ZK_CHECK_MEM(again, c.bytes, c.n);
            free(again);
            ZK_CHECK_OK(zk_update_verify(&failure, &c.statement, &c.proof, k, 1, NULL, &err), err);
            ZK_CHECK(failure.check == ZK_UPDATE_NONE && failure.partition == ZK_UPDATE_NOWHERE);
            case_free(&c);
        }
    ZK_CHECKF(n_found == 21, "%u proofs", n_found);
}

/* ---- alterations ---- */

/* Reads the bytes as the partition's proof and verifies. */
static cuzk_status judge(zk_update_failure *failure, const zk_update_statement *s, uint32_t partition,
                         const uint8_t *bytes, size_t n, cuzk_err *err) {
    zk_update_proof proof = {{0}};
    memset(failure, 0, sizeof *failure);
    cuzk_status status = zk_update_proof_read(&proof, &s->shape, bytes, n, err);
    if (status == CUZK_OK) status = zk_update_verify(failure, s, &proof, partition, 1, NULL, err);
    zk_update_proof_free(&proof);
    return status;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* The check that a change of this field must fail. */
static const char *expected_check(const char *field) {
    static const char *const trees[] = {"proof_r_old", "proof_d_new", "proof_r_new"};
    static const char *const index[] = {"old_index", "data_index", "new_index"};
    static const char *const path[] = {"old_path", "data_path", "new_path"};
    if (strcmp(field, "comm_c") == 0 || strcmp(field, "challenge_proofs[0].proof_r_old.root") == 0) return "comm_r_old";
    if (strcmp(field, "challenge_proofs[0].proof_r_new.root") == 0) return "comm_r_new";
    for (int t = 0; t < 3; t++)
        if (strstr(field, trees[t])) return ends_with(field, ".index") ? index[t] : path[t];
    return strstr(field, "apex_leafs[") ? "apex_" : "none";
}

/* The place as the reader names it: the field without what it calls otherwise. */
static void expected_place(char place[128], const char *field) {
    static const char *const ends[] = {".hashes.length", ".length", ".index", ".variant", ".root", ".leaf"};
    snprintf(place, 128, "%s", field);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(place, ends[i])) {
            place[strlen(place) - strlen(ends[i])] = 0;
            break;
        }
    if (strcmp(place, "apex_leafs") == 0) strcpy(place, "number of apex leaves");
    if (strcmp(place, "challenge_proofs") == 0) strcpy(place, "number of challenge proofs");
}

static void check_flip(const update_case *c, uint8_t *bytes, const zk_json_value *flip, unsigned n_refused[2]) {
    const char *field = NULL, *verdict = NULL;
    char text[256];
    cuzk_err err = {0}, e = {0};
    ZK_CHECK_OK(zk_json_get_string(&field, zk_json_element_of(flip, 0), "field", &e), e);
    ZK_CHECK_OK(zk_json_get_string(&verdict, zk_json_element_of(flip, 3), "verdict", &e), e);
    uint64_t offset = u64_of(zk_json_element_of(flip, 1)), bit = u64_of(zk_json_element_of(flip, 2));
    zk_update_failure failure;
    ZK_CHECK(offset < c->n && bit < 8 && strcmp(verdict, "valid"));
    bytes[offset] ^= (uint8_t)(1u << bit);
    cuzk_status status = judge(&failure, &c->statement, c->partition, bytes, c->n, &err);
    bytes[offset] ^= (uint8_t)(1u << bit);
    ZK_CHECKF(status == CUZK_BAD_INPUT || status == CUZK_CHECK_FAILED, "%s, bit %" PRIu64 ": status %d", field, bit,
              (int)status);
    n_refused[status == CUZK_CHECK_FAILED]++;
    if (status == CUZK_BAD_INPUT) { /* offset and place of the field */
        unsigned long at = 0;
        ZK_CHECKF(sscanf(err.message, "byte %lu: ", &at) == 1, "%s: %s", field, err.message);
        ZK_CHECKF(at <= offset && offset < at + 32, "%s: %s", field, err.message);
        expected_place(text, field);
        ZK_CHECKF(strstr(err.message, text) != NULL, "%s: %s", field, err.message);
        ZK_CHECKF(strstr(err.message, "found ") && strstr(err.message, "expected "), "%s: %s", field, err.message);
        return;
    }
    ZK_CHECKF(strcmp(verdict, "invalid") == 0, "%s, bit %" PRIu64 ": the reference says %s, found %s", field, bit,
              verdict, err.message);
    const char *name = zk_update_check_name(failure.check), *expected = expected_check(field);
    ZK_CHECKF(strncmp(name, expected, strlen(expected)) == 0, "%s: %s, expected %s", field, name, expected);
    ZK_CHECKF(strstr(err.message, name) != NULL, "%s: %s", field, err.message);
    ZK_CHECK(failure.partition == c->partition);
    unsigned challenge = 0;
    if (sscanf(field, "challenge_proofs[%u]", &challenge) == 1 && strncmp(name, "comm_r_", 7))
        ZK_CHECKF(failure.challenge == challenge, "%s: %s", field, err.message);
}

/* Every `step`th of the listed changes; the numbers are of all. */
static void check_flips(const char *sample, uint32_t partition, size_t step, unsigned n_read, unsigned n_checked) {
    char name[128];
    update_case c;
    unsigned n_refused[2] = {0};
    snprintf(name, sizeof name, "bad-%s-p%" PRIu32, sample, partition);
    case_load(&c, sample, partition);
    zk_json_doc *bad = load_update_json(name);
    const zk_json_value *flips = get(zk_json_root(bad), "flips");
    for (size_t i = 0; i < zk_json_count(flips); i += step)
        check_flip(&c, c.bytes, zk_json_element_of(flips, i), n_refused);
    ZK_CHECKF(step > 1 || (n_refused[0] == n_read && n_refused[1] == n_checked),
              "%s: %u refused while reading, %u by checks", sample, n_refused[0], n_refused[1]);
    zk_json_doc_destroy(bad);
    case_free(&c);
}

static void test_flips_2k(void) { check_flips("real-2048", 0, 1, 157, 69); }
static void test_flips_32k(void) { check_flips("real-32768", 1, 1, 251, 99); }
static void test_flips_32g(void) { check_flips("auto-34359738368", 7, ALL_FLIPS ? 1 : 7, 591, 255); }

/* ---- alterations in words ---- */

/* bytes += r at an offset */
static void add_modulus(uint8_t *bytes) {
    unsigned __int128 sum = 0;
    for (int i = 0; i < 4; i++) {
        sum += (unsigned __int128)zk_load_le64(bytes + 8 * i) + zk_fr_modulus[i];
        zk_store_le64(bytes + 8 * i, (uint64_t)sum);
        sum >>= 64;
    }
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint8_t t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* One change: applied to a copy of everything that a verdict depends on. */
typedef struct altered {
    zk_update_statement s;
    uint32_t partition;
    uint8_t *bytes;
    size_t n;
} altered;

/* Offsets within the bytes. */
typedef struct offsets {
    size_t apex, n_apex, challenges, tree_r, tree_d, per_challenge;
} offsets;

static offsets offsets_of(const zk_update_shape *shape) {
    offsets o = {.apex = 40, .n_apex = (size_t)1 << shape->apex_bits};
    size_t n_paths = 1 + (shape->tree.sub_arity > 0) + (shape->tree.top_arity > 0);
    o.challenges = o.apex + 32 * o.n_apex + 8;
    o.tree_d = 76 + 48 * (size_t)shape->node_bits;
    o.tree_r = 68 + 8 * n_paths + 16 * (size_t)shape->tree.n_nodes + 32 * (size_t)shape->tree.n_siblings;
    o.per_challenge = o.tree_d + 2 * o.tree_r;
    return o;
}

/* Where root, leaf and first sibling of an opening are. */
static size_t field_offset(const zk_update_shape *shape, const offsets *o, const char *field) {
    size_t at = o->challenges, n_bytes = o->tree_r;
    bool single = shape->tree.sub_arity == 0;
    if (strcmp(field, "comm_c") == 0) return 0;
    if (strcmp(field, "apex_leafs[0]") == 0) return o->apex;
    ZK_CHECKF(strncmp(field, "challenge_proofs[0].proof_", 26) == 0, "%s", field);
    field += 26;
    if (field[0] == 'd') {
        at += o->tree_r;
        n_bytes = o->tree_d;
        single = true;
    } else if (strncmp(field, "r_new", 5) == 0) {
        at += o->tree_r + o->tree_d;
    }
    field += 5;
    if (strcmp(field, ".root") == 0) return single ? at + 4 : at + n_bytes - 64;
    if (strcmp(field, ".leaf") == 0) return single ? at + 36 : at + n_bytes - 32;
    ZK_CHECKF(strcmp(field, ".base[0].hashes[0]") == 0, "%s", field);
    return single ? at + 4 + 64 + 16 : at + 4 + 16;
}

static void remove_bytes(altered *a, size_t at, size_t n) {
    memmove(a->bytes + at, a->bytes + at + n, a->n - at - n);
    a->n -= n;
}

/* Applies a change of the vectors, as they word it. */
static void apply(altered *a, const char *change) {
    unsigned v = 0, b = 0;
    int end = 0;
    char name[80];
    const zk_update_shape *shape = &a->s.shape;
    offsets o = offsets_of(shape);
    uint8_t *first = a->bytes + o.challenges;
    if (sscanf(change, "partition index %u", &v) == 1) {
        a->partition = v;
    } else if (sscanf(change, "public %79[a-z_]: bit %u changed", name, &b) == 2) {
        uint8_t *value = strcmp(name, "comm_d_new") == 0   ? a->s.comm_d_new
                         : strcmp(name, "comm_r_old") == 0 ? a->s.comm_r_old
                                                           : a->s.comm_r_new;
        value[b / 8] ^= (uint8_t)(1u << b % 8);
    } else if (strcmp(change, "public comm_r_old and comm_r_new exchanged") == 0) {
        swap_bytes(a->s.comm_r_old, a->s.comm_r_new, 32);
    } else if (sscanf(change, "h = %u in place of", &v) == 1) {
        a->s.h = v;
    } else if (strcmp(change, "one byte 0 appended") == 0) {
        a->bytes[a->n++] = 0;
    } else if (strcmp(change, "last byte missing") == 0) {
        a->n--;
    } else if (strcmp(change, "no bytes") == 0) {
        a->n = 0;
    } else if (strcmp(change, "challenge proofs 0 and 1 exchanged") == 0) {
        swap_bytes(first, first + o.per_challenge, o.per_challenge);
    } else if (strcmp(change, "last challenge proof missing") == 0) {
        zk_store_le64(first - 8, shape->n_challenges - 1);
        a->n -= o.per_challenge;
    } else if (strcmp(change, "last challenge proof twice") == 0) {
        zk_store_le64(first - 8, shape->n_challenges + 1);
        memcpy(a->bytes + a->n, a->bytes + a->n - o.per_challenge, o.per_challenge);
        a->n += o.per_challenge;
    } else if (strcmp(change, "last apex leaf missing") == 0) {
        zk_store_le64(a->bytes + o.apex - 8, o.n_apex - 1);
        remove_bytes(a, o.apex + 32 * (o.n_apex - 1), 32);
    } else if (strcmp(change, "apex leafs 0 and 1 exchanged") == 0) {
        swap_bytes(a->bytes + o.apex, a->bytes + o.apex + 32, 32);
    } else if (strcmp(change, "apex leafs reversed") == 0) {
        for (size_t i = 0; i < o.n_apex / 2; i++)
            swap_bytes(a->bytes + o.apex + 32 * i, a->bytes + o.apex + 32 * (o.n_apex - 1 - i), 32);
    } else if (strcmp(change, "proof_r_old and proof_r_new of challenge 0 exchanged") == 0) {
        swap_bytes(first, first + o.tree_r + o.tree_d, o.tree_r);
    } else if (sscanf(change, "%79s plus the field modulus%n", name, &end) == 1 && end) {
        add_modulus(a->bytes + field_offset(shape, &o, name));
    } else {
        ZK_FAIL_CASE("unknown change: %s", change);
    }
}

/* As the command line would judge: the statement's values are field elements, then the bytes, then the checks. */
static cuzk_status judge_all(zk_update_failure *failure, const altered *a, cuzk_err *err) {
    zk_update_statement s;
    memset(failure, 0, sizeof *failure);
    ZK_TRY(
        zk_update_statement_init(&s, a->s.shape.sector_bytes, a->s.comm_r_old, a->s.comm_d_new, a->s.comm_r_new, err));
    s.h = a->s.h;
    return judge(failure, &s, a->partition, a->bytes, a->n, err);
}

/* Everything is refused; `valid` in the vectors is the appended byte, which we refuse, too. */
static void check_words(const char *sample, uint32_t partition) {
    char name[128];
    update_case c;
    snprintf(name, sizeof name, "bad-%s-p%" PRIu32, sample, partition);
    case_load(&c, sample, partition);
    zk_json_doc *bad = load_update_json(name);
    const zk_json_value *other = get(zk_json_root(bad), "other");
    altered a = {.bytes = malloc(2 * c.n)};
    ZK_CHECK(a.bytes && zk_json_count(other) >= 34);
    for (size_t i = 0; i < zk_json_count(other); i++) {
        const zk_json_value *entry = zk_json_element_of(other, i);
        const char *change = get_text(entry, "change"), *verdict = get_text(entry, "verdict");
        zk_update_failure failure;
        cuzk_err err = {0};
        a.s = c.statement;
        a.partition = partition;
        a.n = c.n;
        memcpy(a.bytes, c.bytes, c.n);
        apply(&a, change);
        cuzk_status status = judge_all(&failure, &a, &err);
        ZK_CHECKF(status == CUZK_BAD_INPUT || status == CUZK_CHECK_FAILED, "%s: status %d", change, (int)status);
        ZK_CHECKF(err.status == status && err.message[0], "%s", change);
        if (strcmp(verdict, "valid") == 0)
            ZK_CHECKF(strstr(err.message, "1 byte more"), "%s: %s", change, err.message);
        else if (strcmp(verdict, "invalid"))
            ZK_CHECKF(status == CUZK_BAD_INPUT, "%s: %s", change, err.message);
        else if (strstr(change, "partition index"))
            ZK_CHECKF(ends_with(zk_update_check_name(failure.check), "old_index"), "%s: %s", change, err.message);
        else if (strncmp(change, "h = ", 4) == 0)
            ZK_CHECKF(failure.check == ZK_UPDATE_CHECK_encoding, "%s: %s", change, err.message);
        else if (strncmp(change, "apex leafs", 10) == 0)
            ZK_CHECKF(failure.check == ZK_UPDATE_CHECK_apex_leaf || failure.check == ZK_UPDATE_CHECK_apex_path,
                      "%s: %s", change, err.message);
    }
    free(a.bytes);
    zk_json_doc_destroy(bad);
    case_free(&c);
}

static void test_words(void) {
    check_words("real-2048", 0);
    check_words("real-32768", 1);
    check_words("auto-34359738368", 7);
}

/* ---- properties ---- */

/* One flipped bit anywhere is refused, in the proof and in what is stated. */
static void test_any_bit(void) {
    static const struct {
        const char *sample;
        uint32_t partition;
        unsigned n;
    } cases[] = {{"real-4096", 0, 400}, {"auto-16384", 1, 200}, {"auto-8388608", 2, 60}, {"auto-68719476736", 15, 12}};
    uint64_t seed = 20;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        update_case c;
        zk_update_failure failure;
        case_load(&c, cases[k].sample, cases[k].partition);
        for (unsigned i = 0; i < cases[k].n; i++) {
            size_t at = zk_test_rand(&seed) % c.n;
            uint8_t bit = (uint8_t)(1u << zk_test_rand(&seed) % 8);
            c.bytes[at] ^= bit;
            cuzk_status status = judge(&failure, &c.statement, c.partition, c.bytes, c.n, NULL);
            c.bytes[at] ^= bit;
            ZK_CHECKF(status == CUZK_BAD_INPUT || status == CUZK_CHECK_FAILED, "%s: byte %zu, mask %u", cases[k].sample,
                      at, bit);
        }
        altered a = {.partition = c.partition, .bytes = c.bytes, .n = c.n};
        for (unsigned i = 0; i < 24; i++) {
            size_t at = zk_test_rand(&seed) % 96;
            a.s = c.statement;
            uint8_t *value = at < 32 ? a.s.comm_r_old : at < 64 ? a.s.comm_d_new : a.s.comm_r_new;
            value[at % 32] ^= (uint8_t)(1u << zk_test_rand(&seed) % 8);
            cuzk_status status = judge_all(&failure, &a, NULL);
            ZK_CHECKF(status == CUZK_BAD_INPUT || status == CUZK_CHECK_FAILED, "%s: commitment byte %zu",
                      cases[k].sample, at);
        }
        case_free(&c);
    }
}

/* Any prefix is refused, as too short. */
static void test_truncated(void) {
    update_case c;
    case_load(&c, "real-2048", 0);
    for (size_t n = 0; n < c.n; n++) {
        zk_update_proof proof;
        cuzk_err err = {0};
        uint8_t *exact = malloc(n ? n : 1); /* so that reading past the end is noticed */
        ZK_CHECK(exact);
        memcpy(exact, c.bytes, n);
        ZK_CHECK(zk_update_proof_read(&proof, &c.statement.shape, exact, n, &err) == CUZK_BAD_INPUT);
        ZK_CHECKF(strstr(err.message, "up to the end"), "%s", err.message);
        zk_update_proof_free(&proof);
        free(exact);
    }
    case_free(&c);
}

/* What no hash can reveal one by one: a proof that is consistent but lies. The encoding, the commitments and the roots
 * are each broken with everything else made right again. */
static void test_consistent_lies(void) {
    update_case c;
    zk_update_failure failure;
    cuzk_err err = {0};
    case_load(&c, "real-2048", 0);
    zk_update_statement s = c.statement;
    /* Another statement of the data: every path in the data still leads to its own root, which is not comm_d_new. */
    s.comm_d_new[0] ^= 1;
    ZK_CHECK(zk_update_verify(&failure, &s, &c.proof, 0, 1, NULL, &err) == CUZK_CHECK_FAILED);
    ZK_CHECKF(failure.check == ZK_UPDATE_CHECK_data_root && failure.challenge == 0, "%s", err.message);
    /* A replica that is committed to by another comm_c. */
    s = c.statement;
    uint8_t comm_c[32];
    memcpy(comm_c, c.proof.comm_c, 32);
    c.proof.comm_c[0] ^= 1;
    ZK_CHECK(zk_update_verify(&failure, &s, &c.proof, 0, 1, NULL, NULL) == CUZK_CHECK_FAILED);
    ZK_CHECK(failure.check == ZK_UPDATE_CHECK_comm_r_old && failure.partition == 0);
    memcpy(c.proof.comm_c, comm_c, 32);
    /* Commitments that are zero. */
    static const struct {
        size_t at;
        zk_update_check check;
    } zeros[] = {{offsetof(zk_update_statement, comm_r_old), ZK_UPDATE_CHECK_comm_r_old_not_zero},
                 {offsetof(zk_update_statement, comm_d_new), ZK_UPDATE_CHECK_comm_d_new_not_zero},
                 {offsetof(zk_update_statement, comm_r_new), ZK_UPDATE_CHECK_comm_r_new_not_zero}};
    for (size_t i = 0; i < 3; i++) {
        s = c.statement;
        memset((uint8_t *)&s + zeros[i].at, 0, 32);
        ZK_CHECK(zk_update_verify(&failure, &s, &c.proof, 0, 1, NULL, NULL) == CUZK_CHECK_FAILED);
        ZK_CHECK(failure.check == zeros[i].check && failure.partition == ZK_UPDATE_NOWHERE);
    }
    case_free(&c);
}

/* All partitions at once, on any number of threads: the first failure is the one that is reported. */
static void test_partitions(void) {
    enum { N = 4 };
    update_case c[N];
    zk_update_proof proofs[N];
    cuzk_err err = {0};
    zk_update_failure failure;
    for (uint32_t k = 0; k < N; k++) {
        case_load(&c[k], "real-8388608", k);
        proofs[k] = c[k].proof;
    }
    for (unsigned n_threads = 1; n_threads <= 4; n_threads++) {
        zk_pool *pool = NULL;
        cuzk_err e = {0};
        ZK_CHECK_OK(zk_pool_create(&pool, n_threads, &err), err);
        ZK_CHECK_OK(zk_update_verify(&failure, &c[0].statement, proofs, 0, N, pool, &err), err);
        zk_opening_view early = zk_update_proof_path(&proofs[1], &c[0].statement.shape, 7, ZK_UPDATE_NEW);
        zk_opening_view late = zk_update_proof_path(&proofs[3], &c[0].statement.shape, 2, ZK_UPDATE_OLD);
        early.index[3] ^= 5;
        late.leaf[0] ^= 1;
        ZK_CHECK(zk_update_verify(&failure, &c[0].statement, proofs, 0, N, pool, &e) == CUZK_CHECK_FAILED);
        ZK_CHECKF(failure.check == ZK_UPDATE_CHECK_new_index && failure.partition == 1 && failure.challenge == 7 &&
                      failure.level == 3,
                  "%s", e.message);
        early.index[3] ^= 5;
        late.leaf[0] ^= 1;
        zk_pool_destroy(pool);
    }
    /* Partitions in another order, or numbered past the end. */
    zk_update_proof swapped[2] = {proofs[1], proofs[0]};
    ZK_CHECK(zk_update_verify(&failure, &c[0].statement, swapped, 0, 2, NULL, NULL) == CUZK_CHECK_FAILED);
    ZK_CHECK(failure.check == ZK_UPDATE_CHECK_old_index && failure.partition == 0);
    ZK_CHECK(zk_update_verify(&failure, &c[0].statement, proofs, 1, N, NULL, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_update_verify(&failure, &c[0].statement, proofs, UINT32_MAX, 2, NULL, NULL) == CUZK_BAD_INPUT);
    for (uint32_t k = 0; k < N; k++) case_free(&c[k]);
}

ZK_TEST_MAIN(ZK_CASE(test_rules), ZK_CASE(test_sizes), ZK_CASE(test_encoding), ZK_CASE(test_proofs_hold),
             ZK_CASE(test_flips_2k), ZK_CASE(test_flips_32k), ZK_CASE(test_flips_32g), ZK_CASE(test_words),
             ZK_CASE(test_any_bit), ZK_CASE(test_truncated), ZK_CASE(test_consistent_lies), ZK_CASE(test_partitions))
