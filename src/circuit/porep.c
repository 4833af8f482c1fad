#include "circuit/porep.h"

#include <string.h>

#include "circuit/num.h"
#include "circuit/poseidon.h"
#include "circuit/sha256.h"

#define LABEL_PARENTS 37 /* parents in the hash of a label, repeated */

cuzk_status zk_porep_shape_get(zk_porep_shape *shape, uint64_t sector_bytes, cuzk_err *err) {
    bool large = sector_bytes >= UINT64_C(1) << 35;
    zk_porep_shape s = {.sector_bytes = sector_bytes,
                        .n_leaves = sector_bytes / 32,
                        .n_layers = large ? 11 : 2,
                        .n_challenges = large ? 18 : 2};
    ZK_TRY(zk_opening_shape_get(&s.tree, sector_bytes, err));
    for (uint64_t n = s.n_leaves; n > 1; n /= 2) s.n_data_nodes++;
    *shape = s;
    return CUZK_OK;
}

typedef struct walk {
    zk_synth s;
    zk_porep_shape shape;
    zk_cell comm_d, comm_c, comm_r_last;
    zk_cell replica_id[256];
} walk;

/* Opens `leaf` under comm_d in the binary tree D; the leaf's index becomes a public input. path is NULL while building.
 */
static void data_inclusion(walk *w, const zk_porep_path *path, zk_cell leaf) {
    zk_synth *s = &w->s;
    zk_cell bits[ZK_POREP_MAX_PATH], children[2], cur = leaf;
    uint32_t n_nodes = w->shape.n_data_nodes;
    for (uint32_t i = 0; i < n_nodes; i++) {
        zk_synth_hint_u64(s, path ? path->index[i] : 0);
        zk_synth_hints(s, path ? path->siblings + i : NULL, 1);
        zk_synth_merkle_node(s, bits + i, children, 2, cur);
        cur = zk_synth_data_node(s, children);
    }
    zk_synth_pack_input(s, bits, n_nodes);
    zk_synth_equal(s, cur, w->comm_d);
}

/* The same in tree C or R. */
static void inclusion(walk *w, const zk_porep_path *path, zk_cell root, zk_cell leaf) {
    zk_synth_opening(&w->s, &w->shape.tree, path ? path->index : NULL, path ? path->siblings : NULL, root, leaf);
}

/* Label of the challenged node in one layer from its parents' labels. */
static zk_cell create_label(walk *w, uint32_t layer, const zk_cell challenge[64], zk_cell (*parents)[256],
                            size_t n_parents) {
    zk_synth *s = &w->s;
    zk_cell bits[256 * (2 + LABEL_PARENTS)], digest[256];
    zk_cell *to = bits;
    memcpy(to, w->replica_id, sizeof w->replica_id);
    to += 256;
    for (int i = 0; i < 32; i++) *to++ = layer >> (31 - i) & 1 ? ZK_CELL_TRUE : ZK_CELL_FALSE;
    for (int i = 0; i < 64; i++) *to++ = challenge[63 - i];
    for (int i = 0; i < 160; i++) *to++ = ZK_CELL_FALSE;
    for (size_t i = 0; i < LABEL_PARENTS; i++, to += 256) memcpy(to, parents[i % n_parents], sizeof *parents);
    zk_synth_sha256(s, digest, bits, sizeof bits / sizeof *bits);
    zk_cells_swap_bytes(digest, digest, 256);
    return zk_synth_pack(s, digest, ZK_NUM_PACK_BITS);
}

/* All layers' labels of the challenged node. columns[parent][layer]: labels of its parents. */
static void label_layers(walk *w, zk_cell *labels, const zk_cell challenge[64],
                         zk_cell (*columns)[ZK_POREP_MAX_LAYERS]) {
    zk_synth *s = &w->s;
    if (!s->builder) return;
    zk_cell parents[ZK_POREP_PARENTS][256];
    for (uint32_t layer = 1; layer <= w->shape.n_layers; layer++) {
        size_t n = layer > 1 ? ZK_POREP_PARENTS : ZK_POREP_DRG_PARENTS;
        for (size_t i = 0; i < n; i++) {
            /* Expander parents are nodes of the layer before. */
            zk_synth_to_bits(s, parents[i], columns[i][layer - 1 - (i >= ZK_POREP_DRG_PARENTS)]);
            zk_cells_swap_bytes(parents[i], parents[i], ZK_NUM_BITS);
        }
        labels[layer - 1] = create_label(w, layer, challenge, parents, n);
    }
}

static void challenge(walk *w, const zk_porep_challenge *v) {
    zk_synth *s = &w->s;
    uint32_t n_layers = w->shape.n_layers;
    zk_cell data, columns[ZK_POREP_PARENTS][ZK_POREP_MAX_LAYERS] = {{0}}, index[64] = {0};
    zk_cell labels[ZK_POREP_MAX_LAYERS] = {0};
    zk_synth_hint(s, v ? v->data_leaf : NULL);
    zk_synth_alloc(s, &data, 1);
    data_inclusion(w, v ? &v->data_path : NULL, data);
    for (int i = 0; i < ZK_POREP_PARENTS; i++) {
        zk_synth_hints(s, v ? v->parents[i].labels : NULL, n_layers);
        zk_synth_alloc(s, columns[i], n_layers);
        zk_cell hash = zk_synth_poseidon(s, columns[i], n_layers);
        inclusion(w, v ? &v->parents[i].path : NULL, w->comm_c, hash);
    }
    zk_synth_hint_u64(s, v ? v->challenge : 0);
    zk_synth_u64_input(s, index);
    label_layers(w, labels, index, columns);
    zk_cell encoded = zk_synth_add(s, labels[n_layers - 1], data);
    inclusion(w, v ? &v->replica_path : NULL, w->comm_r_last, encoded);
    zk_cell hash = zk_synth_poseidon(s, labels, n_layers);
    inclusion(w, v ? &v->column_path : NULL, w->comm_c, hash);
}

static void partition(walk *w, const zk_porep_partition *v) {
    zk_synth *s = &w->s;
    zk_synth_hint(s, v ? v->replica_id : NULL);
    zk_cell replica_id = zk_synth_alloc_input(s);
    zk_synth_to_bits(s, w->replica_id, replica_id);
    if (s->builder) zk_cells_swap_bytes(w->replica_id, w->replica_id, ZK_NUM_BITS);
    zk_synth_hint(s, v ? v->comm_d : NULL);
    w->comm_d = zk_synth_alloc_input(s);
    zk_synth_hint(s, v ? v->comm_r : NULL);
    zk_cell comm_r = zk_synth_alloc_input(s);
    zk_synth_hint(s, v ? v->comm_r_last : NULL);
    zk_synth_alloc(s, &w->comm_r_last, 1);
    zk_synth_hint(s, v ? v->comm_c : NULL);
    zk_synth_alloc(s, &w->comm_c, 1);
    zk_cell hash = zk_synth_poseidon(s, (zk_cell[2]){w->comm_c, w->comm_r_last}, 2);
    zk_synth_equal(s, comm_r, hash);
    for (uint32_t i = 0; i < w->shape.n_challenges; i++) challenge(w, v ? &v->challenges[i] : NULL);
}

cuzk_status zk_porep_program(zk_program **program, uint64_t sector_bytes, cuzk_err *err) {
    *program = NULL;
    walk w = {.s = {0}};
    cuzk_status status = CUZK_OK;
    ZK_GOTO(zk_porep_shape_get(&w.shape, sector_bytes, err));
    ZK_GOTO(zk_builder_create(&w.s.builder, "porep", err));
    partition(&w, NULL);
    ZK_GOTO(zk_synth_finish_program(program, &w.s, err));
out:
    zk_builder_destroy(w.s.builder);
    return status;
}

cuzk_status zk_porep_hints(uint8_t (*hints)[32], size_t n_hints, uint64_t sector_bytes,
                           const zk_porep_partition *values, cuzk_err *err) {
    walk w = {.s = {.hints = hints, .max_hints = n_hints}};
    ZK_TRY(zk_porep_shape_get(&w.shape, sector_bytes, err));
    partition(&w, values);
    return zk_synth_finish_hints(&w.s, err);
}
