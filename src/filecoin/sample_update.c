/* Requests of SnapDeals, for sectors really sealed and updated, or for such as exist by a rule: see sample.h.
 *
 * With L bits of a node's number and g = min(L - h, apex height): the block of leaf i is B = i >> g, its class K the
 * sum of bit_j 2^(j mod 3) over the bits j < g of i, modulo 8. Old leaf: seed32("TEXT SIZE auto old B K"), data leaf:
 * "... new B K". A node over 2^t leaves, t <= g, with number m in its row, has the block m >> (g - t) and the class sum
 * of bit_j 2^((t + j) mod 3) over the bits j < g - t of m: equal block and class mean equal nodes. Above, nodes differ.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/labels.h"
#include "filecoin/sample.h"
#include "filecoin/update.h"
#include "hash/fr32.h"
#include "hash/poseidon.h"

enum { N_CLASSES = 8, MAX_ROWS = 40 };

typedef struct rule {
    uint32_t node_bits, block_bits, h;
} rule;

/* One tree: rows from the leaves up; row k is over 2^height[k] leaves. */
typedef struct rule_tree {
    rule rule;
    bool is_data;
    uint32_t n_rows;
    uint32_t height[MAX_ROWS], log2_arity[MAX_ROWS]; /* log2_arity[k]: of the nodes of row k + 1 over those of row k */
    uint8_t (*nodes[MAX_ROWS])[32];                  /* height <= block_bits: [blocks][classes]; above: [nodes] */
} rule_tree;

static uint32_t class_of(const rule *r, uint32_t height, uint64_t m) {
    uint32_t sum = 0;
    for (uint32_t j = 0; j < r->block_bits - height; j++) sum += (uint32_t)(m >> j & 1) << ((height + j) % 3);
    return sum % N_CLASSES;
}

static size_t slot(const rule *r, uint32_t height, uint64_t m) {
    if (height > r->block_bits) return (size_t)m;
    return (size_t)(m >> (r->block_bits - height)) * N_CLASSES + class_of(r, height, m);
}

static size_t n_slots(const rule *r, uint32_t height) {
    if (height > r->block_bits) return (size_t)1 << (r->node_bits - height);
    return N_CLASSES * ((size_t)1 << (r->node_bits - r->block_bits));
}

/* Nodes of a row, one for each block and class that occur: number of them, and the number in the row of the i-th. With
 * the low three bits of the class part every class occurs once. */
static size_t n_distinct(const rule *r, uint32_t height) {
    if (height > r->block_bits) return (size_t)1 << (r->node_bits - height);
    uint32_t bits = r->block_bits - height < 3 ? r->block_bits - height : 3;
    return ((size_t)1 << (r->node_bits - r->block_bits)) << bits;
}

static uint64_t distinct_at(const rule *r, uint32_t height, size_t i) {
    if (height > r->block_bits) return i;
    uint32_t width = r->block_bits - height, bits = width < 3 ? width : 3;
    return (uint64_t)(i >> bits) << width | (i & (((size_t)1 << bits) - 1));
}

static const uint8_t *node_of(const rule_tree *tree, uint32_t row, uint64_t m) {
    return tree->nodes[row][slot(&tree->rule, tree->height[row], m)];
}

typedef struct row_ctx {
    rule_tree *tree;
    uint32_t row; /* to be made from the one below */
    bool failed;
} row_ctx;

#define BATCH 8 /* nodes hashed side by side */

static void hash_row(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    row_ctx *c = ctx;
    rule_tree *t = c->tree;
    uint32_t log2_arity = t->log2_arity[c->row - 1], arity = 1u << log2_arity;
    const zk_poseidon_params *params = t->is_data ? NULL : zk_poseidon_get(arity);
    for (size_t start = begin; start < end; start += BATCH) {
        uint8_t *out[BATCH];
        zk_fr in[BATCH * 8], hash[BATCH];
        bool good = t->is_data || params != NULL;
        size_t n = end - start < BATCH ? end - start : BATCH;
        for (size_t i = 0; i < n; i++) {
            uint64_t m = distinct_at(&t->rule, t->height[c->row], start + i);
            out[i] = t->nodes[c->row][slot(&t->rule, t->height[c->row], m)];
            if (t->is_data) zk_data_node(out[i], node_of(t, c->row - 1, 2 * m), node_of(t, c->row - 1, 2 * m + 1));
            for (uint32_t k = 0; !t->is_data && good && k < arity; k++)
                good = zk_fr_from_bytes_le(&in[i * arity + k], node_of(t, c->row - 1, (m << log2_arity) + k));
        }
        if (!good) __atomic_store_n(&c->failed, true, __ATOMIC_RELAXED);
        if (t->is_data || !good) continue;
        zk_poseidon_hash_many(hash, params, in, n);
        for (size_t i = 0; i < n; i++) zk_fr_to_bytes_le(out[i], &hash[i]);
    }
}

static void tree_free(rule_tree *tree) {
    for (uint32_t i = 0; i < MAX_ROWS; i++) free(tree->nodes[i]);
}

/* Room for the rows; the leaves are the caller's to fill. */
static cuzk_status tree_start(rule_tree *tree, const rule *r, const zk_update_shape *shape, zk_update_tree which,
                              cuzk_err *err) {
    tree->rule = *r;
    tree->is_data = which == ZK_UPDATE_DATA;
    uint32_t n_levels = zk_update_tree_n_levels(shape, which);
    if (n_levels >= MAX_ROWS) return ZK_FAIL(err, CUZK_INTERNAL, "sample: %" PRIu32 " levels", n_levels);
    tree->n_rows = n_levels + 1;
    for (uint32_t k = 0; k <= n_levels; k++) {
        if (k > 0) {
            tree->log2_arity[k - 1] = (uint32_t)__builtin_ctz(zk_update_tree_arity(shape, which, k - 1));
            tree->height[k] = tree->height[k - 1] + tree->log2_arity[k - 1];
        }
        tree->nodes[k] = zk_calloc(n_slots(r, tree->height[k]), 32);
        if (!tree->nodes[k]) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for a tree");
    }
    return CUZK_OK;
}

static cuzk_status tree_finish(rule_tree *tree, zk_pool *pool, cuzk_err *err) {
    for (uint32_t row = 1; row < tree->n_rows; row++) {
        row_ctx ctx = {.tree = tree, .row = row};
        zk_pool_for(pool, n_distinct(&tree->rule, tree->height[row]), 64, hash_row, &ctx);
        if (ctx.failed) return ZK_FAIL(err, CUZK_INTERNAL, "sample: a node is not below the field modulus");
    }
    return CUZK_OK;
}

static const uint8_t *top(const rule_tree *tree) { return node_of(tree, tree->n_rows - 1, 0); }

/* ---- the sector ---- */

typedef struct update_sector {
    const char *text;
    zk_update_shape shape;
    rule rule;
    zk_update_statement statement;
    uint8_t comm_c[32];
    rule_tree tree[ZK_UPDATE_N_TREES];
    zk_fr phi;
    zk_pool *pool;
} update_sector;

static void fill_leaves(rule_tree *tree, const update_sector *s, const char *which) {
    for (size_t i = 0; i < n_distinct(&tree->rule, 0); i++) {
        uint64_t m = distinct_at(&tree->rule, 0, i);
        char label[320];
        snprintf(label, sizeof label, "%s %" PRIu64 " auto %s %" PRIu64 " %" PRIu32, s->text, s->shape.sector_bytes,
                 which, m >> tree->rule.block_bits, class_of(&tree->rule, 0, m));
        zk_sample_seed32(tree->nodes[0][slot(&tree->rule, 0, m)], label);
    }
}

/* new = old + data * rho(i >> (L - h)), which depends on the block alone. */
static cuzk_status encode_leaves(update_sector *s, cuzk_err *err) {
    rule_tree *new_tree = &s->tree[ZK_UPDATE_NEW];
    zk_fr rho = zk_fr_zero;
    uint64_t rho_of = UINT64_MAX;
    for (size_t i = 0; i < n_distinct(&s->rule, 0); i++) {
        uint64_t m = distinct_at(&s->rule, 0, i), high = m >> (s->rule.node_bits - s->rule.h);
        if (high != rho_of) ZK_TRY(zk_update_rho(&rho, &s->phi, high, err));
        rho_of = high;
        size_t at = slot(&s->rule, 0, m);
        zk_fr old, data;
        if (!zk_fr_from_bytes_le(&old, s->tree[ZK_UPDATE_OLD].nodes[0][at]) ||
            !zk_fr_from_bytes_le(&data, s->tree[ZK_UPDATE_DATA].nodes[0][at]))
            return ZK_FAIL(err, CUZK_INTERNAL, "sample: a leaf is not below the field modulus");
        zk_fr_mul(&data, &data, &rho);
        zk_fr_add(&old, &old, &data);
        zk_fr_to_bytes_le(new_tree->nodes[0][at], &old);
    }
    return CUZK_OK;
}

/* A sector of zeros really sealed, and new data. With no block bits every node of a tree is a node of its own. */
static cuzk_status fill_sealed(update_sector *s, cuzk_err *err) {
    const zk_update_shape *shape = &s->shape;
    const zk_registered_seal *seal = zk_sample_seal_type(shape->sector_bytes);
    if (!seal)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "sample: sector size %" PRIu64 " is not registered", shape->sector_bytes);
    zk_sample_identity identity;
    const struct {
        uint8_t *out;
        const char *what;
    } parts[] = {{identity.porep_id, "porep id"}, {identity.prover_id, "prover"}, {identity.ticket, "ticket"}};
    char label[320];
    uint8_t bytes[32];
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        snprintf(label, sizeof label, "%s %" PRIu64 " %s", s->text, shape->sector_bytes, parts[i].what);
        zk_sample_seed32(parts[i].out, label);
    }
    snprintf(label, sizeof label, "%s %" PRIu64 " sector", s->text, shape->sector_bytes);
    zk_sample_seed32(bytes, label);
    identity.sector = zk_load_le64(bytes);
    size_t n_nodes = (size_t)1 << shape->node_bits, n_data = n_nodes * 32 / 128 * 127;
    zk_tree *tree = NULL;
    uint8_t *raw = zk_malloc(n_data), *padded = zk_malloc(n_nodes * 32);
    cuzk_status status = CUZK_OK;
    if (!raw || !padded) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for %zu bytes of data", n_data));
    ZK_GOTO(zk_sample_sealed_zeros(&tree, s->comm_c, seal, &identity, s->pool, err));
    snprintf(label, sizeof label, "%s %" PRIu64 " data", s->text, shape->sector_bytes);
    zk_sample_data(raw, n_data, label);
    zk_fr32_pad(padded, raw, n_data);
    for (size_t i = 0; i < n_nodes; i++) {
        size_t at = slot(&s->rule, 0, i);
        memcpy(s->tree[ZK_UPDATE_OLD].nodes[0][at], zk_tree_node(tree, 0, i), 32);
        memcpy(s->tree[ZK_UPDATE_DATA].nodes[0][at], padded + 32 * i, 32);
    }
out:
    zk_tree_destroy(tree);
    free(raw);
    free(padded);
    return status;
}

static void fill_by_rule(update_sector *s) {
    char label[320];
    snprintf(label, sizeof label, "%s %" PRIu64 " auto comm_c", s->text, s->shape.sector_bytes);
    zk_sample_seed32(s->comm_c, label);
    fill_leaves(&s->tree[ZK_UPDATE_DATA], s, "new");
    fill_leaves(&s->tree[ZK_UPDATE_OLD], s, "old");
}

static cuzk_status make_sector(update_sector *s, uint64_t sector_bytes, uint32_t h, cuzk_err *err) {
    uint8_t comm_r_old[32], comm_r_new[32];
    ZK_TRY(zk_update_shape_get(&s->shape, sector_bytes, err));
    const zk_update_shape *shape = &s->shape;
    bool sealed = sector_bytes <= ZK_SAMPLE_MAX_SEALED_BYTES;
    uint32_t below_h = shape->node_bits - h;
    s->rule = (rule){shape->node_bits, below_h < shape->apex_height ? below_h : shape->apex_height, h};
    if (sealed) s->rule.block_bits = 0;
    for (int i = 0; i < ZK_UPDATE_N_TREES; i++)
        ZK_TRY(tree_start(&s->tree[i], &s->rule, shape, (zk_update_tree)i, err));
    if (sealed)
        ZK_TRY(fill_sealed(s, err));
    else
        fill_by_rule(s);
    ZK_TRY(tree_finish(&s->tree[ZK_UPDATE_DATA], s->pool, err));
    ZK_TRY(tree_finish(&s->tree[ZK_UPDATE_OLD], s->pool, err));
    ZK_TRY(zk_comm_r(comm_r_old, s->comm_c, top(&s->tree[ZK_UPDATE_OLD]), err));
    ZK_TRY(zk_update_phi(&s->phi, top(&s->tree[ZK_UPDATE_DATA]), comm_r_old, err));
    ZK_TRY(encode_leaves(s, err));
    ZK_TRY(tree_finish(&s->tree[ZK_UPDATE_NEW], s->pool, err));
    ZK_TRY(zk_comm_r(comm_r_new, s->comm_c, top(&s->tree[ZK_UPDATE_NEW]), err));
    return zk_update_statement_init(&s->statement, sector_bytes, comm_r_old, top(&s->tree[ZK_UPDATE_DATA]), comm_r_new,
                                    err);
}

/* ---- partition proofs ---- */

static void open_leaf(zk_opening_view path, const rule_tree *tree, uint64_t leaf) {
    memcpy(path.root, top(tree), 32);
    memcpy(path.leaf, node_of(tree, 0, leaf), 32);
    uint64_t m = leaf;
    for (uint32_t row = 0; row + 1 < tree->n_rows; row++) {
        uint64_t arity = UINT64_C(1) << tree->log2_arity[row], position = m & (arity - 1);
        path.index[row] = (uint32_t)position;
        for (uint64_t k = 0; k < arity; k++)
            if (k != position) memcpy(*path.siblings++, node_of(tree, row, m - position + k), 32);
        m >>= tree->log2_arity[row];
    }
}

static cuzk_status make_partition(zk_blob *out, const update_sector *s, uint32_t k, cuzk_err *err) {
    const zk_update_shape *shape = &s->shape;
    uint64_t challenges[ZK_UPDATE_MAX_CHALLENGES];
    zk_update_proof proof = {0};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_update_proof_alloc(&proof, shape, err));
    ZK_GOTO(zk_update_challenges(challenges, shape, s->statement.comm_r_new, k, err));
    memcpy(proof.comm_c, s->comm_c, 32);
    for (uint64_t i = 0; i < UINT64_C(1) << shape->apex_bits; i++)
        memcpy(proof.nodes[i],
               node_of(&s->tree[ZK_UPDATE_DATA], shape->apex_height, ((uint64_t)k << shape->apex_bits) + i), 32);
    for (uint32_t i = 0; i < shape->n_challenges; i++)
        for (int t = 0; t < ZK_UPDATE_N_TREES; t++)
            open_leaf(zk_update_proof_path(&proof, shape, i, (zk_update_tree)t), &s->tree[t], challenges[i]);
    out->n = zk_update_proof_n_bytes(shape);
    out->data = zk_malloc(out->n);
    if (!out->data) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for a partition proof"));
    zk_update_proof_write(out->data, shape, &proof);
out:
    zk_update_proof_free(&proof);
    return status;
}

cuzk_status zk_sample_update(zk_request **out, const zk_registered_update *type, const char *text, uint64_t miner,
                             uint64_t sector_number, zk_pool *pool, cuzk_err *err) {
    ZK_TRY(zk_sample_check_text(text, err));
    update_sector s = {.text = text, .pool = pool};
    char id[64];
    cuzk_status status = CUZK_OK;
    zk_request *r = zk_calloc(1, sizeof *r);
    if (!r) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory");
    ZK_GOTO(make_sector(&s, type->sector_bytes, type->h, err));
    snprintf(id, sizeof id, "snap-%" PRIu64 "-%" PRIu64, miner, sector_number);
    r->request_id = zk_strdup(id);
    r->kind = ZK_KIND_UPDATE;
    r->sector_bytes = type->sector_bytes;
    r->registered_proof = type->number;
    r->miner_id = miner;
    r->sector_number = sector_number;
    r->vanilla_proofs = zk_calloc(type->n_partitions, sizeof *r->vanilla_proofs);
    if (!r->request_id || !r->vanilla_proofs) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory"));
    r->n_vanilla_proofs = type->n_partitions;
    ZK_GOTO(zk_blob_copy(&r->comm_r_old, s.statement.comm_r_old, 32, err));
    ZK_GOTO(zk_blob_copy(&r->comm_d_new, s.statement.comm_d_new, 32, err));
    ZK_GOTO(zk_blob_copy(&r->comm_r_new, s.statement.comm_r_new, 32, err));
    for (uint32_t k = 0; k < type->n_partitions; k++) ZK_GOTO(make_partition(&r->vanilla_proofs[k], &s, k, err));
    *out = r;
    r = NULL;
out:
    for (int i = 0; i < ZK_UPDATE_N_TREES; i++) tree_free(&s.tree[i]);
    zk_request_destroy(r);
    return status;
}
