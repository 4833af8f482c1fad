#include "circuit/update.h"

#include <string.h>

#include "circuit/num.h"
#include "circuit/poseidon.h"
#include "circuit/sha256.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

#define MAX_APEX_LEAVES 128
#define MAX_PARTITION_BITS 4
#define MAX_SIBLINGS (7 * ZK_OPENING_MAX_NODES)

cuzk_status zk_update_shape_get(zk_update_shape *shape, uint64_t sector_bytes, cuzk_err *err) {
    static const uint32_t large_hs[ZK_UPDATE_N_HS] = {7, 8, 9, 10, 11, 12},
                          small_hs[ZK_UPDATE_N_HS] = {1, 1, 1, 1, 1, 1};
    zk_update_shape s = {.sector_bytes = sector_bytes};
    if (sector_bytes == KIB * MIB || zk_opening_shape_get(&s.tree, sector_bytes, NULL) != CUZK_OK)
        return ZK_FAIL(
            err, CUZK_UNSUPPORTED,
            "sector size %llu: there are update circuits for 2, 4, 16, 32 KiB, 8, 16, 512 MiB, 32 and 64 GiB",
            (unsigned long long)sector_bytes);
    bool tiny = sector_bytes <= 8 * KIB, small = sector_bytes <= 32 * KIB, middle = sector_bytes <= 16 * MIB;
    for (uint64_t n = sector_bytes / 32; n > 1; n /= 2) s.node_bits++;
    s.partition_bits = tiny ? 0 : small ? 1 : middle ? 2 : MAX_PARTITION_BITS;
    s.apex_bits = tiny ? 3 : 7;
    s.apex_height = s.node_bits - s.partition_bits - s.apex_bits;
    s.n_challenges = middle ? 10 : ZK_UPDATE_MAX_CHALLENGES;
    s.challenge_bits = s.node_bits - s.partition_bits;
    s.challenges_per_digest = ZK_NUM_PACK_BITS / s.challenge_bits;
    s.n_digests = (s.n_challenges + s.challenges_per_digest - 1) / s.challenges_per_digest;
    memcpy(s.hs, small ? small_hs : large_hs, sizeof s.hs);
    *shape = s;
    return CUZK_OK;
}

typedef struct walk {
    zk_synth s;
    zk_update_shape shape;
    zk_fr tag; /* of derived randomness */
    zk_cell comm_d_new, comm_r_new, comm_r_last_old, comm_r_last_new, phi;
    zk_cell partition;
    zk_cell select_bits[MAX_PARTITION_BITS + ZK_UPDATE_N_HS]; /* of the partition's number, then of the choice of h */
    zk_cell apex_leaves[MAX_APEX_LEAVES];
    /* Of each challenge, least significant first; the bits of the partition's number are on top. */
    zk_cell challenges[ZK_UPDATE_MAX_CHALLENGES][ZK_UPDATE_MAX_NODE_BITS];
} walk;

static zk_cell alloc(zk_synth *s, const uint8_t *value) {
    zk_cell cell = 0;
    zk_synth_hint(s, value);
    zk_synth_alloc(s, &cell, 1);
    return cell;
}

static zk_cell alloc_public(zk_synth *s, const uint8_t *value) {
    zk_synth_hint(s, value);
    return zk_synth_alloc_input(s);
}

static zk_cell derive(walk *w, zk_cell a, zk_cell b) {
    return zk_synth_poseidon_tagged(&w->s, (zk_cell[2]){a, b}, 2, &w->tag);
}

/* Path in the binary data tree from a node up, with the siblings as they were allocated. */
static zk_cell data_path(zk_synth *s, zk_cell node, const zk_cell *bits, const zk_cell *siblings, uint32_t n_levels) {
    for (uint32_t i = 0; i < n_levels; i++) {
        zk_cell children[2] = {0};
        zk_synth_insert(s, children, 2, bits + i, node, siblings + i);
        node = zk_synth_data_node(s, children);
    }
    return node;
}

static void replica_opening(walk *w, const zk_cell *bits, const uint8_t (*values)[32], zk_cell leaf, zk_cell root) {
    zk_synth *s = &w->s;
    const zk_opening_shape *tree = &w->shape.tree;
    zk_cell siblings[MAX_SIBLINGS] = {0}, *next = siblings, node = leaf;
    zk_synth_hints(s, values, tree->n_siblings);
    zk_synth_alloc(s, siblings, tree->n_siblings);
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        zk_cell children[8] = {0};
        uint32_t arity = zk_opening_arity(tree, i);
        zk_synth_insert(s, children, arity, bits, node, next);
        node = zk_synth_poseidon(s, children, arity);
        bits += arity == 8 ? 3 : 1;
        next += arity - 1;
    }
    zk_synth_equal(s, node, root);
}

/* The tree over the apex leaves, and the path from its root to comm_d_new. */
static void apex_tree(walk *w, const zk_cell *partition_path) {
    zk_synth *s = &w->s;
    zk_cell row[MAX_APEX_LEAVES];
    memcpy(row, w->apex_leaves, sizeof row);
    for (uint32_t n = 1u << w->shape.apex_bits; n > 1; n /= 2)
        for (uint32_t i = 0; i < n / 2; i++) row[i] = zk_synth_data_node(s, row + 2 * (size_t)i);
    zk_cell root = data_path(s, row[0], w->select_bits, partition_path, w->shape.partition_bits);
    zk_synth_equal(s, root, w->comm_d_new);
}

static void derive_challenges(walk *w) {
    zk_synth *s = &w->s;
    const zk_update_shape *shape = &w->shape;
    for (uint32_t j = 0, i = 0; j < shape->n_digests; j++) {
        zk_cell digest = derive(w, w->comm_r_new, zk_synth_affine(s, shape->n_digests, w->partition, j));
        zk_cell bits[ZK_NUM_BITS] = {0};
        zk_synth_split(s, bits, ZK_NUM_BITS, digest);
        for (uint32_t k = 0; k < shape->challenges_per_digest && i < shape->n_challenges; k++, i++) {
            memcpy(w->challenges[i], bits + k * shape->challenge_bits, shape->challenge_bits * sizeof *bits);
            memcpy(w->challenges[i] + shape->challenge_bits, w->select_bits, shape->partition_bits * sizeof *bits);
        }
    }
}

/* The high bits of a node's number, as many as the chosen h says. */
static zk_cell high_bits(walk *w, const zk_cell *node_bits) {
    zk_synth *s = &w->s;
    zk_cell chosen_or_zero[ZK_UPDATE_N_HS];
    for (uint32_t i = 0; i < ZK_UPDATE_N_HS; i++) {
        uint32_t h = w->shape.hs[i];
        zk_cell high = zk_synth_pack(s, node_bits + (w->shape.node_bits - h), h);
        chosen_or_zero[i] = zk_synth_mul(s, high, w->select_bits[w->shape.partition_bits + i]);
    }
    return zk_synth_sum(s, chosen_or_zero, ZK_UPDATE_N_HS);
}

static void opening(walk *w, uint32_t number, const zk_update_opening *v) {
    zk_synth *s = &w->s;
    const zk_update_shape *shape = &w->shape;
    const zk_cell *bits = w->challenges[number];
    zk_cell rho = derive(w, w->phi, high_bits(w, bits));
    zk_cell old_leaf = alloc(s, v ? v->old_leaf : NULL);
    zk_cell data_leaf = alloc(s, v ? v->data_leaf : NULL);
    zk_cell new_leaf = zk_synth_add(s, old_leaf, zk_synth_mul(s, data_leaf, rho));
    replica_opening(w, bits, v ? v->old_siblings : NULL, old_leaf, w->comm_r_last_old);
    replica_opening(w, bits, v ? v->new_siblings : NULL, new_leaf, w->comm_r_last_new);
    zk_cell apex_leaf = zk_synth_select(s, w->apex_leaves, bits + shape->apex_height, shape->apex_bits);
    zk_cell siblings[ZK_UPDATE_MAX_NODE_BITS] = {0};
    zk_synth_hints(s, v ? v->data_siblings : NULL, shape->apex_height);
    zk_synth_alloc(s, siblings, shape->apex_height);
    zk_synth_equal(s, data_path(s, data_leaf, bits, siblings, shape->apex_height), apex_leaf);
}

/* comm_r is the hash of comm_c and the root of the replica tree. */
static void commitment(zk_synth *s, zk_cell comm_c, zk_cell comm_r_last, zk_cell comm_r) {
    zk_synth_equal(s, zk_synth_poseidon(s, (zk_cell[2]){comm_c, comm_r_last}, 2), comm_r);
}

static void partition(walk *w, const zk_update_partition *v) {
    zk_synth *s = &w->s;
    const zk_update_shape *shape = &w->shape;
    zk_fr_from_u64(&w->tag, ZK_UPDATE_RANDOMNESS_TAG);
    zk_synth_hint_u64(s, v ? v->k_and_h_select : 0);
    zk_cell k_and_h_select = zk_synth_alloc_input(s);
    zk_synth_split(s, w->select_bits, shape->partition_bits + ZK_UPDATE_N_HS, k_and_h_select);
    w->partition = zk_synth_pack(s, w->select_bits, shape->partition_bits);
    zk_cell comm_r_old = alloc_public(s, v ? v->comm_r_old : NULL);
    w->comm_d_new = alloc_public(s, v ? v->comm_d_new : NULL);
    w->comm_r_new = alloc_public(s, v ? v->comm_r_new : NULL);
    w->phi = derive(w, w->comm_d_new, comm_r_old);
    zk_cell comm_c = alloc(s, v ? v->comm_c : NULL), partition_path[MAX_PARTITION_BITS] = {0};
    w->comm_r_last_old = alloc(s, v ? v->comm_r_last_old : NULL);
    w->comm_r_last_new = alloc(s, v ? v->comm_r_last_new : NULL);
    zk_synth_hints(s, v ? v->apex_leaves : NULL, (size_t)1 << shape->apex_bits);
    zk_synth_alloc(s, w->apex_leaves, 1u << shape->apex_bits);
    zk_synth_hints(s, v ? v->partition_path : NULL, shape->partition_bits);
    zk_synth_alloc(s, partition_path, shape->partition_bits);
    commitment(s, comm_c, w->comm_r_last_old, comm_r_old);
    commitment(s, comm_c, w->comm_r_last_new, w->comm_r_new);
    apex_tree(w, partition_path);
    derive_challenges(w);
    for (uint32_t i = 0; i < shape->n_challenges; i++) opening(w, i, v ? &v->openings[i] : NULL);
}

cuzk_status zk_update_program(struct zk_program **program, uint64_t sector_bytes, cuzk_err *err) {
    *program = NULL;
    walk w = {.s = {0}};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_update_shape_get(&w.shape, sector_bytes, err));
    ZK_GOTO(zk_builder_create(&w.s.builder, "update", err));
    partition(&w, NULL);
    ZK_GOTO(zk_synth_finish_program(program, &w.s, err));
out:
    zk_builder_destroy(w.s.builder);
    return status;
}

cuzk_status zk_update_hints(uint8_t (*hints)[32], size_t n_hints, uint64_t sector_bytes,
                            const zk_update_partition *values, cuzk_err *err) {
    walk w = {.s = {.hints = hints, .max_hints = n_hints}};
    ZK_TRY(zk_update_shape_get(&w.shape, sector_bytes, err));
    partition(&w, values);
    return zk_synth_finish_hints(&w.s, err);
}
