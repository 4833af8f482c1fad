#include "filecoin/c1.h"

#include <string.h>

#include "base/alloc.h"
#include "filecoin/c1_impl.h"

#define N_PARENT_LABELS(layer) ((layer) == 0 ? ZK_DRG_PARENTS : ZK_ALL_PARENTS)

cuzk_status zk_c1_shape_get(zk_c1_shape *s, const zk_registered_seal *seal, cuzk_err *err) {
    memset(s, 0, sizeof *s);
    ZK_TRY(zk_opening_shape_get(&s->tree, seal->sector_bytes, err));
    s->sector_bytes = seal->sector_bytes;
    s->n_nodes = seal->sector_bytes / 32;
    s->n_challenges = seal->n_challenges;
    s->n_layers = seal->n_layers;
    s->n_data_nodes = 63 - (uint32_t)__builtin_clzll(s->n_nodes);
    uint32_t n_columns = 1 + ZK_ALL_PARENTS, n_labelings = s->n_layers + 1;
    s->nodes_per_challenge = 2 + s->n_data_nodes + 2 + s->tree.n_siblings +
                             n_columns * (s->n_layers + 2 + s->tree.n_siblings) + ZK_DRG_PARENTS +
                             s->n_layers * ZK_ALL_PARENTS;
    s->numbers_per_challenge = s->n_data_nodes + s->tree.n_nodes + n_columns * (1 + s->tree.n_nodes) + 2 * n_labelings;
    return CUZK_OK;
}

static uint64_t partition_bytes(const zk_c1_shape *s) {
    return (uint64_t)s->n_challenges *
           (32ull * s->nodes_per_challenge + 4ull * s->numbers_per_challenge + 8ull * (s->n_layers + 1));
}

cuzk_status zk_c1_add_partition(zk_c1 *c1, cuzk_err *err) {
    const zk_c1_shape *s = &c1->shape;
    zk_c1_partition *grown = zk_realloc(c1->partitions, (c1->n_partitions + 1) * sizeof *grown);
    if (grown) c1->partitions = grown;
    uint8_t *block = grown ? zk_malloc(partition_bytes(s)) : NULL;
    if (!block)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "c1: no memory for partition %u (%llu bytes)", c1->n_partitions,
                       (unsigned long long)partition_bytes(s));
    zk_c1_partition *p = &c1->partitions[c1->n_partitions++];
    p->places = (uint64_t *)(void *)block;
    p->nodes = (zk_node *)(block + 8ull * s->n_challenges * (s->n_layers + 1));
    p->numbers = (uint32_t *)(void *)((uint8_t *)p->nodes + 32ull * s->n_challenges * s->nodes_per_challenge);
    return CUZK_OK;
}

void zk_c1_destroy(zk_c1 *c1) {
    if (!c1) return;
    for (uint32_t i = 0; i < c1->n_partitions; i++) free(c1->partitions[i].places);
    free(c1->partitions);
    free(c1);
}

/* Where the next view starts. */
typedef struct cursor {
    zk_node *nodes;
    uint32_t *numbers;
    uint64_t *places;
} cursor;

static void take_path(zk_c1_path *path, cursor *at, uint32_t n_nodes, uint32_t n_siblings) {
    path->root = at->nodes++;
    path->leaf = at->nodes++;
    path->siblings = at->nodes;
    at->nodes += n_siblings;
    path->index = at->numbers;
    at->numbers += n_nodes;
}

static void take_column(zk_c1_column *column, cursor *at, const zk_c1_shape *s) {
    column->node = at->numbers++;
    column->labels = at->nodes;
    at->nodes += s->n_layers;
    take_path(&column->path, at, s->tree.n_nodes, s->tree.n_siblings);
}

static void take_labeling(zk_c1_labeling *labeling, cursor *at, uint32_t n_parents) {
    labeling->parents = at->nodes;
    labeling->n_parents = n_parents;
    at->nodes += n_parents;
    labeling->layer = at->numbers++;
    labeling->mismatch = at->numbers++;
    labeling->node = at->places++;
}

void zk_c1_challenge_get(zk_c1_challenge *view, const zk_c1 *c1, uint32_t partition, uint32_t challenge) {
    const zk_c1_shape *s = &c1->shape;
    const zk_c1_partition *p = &c1->partitions[partition];
    cursor at = {p->nodes + (size_t)challenge * s->nodes_per_challenge,
                 p->numbers + (size_t)challenge * s->numbers_per_challenge,
                 p->places + (size_t)challenge * (s->n_layers + 1)};
    take_path(&view->data, &at, s->n_data_nodes, s->n_data_nodes);
    take_path(&view->replica, &at, s->tree.n_nodes, s->tree.n_siblings);
    take_column(&view->column, &at, s);
    for (unsigned i = 0; i < ZK_ALL_PARENTS; i++) take_column(&view->parents[i], &at, s);
    for (unsigned i = 0; i < s->n_layers; i++) take_labeling(&view->labeling[i], &at, N_PARENT_LABELS(i));
    take_labeling(&view->encoding, &at, N_PARENT_LABELS(s->n_layers - 1));
}
