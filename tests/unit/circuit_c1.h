/* A plain conversion of C1 JSON to what the circuit takes, without checks, for tests of the circuit alone. */
#ifndef CIRCUIT_C1_H
#define CIRCUIT_C1_H

#include "circuit_check.h"

typedef struct c1_values {
    zk_porep_partition partition;
    zk_porep_challenge *challenges;
    uint32_t n_challenges, n_layers;
} c1_values;

static inline uint8_t *c1_node(const zk_json_value *v) {
    uint8_t *node = malloc(32);
    cuzk_err err = {0};
    ZK_CHECK(node);
    ZK_CHECK_OK(zk_json_get_bytes(node, 32, v, "node", &err), err);
    return node;
}

static inline const zk_json_value *c1_proof_data(const zk_json_value *proof) {
    const zk_json_value *data = zk_json_member_of(proof, "data");
    ZK_CHECK(zk_json_count(data) == 1);
    return &data->members[0].value; /* Single, Sub or Top */
}

/* The parts of a path joined. */
static inline void c1_path(zk_porep_path *path, const zk_json_value *proof) {
    static const char *const parts[] = {NULL, "base_proof", "sub_proof", "top_proof"};
    const zk_json_value *data = c1_proof_data(proof);
    uint32_t *index = NULL;
    uint8_t(*siblings)[32] = NULL;
    size_t n = 0, n_siblings = 0;
    for (int part = 0; part < 4; part++) {
        const zk_json_value *at = parts[part] ? zk_json_member_of(data, parts[part]) : data;
        const zk_json_value *nodes = zk_json_member_of(at, "path");
        if (!parts[part] || nodes)
            nodes = nodes && nodes->kind == ZK_JSON_OBJECT_BEGIN ? zk_json_member_of(nodes, "path") : nodes;
        for (size_t i = 0; i < zk_json_count(nodes); i++) {
            const zk_json_value *node = zk_json_element_of(nodes, i), *hashes = zk_json_member_of(node, "hashes");
            index = realloc(index, (n + 1) * sizeof *index);
            siblings = realloc(siblings, (n_siblings + zk_json_count(hashes)) * sizeof *siblings);
            ZK_CHECK(index && siblings);
            index[n++] = (uint32_t)get_u64(node, "index");
            for (size_t k = 0; k < zk_json_count(hashes); k++) {
                cuzk_err err = {0};
                ZK_CHECK_OK(zk_json_get_bytes(siblings[n_siblings++], 32, zk_json_element_of(hashes, k), "hash", &err),
                            err);
            }
        }
    }
    path->index = index;
    path->siblings = (const uint8_t(*)[32])siblings;
}

static inline void c1_column(zk_porep_column *column, const zk_json_value *v) {
    const zk_json_value *rows = zk_json_member_of(zk_json_member_of(v, "column"), "rows");
    size_t n = zk_json_count(rows);
    uint8_t(*labels)[32] = malloc(n * 32);
    ZK_CHECK(labels);
    for (size_t i = 0; i < n; i++) {
        cuzk_err err = {0};
        ZK_CHECK_OK(zk_json_get_bytes(labels[i], 32, zk_json_element_of(rows, i), "label", &err), err);
    }
    column->labels = (const uint8_t(*)[32])labels;
    c1_path(&column->path, zk_json_member_of(v, "inclusion_proof"));
}

static inline void c1_challenge(zk_porep_challenge *c, const zk_json_value *v) {
    const zk_json_value *columns = zk_json_member_of(v, "replica_column_proofs");
    const zk_json_value *labels = zk_json_member_of(v, "labeling_proofs");
    c->challenge = get_u64(zk_json_element_of(labels, 0), "node");
    c->data_leaf = c1_node(zk_json_member_of(c1_proof_data(zk_json_member_of(v, "comm_d_proofs")), "leaf"));
    c1_path(&c->data_path, zk_json_member_of(v, "comm_d_proofs"));
    for (size_t i = 0; i < ZK_POREP_PARENTS; i++)
        c1_column(&c->parents[i],
                  i < ZK_POREP_DRG_PARENTS
                      ? zk_json_element_of(zk_json_member_of(columns, "drg_parents"), i)
                      : zk_json_element_of(zk_json_member_of(columns, "exp_parents"), i - ZK_POREP_DRG_PARENTS));
    c1_path(&c->replica_path, zk_json_member_of(v, "comm_r_last_proof"));
    c1_path(&c->column_path, zk_json_member_of(zk_json_member_of(columns, "c_x"), "inclusion_proof"));
}

static inline void c1_load(c1_values *r, const zk_json_value *c1, size_t partition) {
    const zk_json_value *proofs = zk_json_member_of(c1, "vanilla_proofs");
    ZK_CHECK(zk_json_count(proofs) == 1);
    const zk_json_value *list = zk_json_element_of(&proofs->members[0].value, partition);
    const zk_json_value *first = zk_json_element_of(list, 0);
    memset(r, 0, sizeof *r);
    r->n_challenges = (uint32_t)zk_json_count(list);
    r->challenges = calloc(r->n_challenges, sizeof *r->challenges);
    ZK_CHECK(r->challenges && r->n_challenges);
    for (uint32_t i = 0; i < r->n_challenges; i++) c1_challenge(&r->challenges[i], zk_json_element_of(list, i));
    r->partition.challenges = r->challenges;
    r->partition.replica_id = c1_node(zk_json_member_of(c1, "replica_id"));
    r->partition.comm_d = c1_node(zk_json_member_of(c1, "comm_d"));
    r->partition.comm_r = c1_node(zk_json_member_of(c1, "comm_r"));
    r->partition.comm_r_last =
        c1_node(zk_json_member_of(c1_proof_data(zk_json_member_of(first, "comm_r_last_proof")), "root"));
    const zk_json_value *c_x = zk_json_member_of(zk_json_member_of(first, "replica_column_proofs"), "c_x");
    r->partition.comm_c = c1_node(zk_json_member_of(c1_proof_data(zk_json_member_of(c_x, "inclusion_proof")), "root"));
}

static inline void c1_free_path(zk_porep_path *path) {
    free((void *)(uintptr_t)path->index);
    free((void *)(uintptr_t)path->siblings);
}

static inline void c1_free(c1_values *r) {
    for (uint32_t i = 0; i < r->n_challenges; i++) {
        zk_porep_challenge *c = &r->challenges[i];
        free((void *)(uintptr_t)c->data_leaf);
        c1_free_path(&c->data_path);
        c1_free_path(&c->replica_path);
        c1_free_path(&c->column_path);
        for (size_t k = 0; k < ZK_POREP_PARENTS; k++) {
            free((void *)(uintptr_t)c->parents[k].labels);
            c1_free_path(&c->parents[k].path);
        }
    }
    free(r->challenges);
    const uint8_t *nodes[] = {r->partition.replica_id, r->partition.comm_d, r->partition.comm_r,
                              r->partition.comm_r_last, r->partition.comm_c};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) free((void *)(uintptr_t)nodes[i]);
}

#endif
