/* The kinds WinningPoSt and WindowPoSt. */
#include "filecoin/post.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/kinds.h"
#include "hash/sha256.h"

/* ---- challenges ---- */

/* u64le(SHA-256(a || b || n)[0..8]) mod m, a of 32 bytes. */
static uint64_t hash_mod(const uint8_t a[32], const uint8_t *b, size_t n_b, uint64_t n, uint64_t m) {
    zk_sha256_ctx ctx;
    uint8_t digest[32], number[8];
    zk_store_le64(number, n);
    zk_sha256_init(&ctx);
    zk_sha256_update(&ctx, a, 32);
    zk_sha256_update(&ctx, b, n_b);
    zk_sha256_update(&ctx, number, sizeof number);
    zk_sha256_final(digest, &ctx);
    return zk_load_le64(digest) % m;
}

void zk_post_leaf_challenges(uint64_t *challenges, uint32_t n, const uint8_t randomness[32], uint64_t sector,
                             uint64_t first, uint64_t n_leaves) {
    uint8_t number[8];
    zk_store_le64(number, sector);
    for (uint32_t i = 0; i < n; i++) challenges[i] = hash_mod(randomness, number, sizeof number, first + i, n_leaves);
}

uint64_t zk_post_first_index(const zk_registered_post *type, uint64_t position) {
    return type->api_version < ZK_API_1_2_0 ? position * type->n_challenges : 0;
}

uint64_t zk_post_winning_sector(const uint8_t prover_id[32], const uint8_t randomness[32], uint64_t n_sectors) {
    return hash_mod(prover_id, randomness, 32, 0, n_sectors);
}

void zk_post_challenges(uint64_t *challenges, const zk_post *post, uint32_t place) {
    zk_post_leaf_challenges(challenges, post->type->n_challenges, post->randomness, post->numbers[place],
                            zk_post_first_index(post->type, post->first_position + place),
                            post->type->sector_bytes / 32);
}

/* ---- partitions ---- */

uint32_t zk_post_n_partitions(const zk_post *post) {
    uint32_t per_partition = post->type->n_sectors;
    return post->n_sectors / per_partition + (post->n_sectors % per_partition > 0);
}

/* The sector at place i of a partition: a short last one repeats its last sector. */
static uint32_t place_of(const zk_post *post, uint32_t partition, uint32_t i) {
    uint64_t place = (uint64_t)partition * post->type->n_sectors + i;
    return place < post->n_sectors ? (uint32_t)place : post->n_sectors - 1;
}

static uint32_t n_places(const zk_registered_post *type) { return type->kind == ZK_POST_WINNING ? 1 : type->n_sectors; }

uint32_t zk_post_n_publics(const zk_registered_post *type) {
    return type->circuit_n_sectors * (1 + type->circuit_n_challenges);
}

enum { MAX_CHALLENGES = 66 };

void zk_post_publics(uint8_t (*publics)[32], const zk_post *post, uint32_t partition) {
    const zk_registered_post *type = post->type;
    for (uint32_t i = 0; i < n_places(type); i++) {
        uint64_t challenges[MAX_CHALLENGES];
        uint32_t place = place_of(post, partition, i);
        zk_post_challenges(challenges, post, place);
        for (uint32_t k = 0; k < type->n_challenges; k++) {
            if (k % type->circuit_n_challenges == 0) memcpy(*publics++, post->sectors[place].comm_r, 32);
            memset(*publics, 0, 32);
            zk_store_le64(*publics++, challenges[k]);
        }
    }
}

static zk_post_shape shape_of(const zk_registered_post *type) {
    return (zk_post_shape){type->sector_bytes, type->circuit_n_sectors, type->circuit_n_challenges};
}

cuzk_status zk_post_partition_hints(uint8_t (*hints)[32], size_t n_hints, const zk_post *post, uint32_t partition,
                                    cuzk_err *err) {
    const zk_registered_post *type = post->type;
    zk_post_shape shape = shape_of(type);
    cuzk_status status = CUZK_OK;
    size_t n = shape.n_sectors;
    zk_post_opening *openings = NULL;
    zk_post_sector *sectors = NULL;
    const zk_post_sector **list = NULL;
    if (partition >= zk_post_n_partitions(post))
        return ZK_FAIL(err, CUZK_USAGE, "partition %" PRIu32 " asked, there are %" PRIu32, partition,
                       zk_post_n_partitions(post));
    openings = zk_malloc(n * shape.n_challenges * sizeof *openings);
    sectors = zk_malloc(n * sizeof *sectors);
    list = zk_malloc(n * sizeof *list);
    if (!openings || !sectors || !list)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the input of %zu sectors", n));
    zk_post_opening *o = openings;
    for (size_t i = 0; i < n; i++) {
        bool winning = type->kind == ZK_POST_WINNING;
        const zk_post_vanilla *v = &post->sectors[winning ? 0 : place_of(post, partition, (uint32_t)i)];
        sectors[i] = (zk_post_sector){v->comm_r, v->comm_c, v->comm_r_last, o};
        list[i] = &sectors[i];
        for (uint32_t k = 0; k < shape.n_challenges; k++, o++) {
            zk_post_view view = zk_post_vanilla_opening(v, &post->tree, winning ? (uint32_t)i : k);
            *o = (zk_post_opening){view.leaf, view.index, view.siblings};
        }
    }
    ZK_GOTO(zk_post_hints(hints, n_hints, &shape, list, err));
out:
    free(openings);
    free(sectors);
    free(list);
    return status;
}

/* ---- circuits by size ---- */

cuzk_status zk_post_circuit(zk_post_shape *shape, char identifier[ZK_IDENTIFIER_MAX], zk_post_kind kind,
                            uint64_t sector_bytes, cuzk_err *err) {
    zk_opening_shape tree;
    ZK_TRY(zk_opening_shape_get(&tree, sector_bytes, err));
    bool winning = kind == ZK_POST_WINNING;
    zk_registered_post type = {.kind = kind,
                               .sector_bytes = sector_bytes,
                               .circuit_n_sectors = winning ? 66 : 2,
                               .circuit_n_challenges = winning ? 1 : 10};
    for (uint32_t i = 0; i < ZK_N_REGISTERED_POSTS; i++)
        if (zk_registered_posts[i].kind == kind && zk_registered_posts[i].sector_bytes == sector_bytes)
            type = zk_registered_posts[i];
    *shape = shape_of(&type);
    zk_post_identifier(identifier, &type);
    return CUZK_OK;
}

static cuzk_status program(struct zk_program **program, zk_post_kind kind, uint64_t sector_bytes, cuzk_err *err) {
    zk_post_shape shape;
    char identifier[ZK_IDENTIFIER_MAX];
    ZK_TRY(zk_post_circuit(&shape, identifier, kind, sector_bytes, err));
    return zk_post_program(program, &shape, kind == ZK_POST_WINNING ? "winning" : "window", err);
}

static cuzk_status winning_program(struct zk_program **out, uint64_t sector_bytes, cuzk_err *err) {
    return program(out, ZK_POST_WINNING, sector_bytes, err);
}

static cuzk_status window_program(struct zk_program **out, uint64_t sector_bytes, cuzk_err *err) {
    return program(out, ZK_POST_WINDOW, sector_bytes, err);
}

static cuzk_status winning_identifier(char identifier[ZK_IDENTIFIER_MAX], uint64_t sector_bytes, cuzk_err *err) {
    zk_post_shape shape;
    return zk_post_circuit(&shape, identifier, ZK_POST_WINNING, sector_bytes, err);
}

static cuzk_status window_identifier(char identifier[ZK_IDENTIFIER_MAX], uint64_t sector_bytes, cuzk_err *err) {
    zk_post_shape shape;
    return zk_post_circuit(&shape, identifier, ZK_POST_WINDOW, sector_bytes, err);
}

/* ---- one request ---- */

static const zk_post *post_of(const zk_job *job) { return job->input; }

static cuzk_status check_head(zk_request_head *head, zk_request_use use, cuzk_err *err) {
    bool winning = head->kind == ZK_KIND_WINNING;
    const zk_registered_post *t = zk_registered_post_by_number(head->registered_proof);
    if (!t || (t->kind == ZK_POST_WINNING) != winning)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "registered_proof: found %" PRIu64 "%s%s%s, expected one of %s",
                       head->registered_proof, t ? " (" : "", t ? t->name : "", t ? ")" : "",
                       winning ? "WinningPoSt, 0 to 4" : "WindowPoSt, 5 to 14");
    ZK_TRY(zk_request_check_size(head, t->name, t->sector_bytes, err));
    if (head->n_vanilla_bytes)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proof: found %" PRIu64
                       " bytes, a PoSt request has vanilla_proofs (one for each sector) alone",
                       head->n_vanilla_bytes);
    ZK_TRY(zk_post_check_head(t, head, err));
    if (use == ZK_REQUEST_PARTITION && head->n_vanilla_proofs > t->n_sectors)
        return ZK_FAIL(err, CUZK_BAD_INPUT,
                       "vanilla_proofs: found %" PRIu64 ", one for each sector; a partition of %s holds 1 to %" PRIu32
                       ", and each partition is a request of its own",
                       head->n_vanilla_proofs, t->name, t->n_sectors);
    size_t n_bytes = 0;
    ZK_TRY(zk_post_vanilla_n_bytes(&n_bytes, t, err));
    return zk_request_check_entries(head, n_bytes, err);
}

static cuzk_status open_request(zk_job *job, const zk_request *request, cuzk_err *err) {
    const zk_registered_post *type = zk_registered_post_by_number(request->registered_proof);
    zk_post *post = NULL;
    ZK_TRY(zk_post_create(&post, type, &request->randomness, request->partition_index, request->vanilla_proofs,
                          request->n_vanilla_proofs, &request->passed, err));
    job->input = post;
    job->registered_name = type->name;
    job->registered_number = type->number;
    job->sector_bytes = type->sector_bytes;
    job->n_partitions = zk_post_n_partitions(post);
    job->n_publics = zk_post_n_publics(type);
    job->n_challenge_lists = post->n_sectors;
    job->sectors = post->numbers;
    job->n_sectors = post->n_sectors;
    job->has_sector = post->n_sectors == 1;
    job->sector = post->numbers[0];
    /* The message has no "not given": 0 says nothing. */
    return zk_job_expect(job, &request->miner_id, request->sector_number ? &request->sector_number : NULL, err);
}

static void close_job(zk_job *job) { zk_post_destroy(job->input); }

static cuzk_status check(zk_job_failure *failure, const zk_job *job, zk_pool *pool, cuzk_err *err) {
    zk_post_failure f;
    cuzk_status status = zk_post_verify(&f, post_of(job), pool, err);
    if (status != CUZK_CHECK_FAILED) return status;
    failure->check = zk_post_check_name(f.check);
    int n = snprintf(failure->at, sizeof failure->at, "vanilla_proofs %" PRIu32 ", sector %" PRIu64, f.place, f.sector);
    if (f.opening != ZK_POST_NOWHERE)
        n += snprintf(failure->at + n, sizeof failure->at - (size_t)n, ", opening %" PRIu32, f.opening);
    if (f.level != ZK_POST_NOWHERE)
        snprintf(failure->at + n, sizeof failure->at - (size_t)n, ", level %" PRIu32, f.level);
    return status;
}

static void publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition) {
    zk_post_publics(publics, post_of(job), partition);
}

static cuzk_status hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err) {
    return zk_post_partition_hints(hints, n_hints, post_of(job), partition, err);
}

static void challenges(uint64_t *challenges, size_t *n, size_t max, const zk_job *job, uint32_t place) {
    uint64_t all[MAX_CHALLENGES];
    *n = post_of(job)->type->n_challenges;
    zk_post_challenges(all, post_of(job), place);
    memcpy(challenges, all, (*n < max ? *n : max) * sizeof *all);
}

static size_t facts(zk_job_fact facts[ZK_JOB_MAX_FACTS], const zk_job *job) {
    const zk_post *post = post_of(job);
    const zk_post_vanilla *v = post->sectors;
    bool list = job->kind == ZK_KIND_WINDOW;
    size_t n = 0, stride = sizeof *v;
    facts[n++] = (zk_job_fact){"randomness", post->randomness, 1, 32, false};
    facts[n++] = (zk_job_fact){"comm_r", v->comm_r, post->n_sectors, stride, list};
    facts[n++] = (zk_job_fact){"comm_c", v->comm_c, post->n_sectors, stride, list};
    facts[n++] = (zk_job_fact){"comm_r_last", v->comm_r_last, post->n_sectors, stride, list};
    return n;
}

const zk_kind_ops zk_kind_winning = {
    .kind = ZK_KIND_WINNING,
    .program = winning_program,
    .identifier = winning_identifier,
    .check_head = check_head,
    .open = open_request,
    .close = close_job,
    .check = check,
    .publics = publics,
    .hints = hints,
    .challenges = challenges,
    .facts = facts,
};

const zk_kind_ops zk_kind_window = {
    .kind = ZK_KIND_WINDOW,
    .program = window_program,
    .identifier = window_identifier,
    .check_head = check_head,
    .open = open_request,
    .close = close_job,
    .check = check,
    .publics = publics,
    .hints = hints,
    .challenges = challenges,
    .facts = facts,
};
