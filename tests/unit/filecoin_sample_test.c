/* Samples are what the reference made: sealed small sectors and sparse large ones, to the last byte of their JSON. */
#include "base/json_dom.h"
#include "filecoin/c1_write.h"
#include "filecoin/job.h"
#include "filecoin/sample.h"
#include "filecoin/vanilla.h"
#include "hash/sha256.h"
#include "zk_test.h"

enum { MINER = 1193, SECTOR = 117 };

static zk_pool *pool;

/* Compares with a vector's digests of both forms. */
static void check_sample(const char *prefix, const char *name) {
    char path[512];
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/porep/%s-%s.json", zk_test_vectors_dir(), prefix, name);
    zk_json_doc *doc = NULL;
    ZK_CHECK_OK(zk_json_parse_file(&doc, path, 16 << 20, &err), err);
    const zk_json_value *root = zk_json_root(doc);
    const zk_registered_seal *seal = zk_registered_seal_by_name(name, strlen(name));
    ZK_CHECK(seal != NULL);
    zk_c1 *c1 = NULL;
    ZK_CHECK_OK(zk_sample_porep(&c1, seal, "cuzk a", MINER, SECTOR, pool, &err), err);
    uint8_t expected[32], digest[32];
    ZK_CHECK_OK(zk_json_get_hex(expected, 32, zk_json_member_of(root, "comm_d"), "comm_d", &err), err);
    ZK_CHECK_MEM(c1->comm_d, expected, 32);
    ZK_CHECK_OK(zk_json_get_hex(expected, 32, zk_json_member_of(root, "comm_r"), "comm_r", &err), err);
    ZK_CHECK_MEM(c1->comm_r, expected, 32);
    char *text = NULL;
    size_t n = 0;
    ZK_CHECK_OK(zk_c1_write_json(&text, &n, c1, &err), err);
    zk_sha256(digest, text, n);
    ZK_CHECK_OK(zk_json_get_hex(expected, 32, zk_json_member_of(root, "c1_json_sha256"), "sha256", &err), err);
    ZK_CHECKF(memcmp(digest, expected, 32) == 0, "%s: JSON differs", name);
    free(text);
    ZK_CHECK_OK(zk_c1_write_envelope(&text, &n, c1, &err), err);
    zk_sha256(digest, text, n);
    ZK_CHECK_OK(zk_json_get_hex(expected, 32, zk_json_member_of(root, "wrapped_sha256"), "sha256", &err), err);
    ZK_CHECKF(memcmp(digest, expected, 32) == 0, "%s: envelope differs", name);
    free(text);
    zk_c1_destroy(c1);
    zk_json_doc_destroy(doc);
}

static void test_sealed_2kib(void) {
    check_sample("seal", "StackedDrg2KiBV1");
    check_sample("seal", "StackedDrg2KiBV1_1");
    check_sample("seal", "StackedDrg2KiBV1_1_Feat_SyntheticPoRep");
    check_sample("seal", "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep");
}

static void test_sealed_8mib(void) { check_sample("seal", "StackedDrg8MiBV1_1"); }
static void test_sparse_512mib(void) { check_sample("sparse", "StackedDrg512MiBV1_1"); }
static void test_sparse_32gib(void) { check_sample("sparse", "StackedDrg32GiBV1_1"); }

/* Other texts and all other types and sizes: the vanilla proof holds. */
static void test_others_hold(void) {
    for (unsigned i = 0; i < ZK_N_REGISTERED_SEALS; i++) {
        const zk_registered_seal *seal = &zk_registered_seals[i];
        cuzk_err err = {0};
        zk_c1 *c1 = NULL;
        if (seal->sector_bytes == 8u << 20) continue; /* seconds each; one of them is compared above */
        if (seal->sector_bytes > 1u << 30 && seal->sector_bytes != UINT64_C(64) << 30) continue;
        if (seal->sector_bytes > 8u << 20 && seal->feature != ZK_POREP_INTERACTIVE) {
            ZK_CHECK(zk_sample_porep(&c1, seal, "other", 5, 6, pool, &err) == CUZK_UNSUPPORTED);
            continue;
        }
        ZK_CHECK_OK(zk_sample_porep(&c1, seal, "other", 5, 6, pool, &err), err);
        zk_vanilla_failure failure;
        ZK_CHECK_OK(zk_c1_verify(&failure, c1, pool, &err), err);
        zk_c1_destroy(c1);
    }
}

/* A request as a job: its vanilla proof holds. */
static void check_holds(const zk_request *request) {
    cuzk_err err = {0};
    zk_job *job = NULL;
    zk_job_failure failure;
    ZK_CHECK_OK(zk_job_from_request(&job, request, &err), err);
    ZK_CHECK_OK(zk_job_check(&failure, job, pool, &err), err);
    zk_job_destroy(job);
}

/* Sealed and updated, and by the rule: the bytes of the listed partition proofs. */
static void check_update(uint64_t sector_bytes) {
    char path[512], name[64];
    cuzk_err err = {0};
    snprintf(name, sizeof name, "%s-%llu.json", sector_bytes <= ZK_SAMPLE_MAX_SEALED_BYTES ? "real" : "auto",
             (unsigned long long)sector_bytes);
    snprintf(path, sizeof path, "%s/update/%s", zk_test_vectors_dir(), name);
    zk_json_doc *doc = NULL;
    ZK_CHECK_OK(zk_json_parse_file(&doc, path, 16 << 20, &err), err);
    const zk_registered_update *type = NULL;
    for (unsigned i = 0; i < ZK_N_REGISTERED_UPDATES; i++)
        if (zk_registered_updates[i].sector_bytes == sector_bytes) type = &zk_registered_updates[i];
    ZK_CHECK(type != NULL);
    zk_request *request = NULL;
    ZK_CHECK_OK(zk_sample_update(&request, type, "cuzk update a", MINER, SECTOR, pool, &err), err);
    const zk_json_value *proofs = zk_json_member_of(zk_json_root(doc), "partition_proofs");
    ZK_CHECK(zk_json_count(proofs) == request->n_vanilla_proofs);
    for (size_t k = 0; k < request->n_vanilla_proofs; k++) {
        uint8_t expected[32], digest[32];
        ZK_CHECK_OK(zk_json_get_hex(expected, 32, zk_json_member_of(zk_json_element_of(proofs, k), "proof_sha256"),
                                    "proof_sha256", &err),
                    err);
        zk_sha256(digest, request->vanilla_proofs[k].data, request->vanilla_proofs[k].n);
        ZK_CHECKF(memcmp(digest, expected, 32) == 0, "%s, partition %zu", name, k);
    }
    check_holds(request);
    zk_request_destroy(request);
    zk_json_doc_destroy(doc);
}

static void test_updates(void) {
    check_update(2048);
    check_update(512u << 20);
    check_update(UINT64_C(32) << 30);
    check_update(UINT64_C(64) << 30);
}

static void test_posts(void) {
    for (unsigned i = 0; i < ZK_N_REGISTERED_POSTS; i++) {
        const zk_registered_post *type = &zk_registered_posts[i];
        if (type->sector_bytes == 8u << 20) continue; /* sealing takes seconds */
        cuzk_err err = {0};
        zk_request *request = NULL;
        zk_sample_post_options options = {.text = "t", .miner = 7, .first_sector = 1000, .n_sectors = 5};
        ZK_CHECK_OK(zk_sample_post(&request, type, &options, pool, &err), err);
        check_holds(request);
        zk_request_destroy(request);
    }
}

/* A text whose labels would be cut is refused by all kinds; the longest allowed one is not. */
static void test_text_limit(void) {
    char text[ZK_SAMPLE_MAX_TEXT + 2];
    memset(text, 'x', sizeof text);
    for (size_t n = ZK_SAMPLE_MAX_TEXT; n <= ZK_SAMPLE_MAX_TEXT + 1; n++) {
        cuzk_status expected = n > ZK_SAMPLE_MAX_TEXT ? CUZK_USAGE : CUZK_OK;
        zk_sample_post_options options = {.text = text, .miner = 7, .first_sector = UINT64_MAX};
        zk_c1 *c1 = NULL;
        zk_request *post = NULL, *update = NULL;
        text[n] = 0;
        ZK_CHECK(zk_sample_porep(&c1, &zk_registered_seals[0], text, MINER, SECTOR, pool, NULL) == expected);
        ZK_CHECK(zk_sample_post(&post, &zk_registered_posts[3], &options, pool, NULL) == expected);
        ZK_CHECK(zk_sample_update(&update, &zk_registered_updates[0], text, MINER, SECTOR, pool, NULL) == expected);
        if (post) check_holds(post);
        zk_c1_destroy(c1);
        zk_request_destroy(post);
        zk_request_destroy(update);
        text[n] = 'x';
    }
}

static void test_start(void) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
}
static void test_end(void) { zk_pool_destroy(pool); }

ZK_TEST_MAIN(ZK_CASE(test_start), ZK_CASE(test_sealed_2kib), ZK_CASE(test_sealed_8mib), ZK_CASE(test_sparse_512mib),
             ZK_CASE(test_sparse_32gib), ZK_CASE(test_others_hold), ZK_CASE(test_updates), ZK_CASE(test_posts),
             ZK_CASE(test_text_limit), ZK_CASE(test_end))
