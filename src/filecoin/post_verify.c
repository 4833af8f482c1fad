#include <inttypes.h>
#include <stdio.h>

#include "filecoin/first_failure.h"
#include "filecoin/found_expected.h"
#include "filecoin/merkle.h"
#include "filecoin/post.h"

static const struct {
    const char *name, *text;
} checks[] = {{"none", "all checks hold"},
#define X(name, text) {#name, text},
              ZK_POST_CHECKS(X)
#undef X
};

const char *zk_post_check_name(zk_post_check check) {
    return check < sizeof checks / sizeof *checks ? checks[check].name : "unknown";
}

/* Units of work, in the order in which failures count: of each sector first what concerns it as a whole, then its
 * openings. */
typedef struct context {
    const zk_post *post;
    uint32_t per_sector; /* 1 + openings */
    zk_first_failure first;
    zk_post_failure failure; /* noted with it */
} context;

static cuzk_status fail(zk_post_failure *at, zk_post_check check, const char *found, const char *expected,
                        cuzk_err *err) {
    char where[64] = "";
    at->check = check;
    if (at->opening != ZK_POST_NOWHERE) {
        int n = snprintf(where, sizeof where, ", opening %" PRIu32, at->opening);
        if (at->level != ZK_POST_NOWHERE)
            snprintf(where + n, sizeof where - (size_t)n, ", path level %" PRIu32, at->level);
    }
    return ZK_FAIL(err, CUZK_CHECK_FAILED,
                   "vanilla: vanilla_proofs[%" PRIu32 "], sector %" PRIu64
                   "%s: check %s failed (%s): found %s, expected %s",
                   at->place, at->sector, where, checks[check].name, checks[check].text, found, expected);
}

static cuzk_status check_node(zk_post_failure *at, zk_post_check check, const uint8_t found[32],
                              const uint8_t expected[32], cuzk_err *err) {
    zk_found_expected text;
    return zk_nodes_differ(&text, found, expected) ? fail(at, check, text.found, text.expected, err) : CUZK_OK;
}

static cuzk_status check_number(zk_post_failure *at, zk_post_check check, uint64_t found, uint64_t expected,
                                cuzk_err *err) {
    zk_found_expected text;
    return zk_numbers_differ(&text, found, expected) ? fail(at, check, text.found, text.expected, err) : CUZK_OK;
}

static cuzk_status check_sector(zk_post_failure *at, const context *c, cuzk_err *err) {
    const zk_post_vanilla *v = &c->post->sectors[at->place];
    uint8_t comm_r[32];
    if (at->place > 0 && v->sector <= c->post->numbers[at->place - 1]) {
        char found[24], expected[48];
        snprintf(found, sizeof found, "%" PRIu64, v->sector);
        snprintf(expected, sizeof expected, "more than %" PRIu64, c->post->numbers[at->place - 1]);
        return fail(at, ZK_POST_sector_order, found, expected, err);
    }
    ZK_TRY(zk_comm_r(comm_r, v->comm_c, v->comm_r_last, err));
    return check_node(at, ZK_POST_comm_r, v->comm_r, comm_r, err);
}

static cuzk_status check_opening(zk_post_failure *at, const context *c, const zk_tree_path *path, cuzk_err *err) {
    const zk_post *post = c->post;
    const zk_post_vanilla *v = &post->sectors[at->place];
    zk_post_view opening = zk_post_vanilla_opening(v, &post->tree, at->opening);
    uint64_t first = zk_post_first_index(post->type, post->first_position + at->place), challenge;
    zk_post_leaf_challenges(&challenge, 1, post->randomness, v->sector, first + at->opening,
                            post->type->sector_bytes / 32);
    uint8_t root[32];
    for (uint32_t level = 0; level < post->tree.n_nodes; level++) {
        at->level = level;
        ZK_TRY(check_number(at, ZK_POST_opening_index, opening.index[level],
                            zk_tree_index(&post->tree, challenge, level), err));
    }
    at->level = ZK_POST_NOWHERE;
    ZK_TRY(zk_tree_path_root(root, path, &post->tree, err));
    ZK_TRY(check_node(at, ZK_POST_opening_path, root, opening.root, err));
    return check_node(at, ZK_POST_comm_r_last, opening.root, v->comm_r_last, err);
}

#define UNITS 32 /* at a time; their paths are hashed side by side */

static void verify_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    context *c = ctx;
    zk_tree_path paths[UNITS], *path = paths;
    (void)thread;
    if (zk_first_failure_precedes(&c->first, begin)) return;
    for (size_t k = begin; k < end; k++) {
        const zk_post_vanilla *v = &c->post->sectors[k / c->per_sector];
        uint32_t unit = (uint32_t)(k % c->per_sector);
        if (unit == 0) continue;
        zk_post_view opening = zk_post_vanilla_opening(v, &c->post->tree, unit - 1);
        *path++ = (zk_tree_path){.leaf = opening.leaf, .index = opening.index, .siblings = opening.siblings};
    }
    zk_tree_roots(paths, (size_t)(path - paths), &c->post->tree);
    path = paths;
    for (size_t k = begin; k < end; k++) {
        if (zk_first_failure_precedes(&c->first, k)) return;
        cuzk_err err = {0};
        uint32_t place = (uint32_t)(k / c->per_sector), unit = (uint32_t)(k % c->per_sector);
        zk_post_failure at = {.place = place,
                              .opening = unit ? unit - 1 : ZK_POST_NOWHERE,
                              .level = ZK_POST_NOWHERE,
                              .sector = c->post->sectors[place].sector};
        cuzk_status status = unit ? check_opening(&at, c, path++, &err) : check_sector(&at, c, &err);
        if (status == CUZK_OK) continue;
        zk_first_failure_note(&c->first, k, status, &err, &c->failure, &at, sizeof c->failure);
    }
}

cuzk_status zk_post_verify(zk_post_failure *failure, const zk_post *post, zk_pool *pool, cuzk_err *err) {
    context c = {.post = post,
                 .per_sector = 1 + post->type->n_challenges,
                 .first = ZK_FIRST_FAILURE_INIT,
                 .failure = {.place = ZK_POST_NOWHERE, .opening = ZK_POST_NOWHERE, .level = ZK_POST_NOWHERE}};
    zk_pool_for(pool, (size_t)post->n_sectors * c.per_sector, UNITS, verify_range, &c);
    if (failure) *failure = c.failure;
    if (c.first.status != CUZK_OK && err && err->status == CUZK_OK) *err = c.first.err;
    return c.first.status;
}
