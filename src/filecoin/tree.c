#include "filecoin/tree.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "field/fr.h"
#include "filecoin/labels.h"
#include "filecoin/registered.h"
#include "hash/poseidon.h"

static uint32_t arity_of(const zk_tree *tree, uint32_t level) {
    return tree->is_data ? 2 : zk_opening_arity(&tree->shape, level);
}

#define MAX_ARITY 16
#define BATCH 8 /* nodes hashed side by side */

/* n <= BATCH nodes from their children. */
static bool hash_nodes(uint8_t (*nodes)[32], const zk_tree *tree, uint32_t arity, const uint8_t (*children)[32],
                       size_t n) {
    if (tree->is_data) {
        for (size_t i = 0; i < n; i++) zk_data_node(nodes[i], children[2 * i], children[2 * i + 1]);
        return true;
    }
    zk_fr in[BATCH * MAX_ARITY], out[BATCH];
    const zk_poseidon_params *params = zk_poseidon_get(arity);
    if (!params || arity > MAX_ARITY) return false;
    for (size_t i = 0; i < n * arity; i++)
        if (!zk_fr_from_bytes_le(&in[i], children[i])) return false;
    zk_poseidon_hash_many(out, params, in, n);
    for (size_t i = 0; i < n; i++) zk_fr_to_bytes_le(nodes[i], &out[i]);
    return true;
}

/* First given node of a row with a number >= index. */
static size_t lower_bound(const zk_tree_row *row, uint64_t index) {
    size_t low = 0, high = row->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (row->index[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const uint8_t *zk_tree_node(const zk_tree *tree, uint32_t row, uint64_t index) {
    const zk_tree_row *r = &tree->row[row];
    size_t at = lower_bound(r, index);
    return at < r->n && r->index[at] == index ? r->node[at] : r->zero;
}

const uint8_t *zk_tree_top(const zk_tree *tree) { return zk_tree_node(tree, tree->n_levels, 0); }

typedef struct level_ctx {
    zk_tree *tree;
    uint32_t level, arity;
    size_t *first; /* [parents] first given child of each */
    bool failed;   /* set by any thread, never cleared */
} level_ctx;

static void hash_parents(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    level_ctx *c = ctx;
    const zk_tree_row *below = &c->tree->row[c->level];
    zk_tree_row *above = &c->tree->row[c->level + 1];
    for (size_t start = begin; start < end; start += BATCH) {
        uint8_t children[BATCH * MAX_ARITY][32];
        size_t n = end - start < BATCH ? end - start : BATCH;
        for (size_t i = 0; i < n; i++) {
            uint8_t(*own)[32] = children + i * c->arity;
            uint64_t base = above->index[start + i] * c->arity;
            for (uint32_t k = 0; k < c->arity; k++) memcpy(own[k], below->zero, 32);
            for (size_t k = c->first[start + i]; k < below->n && below->index[k] < base + c->arity; k++)
                memcpy(own[below->index[k] - base], below->node[k], 32);
        }
        if (!hash_nodes(above->node + start, c->tree, c->arity, (const uint8_t(*)[32])children, n))
            __atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
    }
}

static cuzk_status build_level(zk_tree *tree, uint32_t level, zk_pool *pool, cuzk_err *err) {
    const zk_tree_row *below = &tree->row[level];
    zk_tree_row *above = &tree->row[level + 1];
    level_ctx ctx = {.tree = tree, .level = level, .arity = arity_of(tree, level)};
    uint8_t zeros[MAX_ARITY][32];
    for (uint32_t k = 0; k < ctx.arity && k < MAX_ARITY; k++) memcpy(zeros[k], below->zero, 32);
    if (ctx.arity > MAX_ARITY || !hash_nodes(&above->zero, tree, ctx.arity, (const uint8_t(*)[32])zeros, 1))
        return ZK_FAIL(err, CUZK_INTERNAL, "tree: cannot hash %" PRIu32 " children", ctx.arity);
    if (!below->n) return CUZK_OK;
    cuzk_status status = CUZK_OK;
    above->index = zk_calloc(below->n, sizeof *above->index);
    ctx.first = zk_calloc(below->n, sizeof *ctx.first);
    if (!above->index || !ctx.first)
        ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tree: no memory for a row over %zu nodes", below->n));
    for (size_t i = 0; i < below->n; i++) {
        uint64_t parent = below->index[i] / ctx.arity;
        if (above->n && above->index[above->n - 1] == parent) continue;
        above->index[above->n] = parent;
        ctx.first[above->n++] = i;
    }
    above->node = zk_calloc(above->n, sizeof *above->node);
    if (!above->node) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tree: no memory for a row of %zu nodes", above->n));
    zk_pool_for(pool, above->n, 64, hash_parents, &ctx);
    if (ctx.failed) status = ZK_FAIL(err, CUZK_BAD_INPUT, "tree: found a leaf that is not below the field modulus");
out:
    free(ctx.first);
    return status;
}

static cuzk_status build(zk_tree **out, zk_tree *tree, const uint64_t *index, const uint8_t (*leaves)[32], size_t n,
                         zk_pool *pool, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    zk_tree_row *row = &tree->row[0];
    if (n) {
        row->index = zk_calloc(n, sizeof *row->index);
        row->node = zk_calloc(n, sizeof *row->node);
        if (!row->index || !row->node) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tree: no memory for %zu leaves", n));
        for (size_t i = 0; i < n; i++) row->index[i] = index ? index[i] : i;
        memcpy(row->node, leaves, n * sizeof *row->node);
        row->n = n;
    }
    for (uint32_t level = 0; level < tree->n_levels; level++) ZK_GOTO(build_level(tree, level, pool, err));
    *out = tree;
    tree = NULL;
out:
    zk_tree_destroy(tree);
    return status;
}

cuzk_status zk_tree_build(zk_tree **tree, const zk_opening_shape *shape, const uint64_t *index,
                          const uint8_t (*leaves)[32], size_t n, zk_pool *pool, cuzk_err *err) {
    zk_tree *made = zk_calloc(1, sizeof *made);
    if (!made) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tree: no memory");
    made->shape = *shape;
    made->n_levels = shape->n_nodes;
    return build(tree, made, index, leaves, n, pool, err);
}

cuzk_status zk_data_tree_build(zk_tree **tree, uint32_t n_levels, const uint64_t *index, const uint8_t (*leaves)[32],
                               size_t n, zk_pool *pool, cuzk_err *err) {
    if (n_levels > ZK_TREE_MAX_LEVELS)
        return ZK_FAIL(err, CUZK_INTERNAL, "tree: found %" PRIu32 " levels, at most %d", n_levels, ZK_TREE_MAX_LEVELS);
    zk_tree *made = zk_calloc(1, sizeof *made);
    if (!made) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "tree: no memory");
    made->is_data = true;
    made->n_levels = n_levels;
    return build(tree, made, index, leaves, n, pool, err);
}

void zk_tree_destroy(zk_tree *tree) {
    if (!tree) return;
    for (uint32_t i = 0; i <= ZK_TREE_MAX_LEVELS; i++) {
        free(tree->row[i].index);
        free(tree->row[i].node);
    }
    free(tree);
}

void zk_tree_open(uint32_t *index, uint8_t (*siblings)[32], const zk_tree *tree, uint64_t leaf) {
    uint64_t node = leaf;
    for (uint32_t level = 0; level < tree->n_levels; level++) {
        uint32_t arity = arity_of(tree, level);
        index[level] = (uint32_t)(node % arity);
        uint64_t base = node - index[level];
        for (uint32_t k = 0; k < arity; k++)
            if (k != index[level]) memcpy(*siblings++, zk_tree_node(tree, level, base + k), 32);
        node /= arity;
    }
}
