/* PoSt without circuits: decoding, challenges, public inputs, verification, and everything that must be refused. */
#include "base/alloc.h"
#include "filecoin/challenges.h"
#include "filecoin/kinds.h"
#include "post_vectors.h"

/* ---- good inputs ---- */

static void check_challenges(const zk_post *post, uint32_t place, const zk_json_value *expected) {
    uint64_t challenges[66];
    ZK_CHECK(zk_json_count(expected) == post->type->n_challenges);
    zk_post_challenges(challenges, post, place);
    for (size_t i = 0; i < zk_json_count(expected); i++)
        ZK_CHECKF(challenges[i] == u64_of(zk_json_element_of(expected, i)), "place %u, challenge %zu", place, i);
}

static void check_nodes(const uint8_t (*found)[32], const zk_json_value *expected) {
    for (size_t i = 0; i < zk_json_count(expected); i++) {
        uint8_t want[32];
        hex_of(want, 32, zk_json_element_of(expected, i));
        ZK_CHECKF(memcmp(found[i], want, 32) == 0, "value %zu", i);
    }
}

static void check_publics(const zk_post *post, uint32_t partition, const zk_json_value *expected) {
    uint8_t(*publics)[32] = publics_of(post, partition);
    ZK_CHECK(zk_json_count(expected) == zk_post_n_publics(post->type));
    check_nodes((const uint8_t(*)[32])publics, expected);
    free(publics);
}

static void check_sector(const zk_post_vanilla *v, const zk_json_value *expected) {
    uint8_t want[32];
    ZK_CHECK(v->sector == get_u64(expected, "sector_id"));
    hex_of_node(want, expected, "comm_r");
    ZK_CHECK_MEM(v->comm_r, want, 32);
    hex_of_node(want, expected, "comm_c");
    ZK_CHECK_MEM(v->comm_c, want, 32);
    hex_of_node(want, expected, "comm_r_last");
    ZK_CHECK_MEM(v->comm_r_last, want, 32);
}

static void check_good(const char *name) {
    char file[96];
    post_request r;
    zk_post *post = NULL;
    zk_post_failure failure;
    cuzk_err err = {0};
    snprintf(file, sizeof file, "post/%s.json", name);
    zk_json_doc *doc = load_json(file);
    const zk_json_value *root = zk_json_root(doc);
    request_of(&r, root);
    ZK_CHECK(r.type->number == get_u64(root, "registered_index"));
    ZK_CHECK_OK(create_post(&post, &r, &err), err);
    if (r.type->kind == ZK_POST_WINNING) {
        check_sector(&post->sectors[0], get(root, "sector"));
        check_challenges(post, 0, get(root, "leaf_challenges"));
        check_publics(post, 0, get(root, "public_inputs"));
    } else {
        const zk_json_value *sectors = get(root, "sectors"), *proofs = get(root, "partition_proofs");
        for (uint32_t i = 0; i < post->n_sectors; i++) {
            check_sector(&post->sectors[i], zk_json_element_of(sectors, i));
            check_challenges(post, i, get(zk_json_element_of(sectors, i), "leaf_challenges"));
        }
        ZK_CHECK(zk_post_n_partitions(post) == get_u64(root, "partitions"));
        for (uint32_t k = 0; k < zk_post_n_partitions(post); k++)
            check_publics(post, k, get(zk_json_element_of(proofs, k), "public_inputs"));
    }
    ZK_CHECK_OK(zk_post_verify(&failure, post, NULL, &err), err);
    ZK_CHECK(failure.check == ZK_POST_NONE);
    zk_post_destroy(post);
    free_request(&r);
    zk_json_doc_destroy(doc);
}

static void test_good(void) {
    static const char *const names[] = {
        "winning-2KiB",           "winning-8MiB",        "winning-512MiB",      "winning-32GiB",
        "winning-64GiB",          "window-2KiB-n1-v1_0", "window-2KiB-n1-v1_2", "window-2KiB-n2-v1_0",
        "window-2KiB-n2-v1_2",    "window-2KiB-n5-v1_0", "window-2KiB-n5-v1_2", "window-2KiB-skip2-v1_0",
        "window-2KiB-skip2-v1_2", "window-8MiB-n3-v1_0", "window-8MiB-n3-v1_2", "window-512MiB-n3-v1_0",
        "window-512MiB-n3-v1_2",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) check_good(names[i]);
}

/* The vanilla file with a digest, in a list of entries that do not all name their file. */
static void add_by_digest(post_request *r, const zk_json_value *cases, const char *sha256) {
    for (size_t c = 0; c < zk_json_count(cases); c++) {
        const zk_json_value *list = get(zk_json_element_of(cases, c), "vanilla");
        for (size_t i = 0; i < zk_json_count(list); i++) {
            const zk_json_value *entry = zk_json_element_of(list, i);
            if (!zk_json_member_of(entry, "file") || strcmp(get_text(entry, "sha256"), sha256) != 0) continue;
            add_vanilla(r, get_text(entry, "file"));
            return;
        }
    }
    ZK_CHECKF(false, "no file with digest %s", sha256);
}

/* Three sectors in a partition of thousands; a partition that is not the first. */
static void check_short(const char *name) {
    zk_json_doc *doc = load_json(name);
    const zk_json_value *root = zk_json_root(doc), *cases = get(root, "cases");
    for (size_t c = 0; c < zk_json_count(cases); c++) {
        const zk_json_value *row = zk_json_element_of(cases, c), *list = get(row, "vanilla");
        post_request r = {.type = type_named(get_text(row, "registered_proof")),
                          .partition_index = (uint32_t)get_u64(row, "partition_index")};
        zk_post *post = NULL;
        cuzk_err err = {0};
        uint8_t digest[32], want[32];
        hex_of_node(r.randomness, root, "randomness");
        for (size_t i = 0; i < zk_json_count(list); i++)
            add_by_digest(&r, cases, get_text(zk_json_element_of(list, i), "sha256"));
        ZK_CHECK_OK(create_post(&post, &r, &err), err);
        ZK_CHECK_OK(zk_post_verify(NULL, post, NULL, &err), err);
        for (uint32_t i = 0; i < 3; i++) check_challenges(post, i, zk_json_element_of(get(row, "leaf_challenges"), i));
        ZK_CHECK(zk_post_n_partitions(post) == 1);
        uint32_t n = zk_post_n_publics(post->type);
        uint8_t(*publics)[32] = publics_of(post, 0);
        ZK_CHECK(n == get_u64(row, "public_inputs_count"));
        check_nodes((const uint8_t(*)[32])publics, get(row, "public_inputs_first_3_sectors"));
        zk_sha256(digest, publics, (size_t)n * 32);
        hex_of_node(want, row, "public_inputs_sha256");
        ZK_CHECK_MEM(digest, want, 32);
        free(publics);
        zk_post_destroy(post);
        free_request(&r);
    }
    zk_json_doc_destroy(doc);
}

static void test_short_partitions(void) {
    check_short("post/window-32GiB-short.json");
    check_short("post/window-64GiB-short.json");
}

static void test_registered(void) {
    zk_json_doc *doc = load_json("post/registered.json");
    const zk_json_value *list = get(zk_json_root(doc), "registered_post_proofs");
    ZK_CHECK(zk_json_count(list) == ZK_N_REGISTERED_POSTS);
    for (uint32_t i = 0; i < ZK_N_REGISTERED_POSTS; i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        const zk_registered_post *type = &zk_registered_posts[i];
        zk_post_shape shape;
        char identifier[ZK_IDENTIFIER_MAX];
        cuzk_err err = {0};
        ZK_CHECK(get_u64(row, "index") == i && strcmp(get_text(row, "name"), type->name) == 0);
        ZK_CHECK(get_u64(row, "sector_size") == type->sector_bytes);
        ZK_CHECK(strcmp(get_text(row, "api_version"), zk_api_version_name(type->api_version)) == 0);
        ZK_CHECK(get_u64(row, "public_inputs") == zk_post_n_publics(type));
        ZK_CHECK_OK(zk_post_circuit(&shape, identifier, type->kind, type->sector_bytes, &err), err);
        ZK_CHECK(shape.n_sectors == get_u64(row, "circuit_sectors"));
        ZK_CHECK(shape.n_challenges == get_u64(row, "circuit_challenges_per_sector"));
        ZK_CHECK(strcmp(identifier, get_text(row, "cache_id")) == 0);
    }
    zk_json_doc_destroy(doc);
}

static void test_randomness(void) {
    zk_json_doc *doc = load_json("post/randomness.json");
    const zk_json_value *root = zk_json_root(doc), *of = get(root, "leaf_challenges_of");
    const zk_json_value *list = get(root, "randomness");
    uint64_t n_leaves = get_u64(of, "sector_size") / 32, sector = get_u64(of, "sector_id");
    post_request good;
    zk_json_doc *winning = load_json("post/winning-2KiB.json");
    request_of(&good, zk_json_root(winning));
    ZK_CHECK(zk_json_count(list) == 9);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        static const char *const forms[2][2] = {{"raw", "raw_first_4_challenges"},
                                                {"masked", "masked_first_4_challenges"}};
        bool accepted = false;
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_json_get_bool(&accepted, get(row, "raw_accepted"), "raw_accepted", &err), err);
        for (int f = 0; f < 2; f++) {
            const zk_json_value *expected = get(row, forms[f][1]);
            uint8_t randomness[32];
            uint64_t challenges[4];
            hex_of_node(randomness, row, forms[f][0]);
            zk_post_leaf_challenges(challenges, 4, randomness, sector, 0, n_leaves);
            for (size_t k = 0; k < zk_json_count(expected); k++)
                ZK_CHECK(challenges[k] == u64_of(zk_json_element_of(expected, k)));
            /* taken as it is, or refused with a hint */
            zk_post *post = NULL;
            cuzk_err refused = {0};
            memcpy(good.randomness, randomness, 32);
            cuzk_status status = create_post(&post, &good, &refused);
            ZK_CHECK((status == CUZK_OK) == (accepted || f == 1));
            if (status != CUZK_OK)
                ZK_CHECK(status == CUZK_BAD_INPUT && strstr(refused.message, "randomness") &&
                         strstr(refused.message, "top two bits"));
            zk_post_destroy(post);
        }
    }
    free_request(&good);
    zk_json_doc_destroy(winning);
    zk_json_doc_destroy(doc);
}

static void test_sector_choice(void) {
    zk_json_doc *doc = load_json("post/winning-2KiB.json");
    const zk_json_value *root = zk_json_root(doc);
    uint8_t prover_id[32], randomness[32], made[32];
    hex_of_node(prover_id, root, "prover_id");
    hex_of_node(randomness, root, "randomness");
    zk_prover_id(made, 17111);
    ZK_CHECK_MEM(made, prover_id, 32);
    ZK_CHECK(zk_post_winning_sector(prover_id, randomness, get_u64(root, "sector_set_len")) ==
             get_u64(root, "challenged_position"));
    zk_json_doc_destroy(doc);
}

/* ---- bad inputs ---- */

/* What an altered input must end in: the name of a check, or a word of the decoder's message. */
typedef struct expectation {
    const char *field; /* beginning of edit.field, or operation */
    const char *check, *message;
} expectation;

static void check_refused(const char *what, const post_request *r, const char *check, const char *message) {
    zk_post *post = NULL;
    zk_post_failure failure = {0};
    cuzk_err err = {0};
    cuzk_status status = create_post(&post, r, &err);
    if (message) {
        ZK_CHECKF(status == CUZK_BAD_INPUT && !post, "%s: decoded", what);
        ZK_CHECKF(strstr(err.message, message), "%s: \"%s\" does not mention %s", what, err.message, message);
    } else {
        ZK_CHECKF(status == CUZK_OK, "%s: %s", what, err.message);
        status = zk_post_verify(&failure, post, NULL, &err);
        ZK_CHECKF(status == CUZK_CHECK_FAILED, "%s: holds", what);
        ZK_CHECKF(strcmp(zk_post_check_name(failure.check), check) == 0, "%s: check %s", what,
                  zk_post_check_name(failure.check));
        ZK_CHECKF(strstr(err.message, check), "%s: %s", what, err.message);
    }
    zk_post_destroy(post);
}

static void apply_edit(zk_blob *blob, const zk_json_value *edit) {
    const char *op = get_text(edit, "op");
    if (strcmp(op, "none") == 0) return;
    if (strcmp(op, "truncate") == 0) {
        blob->n = get_u64(edit, "length");
    } else if (strcmp(op, "xor") == 0) {
        blob->data[get_u64(edit, "offset")] ^= (uint8_t)get_u64(edit, "mask");
    } else {
        size_t n = strlen(get_text(edit, "hex")) / 2;
        bool append = strcmp(op, "append") == 0;
        size_t at = append ? blob->n : get_u64(edit, "offset");
        if (append) {
            blob->data = realloc(blob->data, blob->n + n);
            ZK_CHECK(blob->data);
            blob->n += n;
        }
        hex_of(blob->data + at, n, get(edit, "hex"));
    }
}

static const expectation *expect_of(const zk_json_value *edit, const char *what) {
    static const expectation by_field[] = {
        {"sector_id", NULL, NULL}, /* see below */
        {"comm_r", "comm_r", NULL},
        {"sectors.len", NULL, "number of sector proofs"},
        {"inclusion.len", NULL, "number of openings"},
        {".tag", NULL, "variant"},
        {".root", "opening_path", NULL},
        {".leaf", "opening_path", NULL},
        {".base.len", NULL, "number of levels"},
        {"hashes.len", NULL, "number of hashes"},
        {"hashes[", "opening_path", NULL},
        {".index", "opening_index", NULL},
        {"comm_c", "comm_r", NULL},
    };
    static const expectation out_of_range = {"", NULL, "index: found"}, not_canonical = {"", NULL, "field element"};
    static const expectation too_short = {"", NULL, "up to the end"}, too_long = {"", NULL, "end: found "};
    static const expectation order = {"", "opening_index", NULL};
    const char *op = get_text(edit, "op");
    if (strcmp(op, "truncate") == 0) return &too_short;
    if (strcmp(op, "append") == 0) return &too_long;
    if (strcmp(op, "replace") == 0) return &not_canonical; /* the modulus added */
    const char *field = get_text(edit, "field");
    uint64_t mask = get_u64(edit, "mask");
    if (strstr(field, "index") && (mask >= 8 || strstr(what, "byte 7"))) return &out_of_range;
    if (mask == 128) return &not_canonical;
    if (strcmp(field, "sector_id") == 0) return &order; /* another number has other challenges */
    for (size_t i = 0; i < sizeof by_field / sizeof by_field[0]; i++)
        if (strstr(field, by_field[i].field)) return &by_field[i];
    return NULL;
}

static void test_edits(void) {
    zk_json_doc *doc = load_json("post/bad-inputs.json");
    const zk_json_value *list = get(zk_json_root(doc), "edits");
    unsigned n_refused = 0;
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i), *edit = get(row, "edit");
        const char *what = get_text(row, "what");
        char file[96];
        post_request r;
        snprintf(file, sizeof file, "post/%s.json", get_text(row, "base"));
        zk_json_doc *base = load_json(file);
        request_of(&r, zk_json_root(base));
        apply_edit(&r.vanilla[get_u64(row, "changed_position")], edit);
        if (strcmp(get_text(edit, "op"), "none") == 0) {
            zk_post *post = NULL;
            cuzk_err err = {0};
            ZK_CHECK_OK(create_post(&post, &r, &err), err);
            ZK_CHECK_OK(zk_post_verify(NULL, post, NULL, &err), err);
            zk_post_destroy(post);
        } else {
            const expectation *e = expect_of(edit, what);
            ZK_CHECKF(e != NULL, "%s", what);
            check_refused(what, &r, e->check, e->message);
            n_refused++;
        }
        free_request(&r);
        zk_json_doc_destroy(base);
    }
    ZK_CHECK(n_refused == zk_json_count(list) - 2);
    zk_json_doc_destroy(doc);
}

static void test_lists(void) {
    /* In the order of the file. Both NULL: the request holds. */
    static const expectation expected[] = {
        {"sectors swapped, version 1.2", "sector_order", NULL},
        {"sectors swapped, version 1.0", "opening_index", NULL},
        {"one sector given twice, version 1.2", "sector_order", NULL},
        {"one sector given twice, version 1.0", "sector_order", NULL},
        {"openings made for version 1.0 offered as version 1.2", "opening_index", NULL},
        {"openings made for version 1.2 offered as version 1.0", "opening_index", NULL},
        {"partition 1 of five sectors proven with partition index 0, version 1.0", "opening_index", NULL},
        {"partition 1 of five sectors proven with partition index 0, version 1.2", NULL, NULL},
        {"partition 1 of five sectors proven with its own index, version 1.0", NULL, NULL},
        {"three sectors given to the prover of one partition", NULL, NULL}, /* becomes two partitions */
        {"no sector given to the prover of one partition", NULL, "no entry"},
        {"sector after a skipped one", "opening_index", NULL},
        {"sector id replaced by another number", "opening_index", NULL},
        {"comm_r of another sector", "comm_r", NULL},
        {"nine openings", NULL, "number of openings: found 9"},
        {"openings 0 and 9 swapped", "opening_index", NULL},
        {"one vanilla input that carries two sector proofs", NULL, "number of sector proofs: found 2"},
        {"vanilla input without a sector proof", NULL, "number of sector proofs: found 0"},
        {"vanilla input without openings", NULL, "number of openings: found 0"},
        {"opening 0 starts one level above the leaves", NULL, "number of levels: found 1"},
        {"two vanilla inputs for WinningPoSt", NULL, "found 2 entries"},
        {"65 openings for WinningPoSt", NULL, "number of openings: found 65"},
        {"67 openings for WinningPoSt", NULL, "number of openings: found 67"},
        {"openings 1 and 65 swapped for WinningPoSt", "opening_index", NULL},
    };
    zk_json_doc *doc = load_json("post/bad-inputs.json");
    const zk_json_value *list = get(zk_json_root(doc), "lists");
    ZK_CHECK(zk_json_count(list) == sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i), *files = get(row, "vanilla");
        const zk_json_value *index = get(row, "partition_index");
        const char *what = get_text(row, "what");
        post_request r = {.type = type_named(get_text(row, "registered_proof"))};
        if (!zk_json_is(index, ZK_JSON_NULL)) r.partition_index = (uint32_t)u64_of(index);
        hex_of_node(r.randomness, row, "randomness");
        for (size_t k = 0; k < zk_json_count(files); k++) {
            const char *name = NULL;
            cuzk_err err = {0};
            ZK_CHECK_OK(zk_json_get_string(&name, zk_json_element_of(files, k), "file", &err), err);
            add_vanilla(&r, name);
        }
        if (expected[i].check || expected[i].message) {
            check_refused(what, &r, expected[i].check, expected[i].message);
        } else {
            zk_post *post = NULL;
            cuzk_err err = {0};
            ZK_CHECK_OK(create_post(&post, &r, &err), err);
            ZK_CHECK_OK(zk_post_verify(NULL, post, NULL, &err), err);
            zk_post_destroy(post);
        }
        free_request(&r);
    }
    zk_json_doc_destroy(doc);
}

/* More sectors than a partition, with an index: that could be no partition. */
static void test_too_many(void) {
    zk_json_doc *doc = load_json("post/window-2KiB-n5-v1_2.json");
    post_request r;
    request_of(&r, zk_json_root(doc));
    r.partition_index = 1;
    check_refused("five sectors as partition 1", &r, NULL, "found 5 entries for partition 1");
    r.partition_index = UINT32_MAX; /* the greatest there is: the numbers still fit, the openings are others' */
    r.type = type_named("StackedDrgWindow2KiBV1");
    size_t n = r.n;
    r.n = 2;
    check_refused("last partition", &r, "opening_index", NULL);
    r.n = n;
    free_request(&r);
    zk_json_doc_destroy(doc);
}

/* ---- every bit counts ---- */

static void flip_random(const char *name, unsigned n_flips, uint64_t seed) {
    char file[96];
    post_request r;
    snprintf(file, sizeof file, "post/%s.json", name);
    zk_json_doc *doc = load_json(file);
    request_of(&r, zk_json_root(doc));
    for (unsigned i = 0; i < n_flips; i++) {
        zk_blob *blob = &r.vanilla[zk_test_rand(&seed) % r.n];
        size_t bit = zk_test_rand(&seed) % (8 * blob->n);
        zk_post *post = NULL;
        cuzk_err err = {0};
        blob->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        cuzk_status status = create_post(&post, &r, &err);
        if (status == CUZK_OK) status = zk_post_verify(NULL, post, NULL, &err);
        ZK_CHECKF(status == CUZK_BAD_INPUT || status == CUZK_CHECK_FAILED, "%s: bit %zu of %zu bytes: %s", name, bit,
                  blob->n, status == CUZK_OK ? "holds" : err.message);
        zk_post_destroy(post);
        blob->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    free_request(&r);
    zk_json_doc_destroy(doc);
}

static void test_random_bits(void) {
    flip_random("window-2KiB-n5-v1_2", 300, 1);
    flip_random("winning-2KiB", 100, 2);
    flip_random("winning-64GiB", 10, 3);
    flip_random("window-8MiB-n3-v1_0", 50, 4);
}

/* Cut anywhere, the decoder says so. */
static void test_truncated(void) {
    post_request r;
    zk_json_doc *doc = load_json("post/window-2KiB-n1-v1_2.json");
    request_of(&r, zk_json_root(doc));
    size_t n = r.vanilla[0].n;
    uint8_t *whole = r.vanilla[0].data;
    for (size_t cut = 0; cut < n; cut += cut < 700 || cut > n - 70 ? 1 : 97) {
        /* a block of exactly this size, so that a read past it is seen by the sanitizer */
        r.vanilla[0] = (zk_blob){malloc(cut ? cut : 1), cut};
        ZK_CHECK(r.vanilla[0].data);
        memcpy(r.vanilla[0].data, whole, cut);
        check_refused("truncated", &r, NULL, "up to the end");
        free(r.vanilla[0].data);
    }
    r.vanilla[0] = (zk_blob){whole, n};
    free_request(&r);
    zk_json_doc_destroy(doc);
}

/* ---- requests ---- */

static void test_requests(void) {
    post_request r;
    zk_json_doc *doc = load_json("post/window-2KiB-n5-v1_2.json");
    request_of(&r, zk_json_root(doc));
    const zk_request good = {.kind = ZK_KIND_WINDOW,
                             .sector_bytes = 2048,
                             .registered_proof = 10,
                             .miner_id = 17111,
                             .vanilla_proofs = r.vanilla,
                             .n_vanilla_proofs = r.n,
                             .randomness = {r.randomness, 32}};
    zk_job *job = NULL;
    zk_job_failure failure;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_job_from_request(&job, &good, &err), err);
    ZK_CHECK(job->n_partitions == 3 && job->n_publics == 22 && job->n_sectors == 5 && job->n_challenge_lists == 5);
    ZK_CHECK(job->has_miner && job->miner == 17111 && !job->has_sector && job->sectors[4] == 8589970878u);
    ZK_CHECK_OK(zk_job_check(&failure, job, NULL, &err), err);
    ZK_CHECK_OK(zk_job_require(job, NULL, &err), err);
    ZK_CHECK_OK(zk_job_expect(job, &good.miner_id, &job->sectors[3], &err), err);
    const uint64_t other = 5;
    ZK_CHECK(zk_job_expect(job, &other, NULL, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_job_expect(job, NULL, &other, NULL) == CUZK_BAD_INPUT);
    zk_job_destroy(job);
    zk_request unsaid = good;
    unsaid.sector_bytes = 0;
    ZK_CHECK_OK(zk_job_from_request(&job, &unsaid, &err), err);
    ZK_CHECK(job->sector_bytes == 2048);
    zk_job_destroy(job);
    zk_blob odd[5];
    memcpy(odd, r.vanilla, sizeof odd);
    odd[3].n--;
    struct {
        const char *message;
        zk_request request;
    } bad[] = {{"registered_proof", good},
               {"registered_proof", good},
               {"registered_proof", good},
               {"sector_size", good},
               {"vanilla_proof", good},
               {"randomness", good},
               {"found 5 entries for", good},
               {"sector number", good},
               {"miner_id", good},
               {"vanilla_proofs[3]: found 5679 bytes, expected 5680", good}};
    bad[0].request.registered_proof = 0; /* WinningPoSt */
    bad[1].request.registered_proof = 15;
    bad[2].request.kind = ZK_KIND_WINNING;
    bad[3].request.sector_bytes = 2049;
    bad[4].request.vanilla_proof = r.vanilla[0];
    bad[5].request.randomness.n = 31;
    bad[6].request.partition_index = 1;
    bad[7].request.sector_number = 77;
    bad[8].request.miner_id = (uint64_t)1 << 63;
    bad[9].request.vanilla_proofs = odd;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cuzk_err refused = {0};
        zk_job *none = NULL;
        ZK_CHECKF(zk_job_from_request(&none, &bad[i].request, &refused) == CUZK_BAD_INPUT, "case %zu", i);
        ZK_CHECKF(!none && strstr(refused.message, bad[i].message), "case %zu: %s", i, refused.message);
    }
    r.vanilla[3].data[5648] ^= 1; /* comm_r_last */
    ZK_CHECK_OK(zk_job_from_request(&job, &good, &err), err);
    ZK_CHECK(zk_job_check(&failure, job, NULL, &err) == CUZK_CHECK_FAILED);
    ZK_CHECK(strcmp(failure.check, "comm_r") == 0 && strstr(failure.at, "vanilla_proofs 3, sector 36326"));
    zk_err_reset(&err);
    ZK_CHECK(zk_job_require(job, NULL, &err) == CUZK_BAD_INPUT && err.status == CUZK_BAD_INPUT);
    ZK_CHECKF(strstr(err.message, "the vanilla proof does not hold (check comm_r): "), "%s", err.message);
    ZK_CHECK(zk_job_require(job, NULL, NULL) == CUZK_BAD_INPUT);
    zk_job_destroy(job);
    free_request(&r);
    zk_json_doc_destroy(doc);
}

/* Every allocation on the way fails once. */
static void test_out_of_memory(void) {
    zk_json_doc *doc = load_json("post/window-2KiB-n5-v1_2.json");
    post_request r;
    request_of(&r, zk_json_root(doc));
    size_t n_hints = 2 * (3 + 10 * (size_t)(1 + 2 + 14));
    uint8_t(*hints)[32] = malloc(n_hints * 32);
    ZK_CHECK(hints);
    uint64_t nth = 1;
    for (bool failed = true; failed; nth++) {
        zk_post *post = NULL;
        cuzk_err err = {0};
        zk_alloc_fail_nth(nth);
        cuzk_status status = create_post(&post, &r, &err);
        if (status == CUZK_OK) status = zk_post_partition_hints(hints, n_hints, post, 2, &err);
        failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECKF(status == (failed ? CUZK_OUT_OF_MEMORY : CUZK_OK), "allocation %u: %s", (unsigned)nth, err.message);
        zk_post_destroy(post);
    }
    ZK_CHECK(nth > 3 + 2 * 5 + 3);
    free(hints);
    free_request(&r);
    zk_json_doc_destroy(doc);
}

ZK_TEST_MAIN(ZK_CASE(test_good), ZK_CASE(test_short_partitions), ZK_CASE(test_registered), ZK_CASE(test_randomness),
             ZK_CASE(test_sector_choice), ZK_CASE(test_edits), ZK_CASE(test_lists), ZK_CASE(test_too_many),
             ZK_CASE(test_random_bits), ZK_CASE(test_truncated), ZK_CASE(test_requests), ZK_CASE(test_out_of_memory))
