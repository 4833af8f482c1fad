#include "filecoin/vanilla.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "filecoin/challenges.h"
#include "filecoin/first_failure.h"
#include "filecoin/found_expected.h"
#include "filecoin/labels.h"
#include "filecoin/merkle.h"

static const struct {
    const char *name, *text;
} checks[] = {{"none", "all checks hold"},
#define X(name, text) {#name, text},
              ZK_VANILLA_CHECKS(X)
#undef X
};

const char *zk_vanilla_check_name(zk_vanilla_check check) {
    return check < sizeof checks / sizeof *checks ? checks[check].name : "unknown";
}

/* ---- Reporting ---- */

/* Where a check stands, filled in as the checks descend; only what applies is set. */
typedef struct place {
    zk_vanilla_failure at;
    uint64_t node; /* the challenged one, or of the column */
    cuzk_err *err;
} place;

static cuzk_status fail(place *p, zk_vanilla_check check, const char *found, const char *expected) {
    char where[160] = "";
    const zk_vanilla_failure *at = &p->at;
    int n = 0, size = (int)sizeof where;
    p->at.check = check;
#define PUT(...) n += n < size ? snprintf(where + n, (size_t)(size - n), __VA_ARGS__) : 0
    if (at->partition != ZK_VANILLA_NOWHERE) PUT("partition %u, ", at->partition);
    if (at->challenge != ZK_VANILLA_NOWHERE) PUT("challenge %u, ", at->challenge);
    if (at->column != ZK_VANILLA_NOWHERE) {
        if (at->column == 0)
            PUT("challenged column, ");
        else if (at->column <= ZK_DRG_PARENTS)
            PUT("base parent %u, ", at->column - 1);
        else
            PUT("expander parent %u, ", at->column - 1 - ZK_DRG_PARENTS);
    }
    if (at->challenge != ZK_VANILLA_NOWHERE) PUT("node %" PRIu64 ", ", p->node);
    if (at->layer != ZK_VANILLA_NOWHERE) PUT("layer %u, ", at->layer);
    if (at->level != ZK_VANILLA_NOWHERE) PUT("path level %u, ", at->level);
    if (at->element != ZK_VANILLA_NOWHERE) PUT("parent %u, ", at->element);
#undef PUT
    if (n >= 2 && n < size) where[n - 2] = 0;
    return ZK_FAIL(p->err, CUZK_CHECK_FAILED, "vanilla: %s%scheck %s failed (%s): found %s, expected %s", where,
                   n > 0 ? ": " : "", checks[check].name, checks[check].text, found, expected);
}

static cuzk_status check_number(place *p, zk_vanilla_check check, uint64_t found, uint64_t expected) {
    zk_found_expected text;
    return zk_numbers_differ(&text, found, expected) ? fail(p, check, text.found, text.expected) : CUZK_OK;
}

static cuzk_status check_node(place *p, zk_vanilla_check check, const uint8_t found[32], const uint8_t expected[32]) {
    zk_found_expected text;
    return zk_nodes_differ(&text, found, expected) ? fail(p, check, text.found, text.expected) : CUZK_OK;
}

/* ---- The checks of one challenge ---- */

#define N_COLUMNS (1 + ZK_ALL_PARENTS) /* the challenged node's, and its parents' */
#define REPLICA N_COLUMNS              /* place of the replica's path among those of columns */

typedef struct context {
    const zk_c1 *c1;
    zk_graph graph;
    zk_challenge_set challenges;
    zk_first_failure first;     /* units: challenges, counted over all partitions */
    zk_vanilla_failure failure; /* noted with it */
} context;

/* What Poseidon gives for one challenge, made before its checks so that hashes of one arity run side by side. */
typedef struct hashes {
    bool columns_known; /* else left to zk_column_hash, as some cannot be hashed */
    zk_fr column[N_COLUMNS];
    zk_tree_path path[N_COLUMNS + 1]; /* of the columns, and of the replica */
} hashes;

static void put_path(zk_tree_path *to, const zk_c1_path *from) {
    to->leaf = *from->leaf, to->index = from->index, to->siblings = (const uint8_t(*)[32])from->siblings;
}

static void make_hashes(hashes *h, const context *c, const zk_c1_challenge *view) {
    const uint8_t(*labels[N_COLUMNS])[32];
    for (uint32_t k = 0; k < N_COLUMNS; k++) {
        const zk_c1_column *column = k == 0 ? &view->column : &view->parents[k - 1];
        labels[k] = (const uint8_t(*)[32])column->labels;
        put_path(&h->path[k], &column->path);
    }
    put_path(&h->path[REPLICA], &view->replica);
    h->columns_known = zk_column_hash_many(h->column, labels, N_COLUMNS, c->c1->shape.n_layers);
    zk_tree_roots(h->path, N_COLUMNS + 1, &c->c1->shape.tree);
}

static cuzk_status check_tree_path(place *p, const context *c, const zk_c1_path *path, const zk_tree_path *hashed,
                                   zk_vanilla_check index_check, zk_vanilla_check path_check) {
    uint8_t root[32];
    for (uint32_t level = 0; level < c->c1->shape.tree.n_nodes; level++) {
        p->at.level = level;
        ZK_TRY(check_number(p, index_check, path->index[level], zk_tree_index(&c->c1->shape.tree, p->node, level)));
    }
    p->at.level = ZK_VANILLA_NOWHERE;
    ZK_TRY(zk_tree_path_root(root, hashed, &c->c1->shape.tree, p->err));
    return check_node(p, path_check, root, *path->root);
}

static cuzk_status check_data(place *p, const context *c, const zk_c1_path *path) {
    uint8_t root[32];
    uint32_t n_levels = c->c1->shape.n_data_nodes;
    for (uint32_t level = 0; level < n_levels; level++) {
        p->at.level = level;
        ZK_TRY(check_number(p, ZK_VANILLA_data_index, path->index[level], p->node >> level & 1));
    }
    p->at.level = ZK_VANILLA_NOWHERE;
    zk_data_tree_root(root, n_levels, *path->leaf, path->index, (const uint8_t(*)[32])path->siblings);
    ZK_TRY(check_node(p, ZK_VANILLA_data_path, root, *path->root));
    return check_node(p, ZK_VANILLA_comm_d, *path->root, c->c1->comm_d);
}

static cuzk_status check_column(place *p, const context *c, const zk_c1_column *column, const hashes *h,
                                const uint8_t comm_c[32]) {
    uint8_t leaf[32];
    zk_fr hash;
    ZK_TRY(check_number(p, ZK_VANILLA_column_node, *column->node, p->node));
    if (h->columns_known)
        hash = h->column[p->at.column];
    else
        ZK_TRY(zk_column_hash(&hash, (const uint8_t(*)[32])column->labels, c->c1->shape.n_layers, p->err));
    zk_fr_to_bytes_le(leaf, &hash);
    ZK_TRY(check_node(p, ZK_VANILLA_column_leaf, *column->path.leaf, leaf));
    ZK_TRY(
        check_tree_path(p, c, &column->path, &h->path[p->at.column], ZK_VANILLA_column_index, ZK_VANILLA_column_path));
    return check_node(p, ZK_VANILLA_comm_c, *column->path.root, comm_c);
}

/* A labeling proof's own numbers and parents; `check` is the first of four in a row: layer, node, repeat, parents. */
static cuzk_status check_labeling(place *p, const zk_c1_labeling *l, const zk_c1_challenge *view, uint32_t layer,
                                  zk_vanilla_check check) {
    p->at.layer = layer;
    ZK_TRY(check_number(p, check, *l->layer, layer));
    ZK_TRY(check_number(p, check + 1, *l->node, p->node));
    if (*l->mismatch != ZK_C1_NO_MISMATCH) {
        char expected[48];
        p->at.element = *l->mismatch;
        snprintf(expected, sizeof expected, "the value of parent %u", *l->mismatch % l->n_parents);
        return fail(p, check + 2, "another value", expected);
    }
    for (uint32_t i = 0; i < l->n_parents; i++) {
        uint32_t of_layer = i < ZK_DRG_PARENTS ? layer : layer - 1;
        p->at.element = i;
        ZK_TRY(check_node(p, check + 3, l->parents[i], view->parents[i].labels[of_layer - 1]));
    }
    p->at.element = ZK_VANILLA_NOWHERE;
    return CUZK_OK;
}

static cuzk_status check_labels(place *p, const context *c, const zk_c1_challenge *view) {
    uint8_t label[32], encoded[32];
    uint32_t n_layers = c->c1->shape.n_layers;
    for (uint32_t layer = 1; layer <= n_layers; layer++) {
        const zk_c1_labeling *l = &view->labeling[layer - 1];
        ZK_TRY(check_labeling(p, l, view, layer, ZK_VANILLA_labeling_layer));
        zk_create_label(label, c->c1->replica_id, layer, p->node, (const uint8_t(*)[32])l->parents, l->n_parents);
        ZK_TRY(check_node(p, ZK_VANILLA_label, view->column.labels[layer - 1], label));
    }
    /* Its parents were found equal to those of the last layer's label, so that the key is this label. */
    ZK_TRY(check_labeling(p, &view->encoding, view, n_layers, ZK_VANILLA_encoding_layer));
    if (!zk_encode(encoded, label, *view->data.leaf))
        return ZK_FAIL(p->err, CUZK_BAD_INPUT, "vanilla: the data's leaf is not a field element");
    return check_node(p, ZK_VANILLA_encoding, *view->replica.leaf, encoded);
}

static cuzk_status check_challenge(place *p, const context *c, uint32_t partition, uint32_t i) {
    zk_c1_challenge view, first;
    uint32_t parents[ZK_ALL_PARENTS];
    uint64_t challenge;
    hashes h;
    zk_challenge_set_get(&challenge, partition * c->c1->shape.n_challenges + i, 1, &c->challenges);
    zk_graph_parents(parents, &c->graph, (uint32_t)challenge);
    zk_c1_challenge_get(&view, c->c1, partition, i);
    zk_c1_challenge_get(&first, c->c1, partition, 0);
    make_hashes(&h, c, &view);
    const uint8_t *comm_c = *first.column.path.root, *comm_r_last = *first.replica.root;

    p->at.partition = partition;
    if (i == 0) { /* one statement a partition; reported with its first challenge */
        uint8_t comm_r[32];
        ZK_TRY(zk_comm_r(comm_r, comm_c, comm_r_last, p->err));
        ZK_TRY(check_node(p, ZK_VANILLA_comm_r, c->c1->comm_r, comm_r));
    }
    p->at.challenge = i;
    p->node = challenge;
    ZK_TRY(check_data(p, c, &view.data));
    ZK_TRY(check_tree_path(p, c, &view.replica, &h.path[REPLICA], ZK_VANILLA_replica_index, ZK_VANILLA_replica_path));
    ZK_TRY(check_node(p, ZK_VANILLA_comm_r_last, *view.replica.root, comm_r_last));
    for (uint32_t k = 0; k < N_COLUMNS; k++) {
        p->at.column = k;
        p->node = k == 0 ? challenge : parents[k - 1];
        ZK_TRY(check_column(p, c, k == 0 ? &view.column : &view.parents[k - 1], &h, comm_c));
    }
    p->at.column = ZK_VANILLA_NOWHERE;
    p->node = challenge;
    return check_labels(p, c, &view);
}

static void verify_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    context *c = ctx;
    (void)thread;
    for (size_t k = begin; k < end; k++) {
        cuzk_err err = {0};
        place p = {.err = &err};
        if (zk_first_failure_precedes(&c->first, k)) return;
        memset(&p.at, 0xff, sizeof p.at); /* nowhere */
        p.at.check = ZK_VANILLA_NONE;
        cuzk_status status =
            check_challenge(&p, c, (uint32_t)k / c->c1->shape.n_challenges, (uint32_t)k % c->c1->shape.n_challenges);
        if (status == CUZK_OK) continue;
        zk_first_failure_note(&c->first, k, status, &err, &c->failure, &p.at, sizeof c->failure);
    }
}

static cuzk_status check_header(place *p, const zk_c1 *c1) {
    static const uint8_t zero[32];
    const struct {
        const uint8_t *value;
        zk_vanilla_check check;
    } not_zero[] = {{c1->comm_d, ZK_VANILLA_comm_d_not_zero},
                    {c1->comm_r, ZK_VANILLA_comm_r_not_zero},
                    {c1->seed, ZK_VANILLA_seed_not_zero}};
    for (unsigned i = 0; i < 3; i++)
        if (memcmp(not_zero[i].value, zero, 32) == 0) return fail(p, not_zero[i].check, "zero", "another value");
    return CUZK_OK;
}

cuzk_status zk_c1_verify(zk_vanilla_failure *failure, const zk_c1 *c1, zk_pool *pool, cuzk_err *err) {
    uint8_t porep_id[32];
    context c = {.c1 = c1, .first = ZK_FIRST_FAILURE_INIT};
    place p = {.err = &c.first.err};
    memset(&p.at, 0xff, sizeof p.at);
    p.at.check = ZK_VANILLA_NONE;
    c.first.status = check_header(&p, c1);
    c.failure = p.at;
    if (c.first.status == CUZK_OK) {
        zk_registered_seal_porep_id(porep_id, c1->seal);
        zk_graph_init(&c.graph, c1->shape.n_nodes, porep_id, c1->seal->api_version);
        zk_challenge_set_init(&c.challenges, c1->seal->feature, c1->shape.n_nodes, c1->replica_id, c1->comm_r,
                              c1->seed);
        zk_pool_for(pool, (size_t)c1->n_partitions * c1->shape.n_challenges, 1, verify_range, &c);
    }
    if (failure) *failure = c.failure;
    if (c.first.status != CUZK_OK && err && err->status == CUZK_OK) *err = c.first.err;
    return c.first.status;
}

cuzk_status zk_c1_verify_replica_id(const zk_c1 *c1, const uint8_t prover_id[32], uint64_t sector_number,
                                    cuzk_err *err) {
    uint8_t porep_id[32], expected[32];
    place p = {.err = err};
    memset(&p.at, 0xff, sizeof p.at);
    zk_registered_seal_porep_id(porep_id, c1->seal);
    zk_replica_id(expected, prover_id, sector_number, c1->ticket, c1->comm_d, porep_id);
    return check_node(&p, ZK_VANILLA_replica_id, c1->replica_id, expected);
}

/* ---- Public inputs ---- */

void zk_c1_statement(zk_porep_statement *statement, const zk_c1 *c1) {
    statement->seal = c1->seal;
    memcpy(statement->replica_id, c1->replica_id, 32);
    memcpy(statement->comm_d, c1->comm_d, 32);
    memcpy(statement->comm_r, c1->comm_r, 32);
    memcpy(statement->seed, c1->seed, 32);
}

uint32_t zk_porep_n_public_inputs(const zk_registered_seal *seal) {
    return 3 + seal->n_challenges * (ZK_ALL_PARENTS + 4);
}

static void put_number(uint8_t out[32], uint64_t value) {
    memset(out, 0, 32);
    zk_store_le64(out, value);
}

void zk_porep_public_inputs(uint8_t (*inputs)[32], const zk_porep_statement *s, uint32_t partition) {
    uint8_t porep_id[32];
    zk_graph graph;
    zk_challenge_set set;
    uint64_t n_nodes = s->seal->sector_bytes / 32;
    zk_registered_seal_porep_id(porep_id, s->seal);
    zk_graph_init(&graph, n_nodes, porep_id, s->seal->api_version);
    zk_challenge_set_init(&set, s->seal->feature, n_nodes, s->replica_id, s->comm_r, s->seed);
    memcpy(*inputs++, s->replica_id, 32);
    memcpy(*inputs++, s->comm_d, 32);
    memcpy(*inputs++, s->comm_r, 32);
    for (uint32_t i = 0; i < s->seal->n_challenges; i++) {
        uint32_t parents[ZK_ALL_PARENTS];
        uint64_t challenge;
        zk_challenge_set_get(&challenge, partition * s->seal->n_challenges + i, 1, &set);
        zk_graph_parents(parents, &graph, (uint32_t)challenge);
        put_number(*inputs++, challenge);
        for (unsigned k = 0; k < ZK_ALL_PARENTS; k++) put_number(*inputs++, parents[k]);
        for (unsigned k = 0; k < 3; k++) put_number(*inputs++, challenge);
    }
}
