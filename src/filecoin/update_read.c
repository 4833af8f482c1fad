/* Vanilla proofs of sector updates as bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/update.h"

uint32_t zk_update_tree_n_levels(const zk_update_shape *shape, zk_update_tree tree) {
    return tree == ZK_UPDATE_DATA ? shape->node_bits : shape->tree.n_nodes;
}

uint32_t zk_update_tree_arity(const zk_update_shape *shape, zk_update_tree tree, uint32_t level) {
    return tree == ZK_UPDATE_DATA ? 2 : zk_opening_arity(&shape->tree, level);
}

/* Nodes of one opening: root, leaf, siblings. */
static size_t n_nodes_of(const zk_update_shape *shape, zk_update_tree tree) {
    return 2 + (tree == ZK_UPDATE_DATA ? shape->node_bits : shape->tree.n_siblings);
}

static size_t n_nodes_per_challenge(const zk_update_shape *shape) {
    return n_nodes_of(shape, ZK_UPDATE_DATA) + 2 * n_nodes_of(shape, ZK_UPDATE_OLD);
}

static size_t n_levels_per_challenge(const zk_update_shape *shape) {
    return shape->node_bits + 2 * (size_t)shape->tree.n_nodes;
}

cuzk_status zk_update_proof_alloc(zk_update_proof *proof, const zk_update_shape *shape, cuzk_err *err) {
    size_t n_nodes = ((size_t)1 << shape->apex_bits) + shape->n_challenges * n_nodes_per_challenge(shape);
    memset(proof, 0, sizeof *proof);
    proof->nodes = zk_malloc(n_nodes * sizeof *proof->nodes);
    proof->index = zk_malloc(shape->n_challenges * n_levels_per_challenge(shape) * sizeof *proof->index);
    if (proof->nodes && proof->index) return CUZK_OK;
    zk_update_proof_free(proof);
    return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a partition proof of %zu nodes", n_nodes);
}

void zk_update_proof_free(zk_update_proof *proof) {
    free(proof->nodes);
    free(proof->index);
    memset(proof, 0, sizeof *proof);
}

zk_opening_view zk_update_proof_path(const zk_update_proof *proof, const zk_update_shape *shape, uint32_t challenge,
                                     zk_update_tree tree) {
    uint8_t(*nodes)[32] = proof->nodes + ((size_t)1 << shape->apex_bits) + challenge * n_nodes_per_challenge(shape);
    uint32_t *index = proof->index + challenge * n_levels_per_challenge(shape);
    for (unsigned t = 0; t < (unsigned)tree; t++) {
        nodes += n_nodes_of(shape, (zk_update_tree)t);
        index += zk_update_tree_n_levels(shape, (zk_update_tree)t);
    }
    return (zk_opening_view){.root = nodes[0], .leaf = nodes[1], .siblings = nodes + 2, .index = index};
}

/* ---- bytes ---- */

static zk_opening_parts parts_of(const zk_update_shape *shape, unsigned tree) {
    return tree == ZK_UPDATE_DATA ? zk_opening_parts_binary(shape->node_bits) : zk_opening_parts_of(&shape->tree);
}

size_t zk_update_proof_n_bytes(const zk_update_shape *shape) {
    size_t n = 32 + 8 + ((size_t)32 << shape->apex_bits) + 8;
    for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++) {
        zk_opening_parts parts = parts_of(shape, t);
        n += shape->n_challenges * zk_opening_n_bytes(&parts);
    }
    return n;
}

cuzk_status zk_update_proof_read(zk_update_proof *proof, const zk_update_shape *shape, const uint8_t *bytes, size_t n,
                                 cuzk_err *err) {
    static const char *const names[] = {"proof_r_old", "proof_d_new", "proof_r_new"};
    zk_bincode r;
    uint64_t n_apex = (uint64_t)1 << shape->apex_bits, value = 0;
    ZK_TRY(zk_update_proof_alloc(proof, shape, err));
    zk_bincode_init(&r, bytes, n, err);
    ZK_TRY(zk_bincode_node(proof->comm_c, &r, "comm_c"));
    ZK_TRY(zk_bincode_u64(&value, &r, n_apex, n_apex, "number of apex leaves"));
    for (uint32_t i = 0; i < n_apex; i++) {
        zk_bincode_enter(&r, "apex_leafs", i);
        ZK_TRY(zk_bincode_node(proof->nodes[i], &r, "hash"));
        zk_bincode_leave(&r);
    }
    ZK_TRY(zk_bincode_u64(&value, &r, shape->n_challenges, shape->n_challenges, "number of challenge proofs"));
    for (uint32_t i = 0; i < shape->n_challenges; i++) {
        zk_bincode_enter(&r, "challenge_proofs", i);
        for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++) {
            zk_opening_view to = zk_update_proof_path(proof, shape, i, (zk_update_tree)t);
            zk_opening_parts parts = parts_of(shape, t);
            zk_bincode_enter(&r, names[t], ZK_BINCODE_NO_INDEX);
            ZK_TRY(zk_opening_read(&to, &r, &parts));
            zk_bincode_leave(&r);
        }
        zk_bincode_leave(&r);
    }
    return zk_bincode_end(&r);
}

void zk_update_proof_write(uint8_t *bytes, const zk_update_shape *shape, const zk_update_proof *proof) {
    size_t n_apex = (size_t)1 << shape->apex_bits;
    memcpy(bytes, proof->comm_c, 32);
    zk_store_le64(bytes + 32, n_apex);
    memcpy(bytes + 40, proof->nodes, 32 * n_apex);
    bytes += 40 + 32 * n_apex;
    zk_store_le64(bytes, shape->n_challenges);
    bytes += 8;
    for (uint32_t i = 0; i < shape->n_challenges; i++)
        for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++) {
            zk_opening_view from = zk_update_proof_path(proof, shape, i, (zk_update_tree)t);
            zk_opening_parts parts = parts_of(shape, t);
            bytes = zk_opening_write(bytes, &parts, &from);
        }
}
