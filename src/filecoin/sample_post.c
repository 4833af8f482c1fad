/* Requests of WinningPoSt and WindowPoSt: see sample.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/challenges.h"
#include "filecoin/opening_bytes.h"
#include "filecoin/post.h"
#include "filecoin/sample.h"
#include "filecoin/tree.h"

/* One sector: its commitments, and the tree over its replica. */
typedef struct post_sector {
    uint64_t number;
    uint8_t comm_c[32], comm_r[32];
    zk_tree *tree;
} post_sector;

/* Sparse: challenged leaves have values of their own, all others are zero; comm_c is arbitrary. */
static cuzk_status make_sparse(post_sector *s, const char *text, const zk_opening_shape *shape, uint64_t *challenges,
                               uint32_t n, cuzk_err *err) {
    char label[256];
    snprintf(label, sizeof label, "%s post comm_c %" PRIu64, text, s->number);
    zk_sample_seed32(s->comm_c, label);
    uint64_t *index = zk_calloc(n, sizeof *index);
    uint8_t(*leaves)[32] = zk_calloc(n, sizeof *leaves);
    cuzk_status status = CUZK_OK;
    if (!index || !leaves) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for %" PRIu32 " leaves", n));
    size_t n_leaves = 0;
    for (uint32_t i = 0; i < n; i++) { /* insertion: few, and some may be equal */
        size_t at = 0;
        while (at < n_leaves && index[at] < challenges[i]) at++;
        if (at < n_leaves && index[at] == challenges[i]) continue;
        memmove(index + at + 1, index + at, (n_leaves - at) * sizeof *index);
        index[at] = challenges[i];
        n_leaves++;
    }
    for (size_t i = 0; i < n_leaves; i++) {
        snprintf(label, sizeof label, "%s post leaf %" PRIu64 " %" PRIu64, text, s->number, index[i]);
        zk_sample_seed32(leaves[i], label);
    }
    ZK_GOTO(zk_tree_build(&s->tree, shape, index, (const uint8_t(*)[32])leaves, n_leaves, NULL, err));
out:
    free(index);
    free(leaves);
    return status;
}

/* Really sealed, as the PoRep sample of the same text. */
static cuzk_status make_sealed(post_sector *s, const char *text, uint64_t sector_bytes, uint64_t miner, zk_pool *pool,
                               cuzk_err *err) {
    const zk_registered_seal *seal = zk_sample_seal_type(sector_bytes);
    if (!seal) return ZK_FAIL(err, CUZK_UNSUPPORTED, "sample: sector size %" PRIu64 " is not registered", sector_bytes);
    return zk_sample_sealed_tree(&s->tree, s->comm_c, seal, text, miner, s->number, pool, err);
}

/* ---- the vanilla bytes, see post.h ---- */

static uint8_t *put_u64(uint8_t *at, uint64_t v) {
    zk_store_le64(at, v);
    return at + 8;
}

static uint8_t *put_node(uint8_t *at, const uint8_t node[32]) {
    memcpy(at, node, 32);
    return at + 32;
}

static uint8_t *put_opening(uint8_t *at, const zk_tree *tree, uint64_t leaf) {
    uint32_t index[ZK_TREE_MAX_LEVELS];
    uint8_t siblings[ZK_TREE_MAX_LEVELS * 7][32], root[32], leaf_node[32];
    zk_opening_parts parts = zk_opening_parts_of(&tree->shape);
    zk_opening_view from = {.root = root, .leaf = leaf_node, .siblings = siblings, .index = index};
    memcpy(root, zk_tree_top(tree), 32);
    memcpy(leaf_node, zk_tree_node(tree, 0, leaf), 32);
    zk_tree_open(index, siblings, tree, leaf);
    return zk_opening_write(at, &parts, &from);
}

static cuzk_status put_sector(zk_blob *out, const post_sector *s, const uint64_t *challenges, uint32_t n,
                              cuzk_err *err) {
    zk_opening_parts parts = zk_opening_parts_of(&s->tree->shape);
    out->n = 8 + 32 + 16 + n * zk_opening_n_bytes(&parts) + 64;
    out->data = zk_malloc(out->n);
    if (!out->data) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for a vanilla proof");
    uint8_t *at = put_u64(out->data, s->number);
    at = put_node(at, s->comm_r);
    at = put_u64(at, 1);
    at = put_u64(at, n);
    for (uint32_t i = 0; i < n; i++) at = put_opening(at, s->tree, challenges[i]);
    at = put_node(at, s->comm_c);
    put_node(at, zk_tree_top(s->tree));
    return CUZK_OK;
}

/* ---- all sectors ---- */

typedef struct sectors_ctx {
    const zk_registered_post *type;
    const zk_sample_post_options *options;
    zk_request *request;
    zk_opening_shape shape;
    bool sealed;
    zk_pool *pool;
    cuzk_status status; /* first failure of any thread */
    cuzk_err err;
} sectors_ctx;

static cuzk_status make_sector(sectors_ctx *c, size_t i, zk_pool *pool, cuzk_err *err) {
    enum { MAX_CHALLENGES = 66 };
    uint64_t challenges[MAX_CHALLENGES];
    post_sector s = {.number = c->options->first_sector + i};
    uint32_t n = c->type->n_challenges;
    cuzk_status status = CUZK_OK;
    if (n > MAX_CHALLENGES) return ZK_FAIL(err, CUZK_INTERNAL, "sample: %" PRIu32 " challenges", n);
    zk_post_leaf_challenges(challenges, n, c->request->randomness.data, s.number,
                            zk_post_first_index(c->type, c->options->first_position + i), c->type->sector_bytes / 32);
    if (c->sealed)
        ZK_GOTO(make_sealed(&s, c->options->text, c->type->sector_bytes, c->options->miner, pool, err));
    else
        ZK_GOTO(make_sparse(&s, c->options->text, &c->shape, challenges, n, err));
    ZK_GOTO(zk_comm_r(s.comm_r, s.comm_c, zk_tree_top(s.tree), err));
    ZK_GOTO(put_sector(&c->request->vanilla_proofs[i], &s, challenges, n, err));
out:
    zk_tree_destroy(s.tree);
    return status;
}

static void make_sectors(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    sectors_ctx *c = ctx;
    for (size_t i = begin; i < end; i++) {
        cuzk_err err = {0};
        cuzk_status status = make_sector(c, i, NULL, &err);
        cuzk_status expected = CUZK_OK;
        if (status != CUZK_OK &&
            __atomic_compare_exchange_n(&c->status, &expected, status, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            c->err = err;
    }
}

cuzk_status zk_sample_post(zk_request **out, const zk_registered_post *type, const zk_sample_post_options *options,
                           zk_pool *pool, cuzk_err *err) {
    size_t n = type->kind == ZK_POST_WINNING ? 1 : options->n_sectors;
    if (n == 0 || n > 1000000) return ZK_FAIL(err, CUZK_USAGE, "sample: found %zu sectors, expected 1 to 1000000", n);
    ZK_TRY(zk_sample_check_text(options->text, err));
    sectors_ctx ctx = {.type = type, .options = options, .sealed = type->sector_bytes <= ZK_SAMPLE_MAX_SEALED_BYTES};
    zk_request *r = zk_calloc(1, sizeof *r);
    char text[256];
    uint8_t randomness[32];
    cuzk_status status = CUZK_OK;
    if (!r) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory");
    snprintf(text, sizeof text, "%s post randomness", options->text);
    zk_sample_seed32(randomness, text);
    ZK_GOTO(zk_blob_copy(&r->randomness, randomness, sizeof randomness, err));
    r->vanilla_proofs = zk_calloc(n, sizeof *r->vanilla_proofs);
    if (!r->vanilla_proofs) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory"));
    r->n_vanilla_proofs = n;
    r->kind = type->kind == ZK_POST_WINNING ? ZK_KIND_WINNING : ZK_KIND_WINDOW;
    r->sector_bytes = type->sector_bytes;
    r->registered_proof = type->number;
    r->miner_id = options->miner;
    if (r->kind == ZK_KIND_WINNING) r->sector_number = options->first_sector;
    snprintf(text, sizeof text, "%s-%" PRIu64 "-%s", r->kind == ZK_KIND_WINNING ? "winpost" : "wdpost", options->miner,
             options->text);
    r->request_id = zk_strdup(text);
    if (!r->request_id) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory"));
    ctx.request = r;
    ZK_GOTO(zk_opening_shape_get(&ctx.shape, type->sector_bytes, err));
    if (ctx.sealed) {
        for (size_t i = 0; i < n; i++) ZK_GOTO(make_sector(&ctx, i, pool, err));
    } else {
        zk_pool_for(pool, n, 4, make_sectors, &ctx);
        if (ctx.status != CUZK_OK && err) *err = ctx.err;
        ZK_GOTO(ctx.status);
    }
    *out = r;
    r = NULL;
out:
    zk_request_destroy(r);
    return status;
}
