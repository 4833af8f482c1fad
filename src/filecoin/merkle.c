#include "filecoin/merkle.h"

#include <string.h>

#include "filecoin/labels.h"
#include "hash/poseidon.h"

uint32_t zk_tree_index(const zk_opening_shape *shape, uint64_t leaf, uint32_t level) {
    for (uint32_t i = 0; i < level; i++) leaf /= zk_opening_arity(shape, i);
    return (uint32_t)(leaf % zk_opening_arity(shape, level));
}

cuzk_status zk_tree_root(uint8_t root[32], const zk_opening_shape *shape, const uint8_t leaf[32], const uint32_t *index,
                         const uint8_t (*siblings)[32], cuzk_err *err) {
    zk_fr node, children[8];
    if (!zk_fr_from_bytes_le(&node, leaf)) return ZK_FAIL(err, CUZK_BAD_INPUT, "the leaf is not a field element");
    for (uint32_t level = 0; level < shape->n_nodes; level++) {
        uint32_t arity = zk_opening_arity(shape, level);
        const zk_poseidon_params *params = zk_poseidon_get(arity);
        if (!params)
            return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "poseidon: no memory for the constants of arity %u", arity);
        for (uint32_t i = 0; i < arity; i++) {
            if (i == index[level])
                children[i] = node;
            else if (!zk_fr_from_bytes_le(&children[i], *siblings++))
                return ZK_FAIL(err, CUZK_BAD_INPUT, "level %u: child %u is not a field element", level, i);
        }
        zk_poseidon_hash(&node, params, children);
    }
    zk_fr_to_bytes_le(root, &node);
    return CUZK_OK;
}

#define BATCH 8 /* paths side by side */

/* A node's children. False: one is no field element, or the index is too high. */
static bool gather_children(zk_fr *children, uint32_t arity, const zk_fr *node, uint32_t index,
                            const uint8_t (*siblings)[32]) {
    if (index >= arity) return false;
    for (uint32_t i = 0; i < arity; i++) {
        if (i == index)
            children[i] = *node;
        else if (!zk_fr_from_bytes_le(&children[i], *siblings++))
            return false;
    }
    return true;
}

static void roots_of_batch(zk_tree_path *paths, size_t n, const zk_opening_shape *shape) {
    zk_fr node[BATCH], children[BATCH * 8];
    size_t live[BATCH], n_live = 0, n_siblings = 0; /* live: which path node[i] is of */
    for (size_t k = 0; k < n; k++)
        if (zk_fr_from_bytes_le(&node[n_live], paths[k].leaf)) live[n_live++] = k;
    for (uint32_t level = 0; level < shape->n_nodes; level++) {
        uint32_t arity = zk_opening_arity(shape, level);
        const zk_poseidon_params *params = zk_poseidon_get(arity);
        if (!params) return;
        size_t kept = 0;
        for (size_t i = 0; i < n_live; i++) {
            const zk_tree_path *path = &paths[live[i]];
            if (!gather_children(children + kept * arity, arity, &node[i], path->index[level],
                                 path->siblings + n_siblings))
                continue;
            live[kept++] = live[i];
        }
        n_live = kept;
        zk_poseidon_hash_many(node, params, children, n_live);
        n_siblings += arity - 1;
    }
    for (size_t i = 0; i < n_live; i++) {
        zk_fr_to_bytes_le(paths[live[i]].root, &node[i]);
        paths[live[i]].known = true;
    }
}

void zk_tree_roots(zk_tree_path *paths, size_t n, const zk_opening_shape *shape) {
    for (size_t k = 0; k < n; k++) paths[k].known = false;
    for (size_t k = 0; k < n; k += BATCH) roots_of_batch(paths + k, n - k < BATCH ? n - k : BATCH, shape);
}

cuzk_status zk_tree_path_root(uint8_t root[32], const zk_tree_path *path, const zk_opening_shape *shape,
                              cuzk_err *err) {
    if (!path->known) return zk_tree_root(root, shape, path->leaf, path->index, path->siblings, err);
    memcpy(root, path->root, 32);
    return CUZK_OK;
}

cuzk_status zk_comm_r(uint8_t comm_r[32], const uint8_t comm_c[32], const uint8_t comm_r_last[32], cuzk_err *err) {
    const zk_poseidon_params *params = zk_poseidon_get(2);
    zk_fr in[2], out;
    if (!params) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "poseidon: no memory for the constants of arity 2");
    if (!zk_fr_from_bytes_le(&in[0], comm_c)) return ZK_FAIL(err, CUZK_BAD_INPUT, "comm_c is not a field element");
    if (!zk_fr_from_bytes_le(&in[1], comm_r_last))
        return ZK_FAIL(err, CUZK_BAD_INPUT, "comm_r_last is not a field element");
    zk_poseidon_hash(&out, params, in);
    zk_fr_to_bytes_le(comm_r, &out);
    return CUZK_OK;
}

void zk_data_tree_root(uint8_t root[32], uint32_t n_levels, const uint8_t leaf[32], const uint32_t *index,
                       const uint8_t (*siblings)[32]) {
    memcpy(root, leaf, 32);
    for (uint32_t level = 0; level < n_levels; level++)
        zk_data_node(root, index[level] == 0 ? root : siblings[level], index[level] == 0 ? siblings[level] : root);
}
