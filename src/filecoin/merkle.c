#include "filecoin/merkle.h"

#include <string.h>

#include "filecoin/labels.h"
#include "hash/poseidon.h"

uint32_t zk_tree_n_levels(const zk_tree_shape *shape) {
    return shape->n_base + (shape->sub_arity != 0) + (shape->top_arity != 0);
}

uint32_t zk_tree_arity(const zk_tree_shape *shape, uint32_t level) {
    return level < shape->n_base ? 8 : level == shape->n_base ? shape->sub_arity : shape->top_arity;
}

uint32_t zk_tree_index(const zk_tree_shape *shape, uint64_t leaf, uint32_t level) {
    for (uint32_t i = 0; i < level; i++) leaf /= zk_tree_arity(shape, i);
    return (uint32_t)(leaf % zk_tree_arity(shape, level));
}

cuzk_status zk_tree_root(uint8_t root[32], const zk_tree_shape *shape, const uint8_t leaf[32], const uint32_t *index,
                         const uint8_t (*siblings)[32], cuzk_err *err) {
    zk_fr node, children[8];
    if (!zk_fr_from_bytes_le(&node, leaf)) return ZK_FAIL(err, CUZK_BAD_INPUT, "the leaf is not a field element");
    for (uint32_t level = 0; level < zk_tree_n_levels(shape); level++) {
        uint32_t arity = zk_tree_arity(shape, level);
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

void zk_data_tree_root(uint8_t root[32], uint32_t n_levels, const uint8_t leaf[32], const uint32_t *index,
                       const uint8_t (*siblings)[32]) {
    memcpy(root, leaf, 32);
    for (uint32_t level = 0; level < n_levels; level++)
        zk_data_node(root, index[level] == 0 ? root : siblings[level], index[level] == 0 ? siblings[level] : root);
}
