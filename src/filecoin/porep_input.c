#include "filecoin/porep_input.h"

#include "base/alloc.h"

static zk_porep_path path_of(const zk_c1_path *path) {
    return (zk_porep_path){.index = path->index, .siblings = (const uint8_t(*)[32])path->siblings};
}

cuzk_status zk_porep_input_create(zk_porep_input **input, const zk_c1 *c1, uint32_t partition, cuzk_err *err) {
    uint32_t n = c1->shape.n_challenges;
    if (partition >= c1->n_partitions)
        return ZK_FAIL(err, CUZK_USAGE, "c1: partition %u asked, there are %u", partition, c1->n_partitions);
    zk_porep_input *in = zk_calloc(1, sizeof *in + n * sizeof in->challenges[0]);
    if (!in) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "c1: no memory for the inputs of partition %u", partition);
    for (uint32_t i = 0; i < n; i++) {
        zk_c1_challenge view;
        zk_porep_challenge *c = &in->challenges[i];
        zk_c1_challenge_get(&view, c1, partition, i);
        if (i == 0) {
            in->partition.comm_c = *view.column.path.root;
            in->partition.comm_r_last = *view.replica.root;
        }
        c->challenge = *view.column.node;
        c->data_leaf = *view.data.leaf;
        c->data_path = path_of(&view.data);
        for (unsigned k = 0; k < ZK_POREP_PARENTS; k++) {
            c->parents[k].labels = (const uint8_t(*)[32])view.parents[k].labels;
            c->parents[k].path = path_of(&view.parents[k].path);
        }
        c->replica_path = path_of(&view.replica);
        c->column_path = path_of(&view.column.path);
    }
    in->partition.replica_id = c1->replica_id;
    in->partition.comm_d = c1->comm_d;
    in->partition.comm_r = c1->comm_r;
    in->partition.challenges = in->challenges;
    *input = in;
    return CUZK_OK;
}
