/* Vanilla proofs of sector updates as bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/bincode.h"
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

zk_update_path zk_update_proof_path(const zk_update_proof *proof, const zk_update_shape *shape, uint32_t challenge,
                                    zk_update_tree tree) {
    uint8_t(*nodes)[32] = proof->nodes + ((size_t)1 << shape->apex_bits) + challenge * n_nodes_per_challenge(shape);
    uint32_t *index = proof->index + challenge * n_levels_per_challenge(shape);
    for (unsigned t = 0; t < (unsigned)tree; t++) {
        nodes += n_nodes_of(shape, (zk_update_tree)t);
        index += zk_update_tree_n_levels(shape, (zk_update_tree)t);
    }
    return (zk_update_path){.root = nodes[0], .leaf = nodes[1], .siblings = nodes + 2, .index = index};
}

/* ---- the parts of an opening's path: base, sub, top ---- */

typedef struct part {
    const char *name;
    uint32_t first, n_levels;
} part;

/* How many there are; the tag is one less. */
static uint32_t parts_of(part parts[3], const zk_update_shape *shape, zk_update_tree tree) {
    static const char *const names[] = {"base", "sub", "top"};
    uint32_t n_levels = zk_update_tree_n_levels(shape, tree);
    uint32_t n_base = tree == ZK_UPDATE_DATA ? n_levels : shape->tree.n_base, n = 1;
    parts[0] = (part){names[0], 0, n_base};
    for (uint32_t level = n_base; level < n_levels; level++, n++) parts[n] = (part){names[n], level, 1};
    return n;
}

size_t zk_update_proof_n_bytes(const zk_update_shape *shape) {
    size_t n = 32 + 8 + ((size_t)32 << shape->apex_bits) + 8;
    for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++) {
        zk_update_tree tree = (zk_update_tree)t;
        part parts[3];
        size_t n_paths = parts_of(parts, shape, tree), n_levels = zk_update_tree_n_levels(shape, tree);
        n += shape->n_challenges * (4 + 8 * n_paths + 16 * n_levels + 32 * n_nodes_of(shape, tree));
    }
    return n;
}

/* ---- reading ---- */

static cuzk_status read_part(zk_bincode *r, const zk_update_shape *shape, zk_update_tree tree, const part *p,
                             uint8_t (**siblings)[32], uint32_t *index) {
    uint64_t value = 0;
    zk_bincode_enter(r, p->name, ZK_BINCODE_NO_INDEX);
    ZK_TRY(zk_bincode_u64(&value, r, p->n_levels, p->n_levels, "number of levels"));
    zk_bincode_leave(r);
    for (uint32_t i = 0; i < p->n_levels; i++) {
        uint32_t arity = zk_update_tree_arity(shape, tree, p->first + i);
        zk_bincode_enter(r, p->name, i);
        ZK_TRY(zk_bincode_u64(&value, r, arity - 1, arity - 1, "number of hashes"));
        for (uint32_t k = 0; k + 1 < arity; k++) {
            zk_bincode_enter(r, "hashes", k);
            ZK_TRY(zk_bincode_node(*(*siblings)++, r, "sibling"));
            zk_bincode_leave(r);
        }
        ZK_TRY(zk_bincode_u64(&value, r, 0, arity - 1, "index"));
        index[p->first + i] = (uint32_t)value;
        zk_bincode_leave(r);
    }
    return CUZK_OK;
}

static cuzk_status read_opening(zk_bincode *r, const zk_update_shape *shape, zk_update_tree tree,
                                const zk_update_path *to) {
    part parts[3];
    uint32_t n_parts = parts_of(parts, shape, tree), tag = 0;
    uint8_t(*siblings)[32] = to->siblings;
    ZK_TRY(zk_bincode_u32(&tag, r, n_parts - 1, n_parts - 1, "variant"));
    for (uint32_t i = 0; i < n_parts && n_parts > 1; i++)
        ZK_TRY(read_part(r, shape, tree, &parts[i], &siblings, to->index));
    ZK_TRY(zk_bincode_node(to->root, r, "root"));
    ZK_TRY(zk_bincode_node(to->leaf, r, "leaf"));
    return n_parts > 1 ? CUZK_OK : read_part(r, shape, tree, &parts[0], &siblings, to->index);
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
            zk_update_path to = zk_update_proof_path(proof, shape, i, (zk_update_tree)t);
            zk_bincode_enter(&r, names[t], ZK_BINCODE_NO_INDEX);
            ZK_TRY(read_opening(&r, shape, (zk_update_tree)t, &to));
            zk_bincode_leave(&r);
        }
        zk_bincode_leave(&r);
    }
    return zk_bincode_end(&r);
}

/* ---- writing ---- */

static uint8_t *put_u64(uint8_t *to, uint64_t value) {
    zk_store_le64(to, value);
    return to + 8;
}

static uint8_t *put_nodes(uint8_t *to, const uint8_t (*nodes)[32], size_t n) {
    memcpy(to, nodes, 32 * n);
    return to + 32 * n;
}

static uint8_t *write_part(uint8_t *to, const zk_update_shape *shape, zk_update_tree tree, const part *p,
                           uint8_t (**siblings)[32], const uint32_t *index) {
    to = put_u64(to, p->n_levels);
    for (uint32_t i = 0; i < p->n_levels; i++) {
        uint32_t n = zk_update_tree_arity(shape, tree, p->first + i) - 1;
        to = put_u64(to, n);
        to = put_nodes(to, (const uint8_t(*)[32]) * siblings, n);
        to = put_u64(to, index[p->first + i]);
        *siblings += n;
    }
    return to;
}

static uint8_t *write_opening(uint8_t *to, const zk_update_shape *shape, zk_update_tree tree,
                              const zk_update_path *from) {
    part parts[3];
    uint32_t n_parts = parts_of(parts, shape, tree);
    uint8_t(*siblings)[32] = from->siblings;
    zk_store_le32(to, n_parts - 1);
    to += 4;
    for (uint32_t i = 0; i < n_parts && n_parts > 1; i++)
        to = write_part(to, shape, tree, &parts[i], &siblings, from->index);
    memcpy(to, from->root, 32);
    memcpy(to + 32, from->leaf, 32);
    to += 64;
    return n_parts > 1 ? to : write_part(to, shape, tree, &parts[0], &siblings, from->index);
}

void zk_update_proof_write(uint8_t *bytes, const zk_update_shape *shape, const zk_update_proof *proof) {
    size_t n_apex = (size_t)1 << shape->apex_bits;
    memcpy(bytes, proof->comm_c, 32);
    bytes = put_u64(bytes + 32, n_apex);
    bytes = put_nodes(bytes, (const uint8_t(*)[32])proof->nodes, n_apex);
    bytes = put_u64(bytes, shape->n_challenges);
    for (uint32_t i = 0; i < shape->n_challenges; i++)
        for (unsigned t = 0; t < ZK_UPDATE_N_TREES; t++) {
            zk_update_path from = zk_update_proof_path(proof, shape, i, (zk_update_tree)t);
            bytes = write_opening(bytes, shape, (zk_update_tree)t, &from);
        }
}
