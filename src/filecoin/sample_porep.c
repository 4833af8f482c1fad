/* Sealing of small sectors, and sparse sectors of any size: see sample.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "filecoin/c1_impl.h"
#include "filecoin/challenges.h"
#include "filecoin/sample.h"
#include "filecoin/tree.h"
#include "hash/fr32.h"
#include "hash/sha256.h"

cuzk_status zk_sample_check_text(const char *text, cuzk_err *err) {
    size_t n = strlen(text);
    if (n <= ZK_SAMPLE_MAX_TEXT) return CUZK_OK;
    return ZK_FAIL(err, CUZK_USAGE, "sample: the seed text has %zu bytes, at most %d are allowed", n,
                   ZK_SAMPLE_MAX_TEXT);
}

void zk_sample_seed32(uint8_t out[32], const char *text) { zk_sha256_trunc254(out, text, strlen(text)); }

void zk_sample_data(uint8_t *out, size_t n, const char *label) {
    for (uint64_t counter = 0; n > 0; counter++) {
        uint8_t digest[32], le[8];
        zk_sha256_ctx ctx;
        zk_store_le64(le, counter);
        zk_sha256_init(&ctx);
        zk_sha256_update(&ctx, label, strlen(label));
        zk_sha256_update(&ctx, le, sizeof le);
        zk_sha256_final(digest, &ctx);
        size_t take = n < 32 ? n : 32;
        memcpy(out, digest, take);
        out += take;
        n -= take;
    }
}

/* A sector under construction: the nodes whose labels are known, and the trees. A sealed sector knows all nodes, a
 * sparse one the challenged nodes and their parents. */
typedef struct sector {
    const zk_registered_seal *seal;
    const zk_sample_identity *identity; /* or NULL: from text, miner and sector number */
    const char *text;
    zk_pool *pool;
    zk_c1 *c1;
    zk_graph graph;
    uint32_t n_layers;
    size_t n_known;
    uint64_t *known;  /* [n_known] ascending; NULL: 0 .. n_known - 1 */
    bool *computed;   /* [n_known] sparse: label comes from the parents; NULL: all */
    zk_node *labels;  /* [n_layers][n_known] */
    zk_node *data;    /* [n_nodes] or NULL: all zero */
    zk_node *columns; /* [n_known] column hashes */
    zk_node *replica; /* [n_known] */
    zk_tree *tree_d, *tree_c, *tree_r;
    bool failed; /* set by any thread */
} sector;

static void sector_free(sector *s) {
    free(s->known);
    free(s->computed);
    free(s->labels);
    free(s->data);
    free(s->columns);
    free(s->replica);
    zk_tree_destroy(s->tree_d);
    zk_tree_destroy(s->tree_c);
    zk_tree_destroy(s->tree_r);
    zk_graph_clear(&s->graph);
}

/* Position of a node among the known ones; n_known if it is not known. */
static size_t find(const sector *s, uint64_t node) {
    if (!s->known) return node < s->n_known ? (size_t)node : s->n_known;
    size_t low = 0, high = s->n_known;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s->known[middle] < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->n_known && s->known[low] == node ? low : s->n_known;
}

static uint64_t node_at(const sector *s, size_t i) { return s->known ? s->known[i] : i; }

static void rule_label(uint8_t label[32], const char *text, uint32_t layer, uint64_t node) {
    uint8_t message[256];
    size_t n = strlen(text);
    memcpy(message, text, n);
    memcpy(message + n, " label", 6);
    zk_store_le32(message + n + 6, layer);
    zk_store_le64(message + n + 10, node);
    zk_sha256_trunc254(label, message, n + 18);
}

/* Label of any node in a layer (from 1). */
static void label_of(uint8_t label[32], const sector *s, uint32_t layer, uint64_t node) {
    size_t at = find(s, node);
    if (at < s->n_known)
        memcpy(label, s->labels[(layer - 1) * s->n_known + at], 32);
    else
        rule_label(label, s->text, layer, node);
}

/* Labels of the parents of a node as one layer's label hashes them; returns how many. */
static uint32_t parent_labels(zk_node labels[ZK_ALL_PARENTS], const sector *s, uint32_t layer, uint64_t node) {
    uint32_t parents[ZK_ALL_PARENTS];
    zk_graph_base_parents(parents, &s->graph, (uint32_t)node);
    for (unsigned i = 0; i < ZK_DRG_PARENTS; i++) label_of(labels[i], s, layer, parents[i]);
    if (layer == 1) return ZK_DRG_PARENTS;
    zk_graph_expander_parents(parents + ZK_DRG_PARENTS, &s->graph, (uint32_t)node);
    for (unsigned i = ZK_DRG_PARENTS; i < ZK_ALL_PARENTS; i++) label_of(labels[i], s, layer - 1, parents[i]);
    return ZK_ALL_PARENTS;
}

/* Nodes in order, layer by layer: parents come before. */
static void compute_labels(sector *s) {
    for (uint32_t layer = 1; layer <= s->n_layers; layer++) {
        zk_node *row = s->labels + (size_t)(layer - 1) * s->n_known;
        for (size_t i = 0; s->computed && i < s->n_known; i++)
            if (!s->computed[i]) rule_label(row[i], s->text, layer, node_at(s, i));
        for (size_t i = 0; i < s->n_known; i++) {
            if (s->computed && !s->computed[i]) continue;
            zk_node parents[ZK_ALL_PARENTS];
            uint64_t node = node_at(s, i);
            uint32_t n = node ? parent_labels(parents, s, layer, node) : 0;
            zk_create_label(row[i], s->c1->replica_id, layer, node, (const uint8_t(*)[32])parents, n);
        }
    }
}

#define BATCH 8 /* columns hashed side by side */

static void compute_columns(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    sector *s = ctx;
    static const zk_node zero;
    for (size_t start = begin; start < end; start += BATCH) {
        zk_node columns[BATCH][ZK_C1_MAX_LAYERS];
        const uint8_t(*labels[BATCH])[32];
        zk_fr hashes[BATCH];
        bool good = true;
        size_t n = end - start < BATCH ? end - start : BATCH;
        for (size_t k = 0; k < n; k++) {
            size_t i = start + k;
            for (uint32_t layer = 0; layer < s->n_layers; layer++)
                memcpy(columns[k][layer], s->labels[(size_t)layer * s->n_known + i], 32);
            labels[k] = (const uint8_t(*)[32])columns[k];
            if (s->computed && !s->computed[i]) continue; /* a parent in a sparse sector: its replica leaf stays zero */
            const uint8_t *data = s->data ? s->data[node_at(s, i)] : zero;
            good = zk_encode(s->replica[i], columns[k][s->n_layers - 1], data) && good;
        }
        if (!good || !zk_column_hash_many(hashes, labels, n, s->n_layers)) {
            __atomic_store_n(&s->failed, true, __ATOMIC_RELAXED);
            return;
        }
        for (size_t k = 0; k < n; k++) zk_fr_to_bytes_le(s->columns[start + k], &hashes[k]);
    }
}

static cuzk_status commit(sector *s, cuzk_err *err) {
    const zk_opening_shape *shape = &s->c1->shape.tree;
    s->labels = zk_calloc((size_t)s->n_layers * s->n_known, sizeof *s->labels);
    s->columns = zk_calloc(s->n_known, sizeof *s->columns);
    s->replica = zk_calloc(s->n_known, sizeof *s->replica);
    if (!s->labels || !s->columns || !s->replica)
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for %zu nodes", s->n_known);
    compute_labels(s);
    zk_pool_for(s->pool, s->n_known, 64, compute_columns, s);
    if (s->failed) return ZK_FAIL(err, CUZK_INTERNAL, "sample: a label is not below the field modulus");
    ZK_TRY(zk_tree_build(&s->tree_c, shape, s->known, (const uint8_t(*)[32])s->columns, s->n_known, s->pool, err));
    ZK_TRY(zk_tree_build(&s->tree_r, shape, s->known, (const uint8_t(*)[32])s->replica, s->n_known, s->pool, err));
    return zk_comm_r(s->c1->comm_r, zk_tree_top(s->tree_c), zk_tree_top(s->tree_r), err);
}

/* ---- what is opened ---- */

static void open_path(zk_c1_path *path, const zk_tree *tree, uint64_t leaf) {
    memcpy(*path->root, zk_tree_top(tree), 32);
    memcpy(*path->leaf, zk_tree_node(tree, 0, leaf), 32);
    zk_tree_open(path->index, path->siblings, tree, leaf);
}

static void open_column(zk_c1_column *column, const sector *s, uint64_t node) {
    *column->node = (uint32_t)node;
    for (uint32_t layer = 1; layer <= s->n_layers; layer++) label_of(column->labels[layer - 1], s, layer, node);
    open_path(&column->path, s->tree_c, node);
}

static void open_labeling(zk_c1_labeling *labeling, const sector *s, uint32_t layer, uint64_t node) {
    zk_node parents[ZK_ALL_PARENTS];
    uint32_t n = parent_labels(parents, s, layer, node);
    memcpy(labeling->parents, parents, n * sizeof *parents);
    *labeling->layer = layer;
    *labeling->mismatch = ZK_C1_NO_MISMATCH;
    *labeling->node = node;
}

typedef struct open_ctx {
    const sector *s;
    const uint64_t *challenges; /* of all partitions */
} open_ctx;

static void open_challenges(void *ctx, size_t begin, size_t end, unsigned thread) {
    (void)thread;
    const open_ctx *c = ctx;
    const sector *s = c->s;
    uint32_t per_partition = s->c1->shape.n_challenges;
    for (size_t i = begin; i < end; i++) {
        zk_c1_challenge view;
        uint64_t node = c->challenges[i];
        uint32_t parents[ZK_ALL_PARENTS];
        zk_c1_challenge_get(&view, s->c1, (uint32_t)(i / per_partition), (uint32_t)(i % per_partition));
        zk_graph_parents(parents, &s->graph, (uint32_t)node);
        open_path(&view.data, s->tree_d, node);
        open_path(&view.replica, s->tree_r, node);
        open_column(&view.column, s, node);
        for (unsigned k = 0; k < ZK_ALL_PARENTS; k++) open_column(&view.parents[k], s, parents[k]);
        for (uint32_t layer = 1; layer <= s->n_layers; layer++)
            open_labeling(&view.labeling[layer - 1], s, layer, node);
        open_labeling(&view.encoding, s, s->n_layers, node);
    }
}

static int compare_u64(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sparse: the challenged nodes and their parents are known, the challenged ones computed. */
static cuzk_status know_challenged(sector *s, const uint64_t *challenges, size_t n, cuzk_err *err) {
    size_t room = n * (1 + ZK_ALL_PARENTS);
    s->known = zk_calloc(room, sizeof *s->known);
    s->computed = zk_calloc(room, sizeof *s->computed);
    if (!s->known || !s->computed) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for %zu nodes", room);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t parents[ZK_ALL_PARENTS];
        zk_graph_parents(parents, &s->graph, (uint32_t)challenges[i]);
        s->known[at++] = challenges[i];
        for (unsigned k = 0; k < ZK_ALL_PARENTS; k++) s->known[at++] = parents[k];
    }
    qsort(s->known, at, sizeof *s->known, compare_u64);
    for (size_t i = 0; i < at; i++)
        if (i == 0 || s->known[i] != s->known[s->n_known - 1]) s->known[s->n_known++] = s->known[i];
    for (size_t i = 0; i < n; i++) s->computed[find(s, challenges[i])] = true;
    return CUZK_OK;
}

static cuzk_status make_data(sector *s, cuzk_err *err) {
    uint64_t n_nodes = s->seal->sector_bytes / 32, n_data = s->seal->sector_bytes / 128 * 127;
    char label[256];
    snprintf(label, sizeof label, "%s data", s->text);
    uint8_t *raw = zk_malloc(n_data);
    s->data = zk_calloc(n_nodes, sizeof *s->data);
    if (!raw || !s->data) {
        free(raw);
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory for %" PRIu64 " bytes of data", n_data);
    }
    zk_sample_data(raw, n_data, label);
    zk_fr32_pad((uint8_t *)s->data, raw, n_data);
    free(raw);
    return CUZK_OK;
}

static cuzk_status start(sector *s, uint64_t miner, uint64_t sector_number, cuzk_err *err) {
    uint64_t n_nodes = s->seal->sector_bytes / 32;
    uint8_t prover_id[32], porep_id[32];
    char text[256];
    zk_c1 *c1 = s->c1;
    c1->seal = s->seal;
    c1->has_sector_number = true;
    c1->sector_number = sector_number;
    ZK_TRY(zk_c1_shape_get(&c1->shape, s->seal, err));
    s->n_layers = c1->shape.n_layers;
    for (uint32_t k = 0; k < s->seal->n_partitions; k++) ZK_TRY(zk_c1_add_partition(c1, err));
    if (s->identity) {
        memcpy(c1->ticket, s->identity->ticket, 32);
        memcpy(porep_id, s->identity->porep_id, 32);
        memcpy(prover_id, s->identity->prover_id, 32);
    } else {
        snprintf(text, sizeof text, "%s ticket", s->text);
        zk_sample_seed32(c1->ticket, text);
        snprintf(text, sizeof text, "%s seed", s->text);
        zk_sample_seed32(c1->seed, text);
        zk_registered_seal_porep_id(porep_id, s->seal);
        zk_prover_id(prover_id, miner);
    }
    zk_graph_init(&s->graph, n_nodes, porep_id, s->seal->api_version);
    if (s->seal->sector_bytes <= ZK_SAMPLE_MAX_SEALED_BYTES) ZK_TRY(zk_graph_tabulate(&s->graph, err));
    bool zeros = s->identity || s->seal->sector_bytes > ZK_SAMPLE_MAX_SEALED_BYTES;
    if (!zeros) ZK_TRY(make_data(s, err));
    ZK_TRY(zk_data_tree_build(&s->tree_d, c1->shape.n_data_nodes, NULL, (const uint8_t(*)[32])s->data,
                              zeros ? 0 : n_nodes, s->pool, err));
    memcpy(c1->comm_d, zk_tree_top(s->tree_d), 32);
    zk_replica_id(c1->replica_id, prover_id, sector_number, c1->ticket, c1->comm_d, porep_id);
    return CUZK_OK;
}

static void draw_challenges(uint64_t *challenges, size_t n, const zk_c1 *c1) {
    zk_challenge_set set;
    zk_challenge_set_init(&set, c1->seal->feature, c1->shape.n_nodes, c1->replica_id, c1->comm_r, c1->seed);
    zk_challenge_set_get(challenges, 0, (uint32_t)n, &set);
}

cuzk_status zk_sample_porep(zk_c1 **out, const zk_registered_seal *seal, const char *text, uint64_t miner,
                            uint64_t sector_number, zk_pool *pool, cuzk_err *err) {
    bool sparse = seal->sector_bytes > ZK_SAMPLE_MAX_SEALED_BYTES;
    ZK_TRY(zk_sample_check_text(text, err));
    if (sparse && seal->feature != ZK_POREP_INTERACTIVE)
        return ZK_FAIL(
            err, CUZK_UNSUPPORTED,
            "sample: %s: challenges of this type depend on comm_r, which a sparse sector cannot answer; take an "
            "interactive type, or a sector of at most 8 MiB",
            seal->name);
    sector s = {.seal = seal, .text = text, .pool = pool};
    uint64_t *challenges = NULL;
    size_t n = (size_t)seal->n_partitions * seal->n_challenges;
    cuzk_status status = CUZK_OK;
    s.c1 = zk_calloc(1, sizeof *s.c1);
    challenges = zk_calloc(n, sizeof *challenges);
    if (!s.c1 || !challenges) ZK_GOTO(ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory"));
    ZK_GOTO(start(&s, miner, sector_number, err));
    if (sparse) {
        draw_challenges(challenges, n, s.c1); /* interactive: they do not depend on comm_r */
        ZK_GOTO(know_challenged(&s, challenges, n, err));
        ZK_GOTO(commit(&s, err));
    } else {
        s.n_known = (size_t)s.c1->shape.n_nodes;
        ZK_GOTO(commit(&s, err));
        draw_challenges(challenges, n, s.c1);
    }
    open_ctx ctx = {&s, challenges};
    zk_pool_for(pool, n, 1, open_challenges, &ctx);
    *out = s.c1;
    s.c1 = NULL;
out:
    free(challenges);
    zk_c1_destroy(s.c1);
    sector_free(&s);
    return status;
}

const zk_registered_seal *zk_sample_seal_type(uint64_t sector_bytes) {
    for (unsigned i = 0; i < ZK_N_REGISTERED_SEALS; i++) {
        const zk_registered_seal *seal = &zk_registered_seals[i];
        if (seal->sector_bytes == sector_bytes && seal->api_version == ZK_API_1_1_0 &&
            seal->feature == ZK_POREP_INTERACTIVE)
            return seal;
    }
    return NULL;
}

/* Seals a sector of which only comm_c and the replica's tree are wanted. */
static cuzk_status seal_for_tree(zk_tree **tree_r, uint8_t comm_c[32], sector *s, uint64_t miner,
                                 uint64_t sector_number, cuzk_err *err) {
    if (s->seal->sector_bytes > ZK_SAMPLE_MAX_SEALED_BYTES)
        return ZK_FAIL(err, CUZK_UNSUPPORTED, "sample: %s: sectors of at most 8 MiB are sealed", s->seal->name);
    cuzk_status status = CUZK_OK;
    s->c1 = zk_calloc(1, sizeof *s->c1);
    if (!s->c1) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "sample: no memory");
    ZK_GOTO(start(s, miner, sector_number, err));
    s->n_known = (size_t)s->c1->shape.n_nodes;
    ZK_GOTO(commit(s, err));
    memcpy(comm_c, zk_tree_top(s->tree_c), 32);
    *tree_r = s->tree_r;
    s->tree_r = NULL;
out:
    zk_c1_destroy(s->c1);
    sector_free(s);
    return status;
}

cuzk_status zk_sample_sealed_tree(zk_tree **tree_r, uint8_t comm_c[32], const zk_registered_seal *seal,
                                  const char *text, uint64_t miner, uint64_t sector_number, zk_pool *pool,
                                  cuzk_err *err) {
    sector s = {.seal = seal, .text = text, .pool = pool};
    return seal_for_tree(tree_r, comm_c, &s, miner, sector_number, err);
}

cuzk_status zk_sample_sealed_zeros(zk_tree **tree_r, uint8_t comm_c[32], const zk_registered_seal *seal,
                                   const zk_sample_identity *identity, zk_pool *pool, cuzk_err *err) {
    sector s = {.seal = seal, .identity = identity, .text = "", .pool = pool};
    return seal_for_tree(tree_r, comm_c, &s, 0, identity->sector, err);
}
