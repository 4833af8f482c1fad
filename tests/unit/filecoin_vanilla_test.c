/* Verification of C1 documents: all vectors hold and give the listed public inputs; whatever is altered is found, by
 * the check that is about it, and at its place. */
#include "filecoin/challenges.h"
#include "filecoin/labels.h"
#include "filecoin/merkle.h"
#include "filecoin/vanilla.h"
#include "filecoin_vectors.h"
#include "hash/poseidon.h"

static zk_c1 *read_c1(const char *name) {
    char path[4096];
    zk_c1 *c1 = NULL;
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/porep/%s", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_c1_read_file(&c1, path, &err), err);
    return c1;
}

static zk_pool *make_pool(void) {
    zk_pool *pool = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_pool_create(&pool, 2, &err), err);
    return pool;
}

/* The JSON beside the document: identities, challenges, public inputs. */
static void check_against_json(const char *json_name, const zk_c1 *c1) {
    zk_json_doc *doc = load_json(json_name);
    const zk_json_value *root = zk_json_root(doc), *partitions = get(root, "partitions");
    uint8_t prover_id[32], want[32], inputs[3 + 18 * 18][32];
    zk_porep_statement statement;
    cuzk_err err = {0};
    ZK_CHECK(strcmp(get_text(root, "registered_proof"), c1->seal->name) == 0);
    zk_prover_id(prover_id, get_u64(root, "miner_id"));
    get_node(want, root, "prover_id");
    ZK_CHECK_MEM(prover_id, want, 32);
    ZK_CHECK_OK(zk_c1_verify_replica_id(c1, prover_id, get_u64(root, "sector_number"), &err), err);
    ZK_CHECK(zk_c1_verify_replica_id(c1, prover_id, get_u64(root, "sector_number") + 1, &err) == CUZK_CHECK_FAILED);
    ZK_CHECK(strstr(err.message, "replica_id") != NULL);
    zk_c1_statement(&statement, c1);
    uint32_t n = zk_porep_n_public_inputs(c1->seal);
    ZK_CHECK(n <= sizeof inputs / sizeof inputs[0]);
    ZK_CHECK(zk_json_count(partitions) == c1->n_partitions);
    for (uint32_t p = 0; p < c1->n_partitions; p++) {
        const zk_json_value *row = zk_json_element_of(partitions, p), *list = get(row, "public_inputs");
        ZK_CHECK(get_u64(row, "partition") == p && zk_json_count(list) == n);
        zk_porep_public_inputs(inputs, &statement, p);
        for (uint32_t i = 0; i < n; i++) {
            hex_of(want, 32, zk_json_element_of(list, i));
            ZK_CHECKF(memcmp(inputs[i], want, 32) == 0, "%s: partition %u input %u", json_name, p, i);
        }
    }
    zk_json_doc_destroy(doc);
}

static void test_vectors(void) {
    static const char *const names[] = {"seal-StackedDrg2KiBV1",
                                        "seal-StackedDrg2KiBV1_1",
                                        "seal-StackedDrg2KiBV1_1_Feat_SyntheticPoRep",
                                        "seal-StackedDrg8MiBV1_1",
                                        "seal-StackedDrg2KiBV1_2_Feat_NonInteractivePoRep",
                                        "sparse-StackedDrg512MiBV1_1",
                                        "sparse-StackedDrg32GiBV1_1"};
    zk_pool *pool = make_pool();
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[200];
        zk_vanilla_failure failure;
        cuzk_err err = {0};
        bool packed = i >= 4;
        if (packed && !zk_input_has_zstd()) break;
        snprintf(name, sizeof name, packed ? "%s.c1.json.zst" : "%s.c1.json", names[i]);
        zk_c1 *c1 = read_c1(name);
        /* The 32 GiB document is verified in filecoin_full_test.c. */
        if (c1->shape.sector_bytes < 1ull << 35)
            ZK_CHECK_OK(zk_c1_verify(&failure, c1, i % 2 ? pool : NULL, &err), err);
        else
            failure.check = ZK_VANILLA_NONE;
        ZK_CHECK(failure.check == ZK_VANILLA_NONE);
        snprintf(name, sizeof name, "porep/%s.json", names[i]);
        check_against_json(name, c1);
        zk_c1_destroy(c1);
    }
    zk_pool_destroy(pool);
}

/* ---- Alterations ---- */

static void flip(uint8_t node[32]) { node[7] ^= 0x10; }

/* Recomputes a proof's root so that the path is consistent again. */
static void refresh_tree(const zk_c1 *c1, zk_c1_path *p) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_tree_root(*p->root, &c1->shape.tree, *p->leaf, p->index, (const uint8_t(*)[32])p->siblings, &err),
                err);
}

static void refresh_data(const zk_c1 *c1, zk_c1_path *p) {
    zk_data_tree_root(*p->root, c1->shape.n_data_nodes, *p->leaf, p->index, (const uint8_t(*)[32])p->siblings);
}

typedef struct alteration {
    const char *what;
    zk_vanilla_check check;
    void (*alter)(zk_c1 *c1, zk_c1_challenge *v, unsigned k);
    unsigned n_k; /* alter is tried with k = 0 .. n_k - 1 */
    /* the place expected: ZK_VANILLA_NOWHERE or K for k itself */
    uint32_t column, layer, level, element;
} alteration;

#define NO ZK_VANILLA_NOWHERE
#define K 0xfffffff0u /* the value of k */
#define K_PLUS_1 0xfffffff1u

static void alter_comm_d_zero(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)v, (void)k, memset(c->comm_d, 0, 32); }
static void alter_comm_r_zero(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)v, (void)k, memset(c->comm_r, 0, 32); }
static void alter_seed_zero(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)v, (void)k, memset(c->seed, 0, 32); }
static void alter_comm_r(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)v, (void)k, flip(c->comm_r); }
static void alter_comm_d(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)v, (void)k, flip(c->comm_d); }
static void alter_data_index(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, v->data.index[k] ^= 1; }
static void alter_data_leaf(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, (void)k, flip(*v->data.leaf); }
static void alter_data_root(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, (void)k, flip(*v->data.root); }
static void alter_data_sibling(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, flip(v->data.siblings[k]); }
static void alter_data_consistently(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    flip(v->data.siblings[k]);
    refresh_data(c, &v->data);
}
static void alter_replica_index(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, v->replica.index[k] ^= 1; }
static void alter_replica_leaf(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, (void)k, flip(*v->replica.leaf); }
static void alter_replica_sibling(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, flip(v->replica.siblings[k]); }
static void alter_replica_consistently(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    flip(v->replica.siblings[k]);
    refresh_tree(c, &v->replica);
}
static zk_c1_column *column_of(zk_c1_challenge *v, unsigned k) { return k == 0 ? &v->column : &v->parents[k - 1]; }
static void alter_column_node(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, *column_of(v, k)->node ^= 1; }
static void alter_column_label_1(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)c, flip(column_of(v, k)->labels[0]);
}
static void alter_column_label_2(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)c, flip(column_of(v, k)->labels[1]);
}
static void alter_column_leaf(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, flip(*column_of(v, k)->path.leaf); }
static void alter_column_root(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, flip(*column_of(v, k)->path.root); }
static void alter_column_index(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)c, column_of(v, k)->path.index[1] ^= 4;
}
static void alter_column_sibling(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    flip(column_of(v, k)->path.siblings[c->shape.tree.n_siblings - 1 - k]);
}
static void alter_column_consistently(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    zk_c1_path *path = &column_of(v, k)->path;
    flip(path->siblings[k % 7]);
    refresh_tree(c, path);
}
static void alter_labeling_layer(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, *v->labeling[k].layer += 1; }
static void alter_labeling_node(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)c, *v->labeling[k].node ^= 1ull << 40;
}
static void alter_labeling_repeat(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, *v->labeling[1].mismatch = k; }
static void alter_labeling_parent_1(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)c, flip(v->labeling[0].parents[k]);
}
static void alter_labeling_parent_2(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)c, flip(v->labeling[1].parents[k]);
}
static void alter_encoding_layer(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, (void)k, *v->encoding.layer = 1; }
static void alter_encoding_node(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, (void)k, *v->encoding.node += 1; }
static void alter_encoding_repeat(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, *v->encoding.mismatch = k; }
static void alter_encoding_parent(zk_c1 *c, zk_c1_challenge *v, unsigned k) { (void)c, flip(v->encoding.parents[k]); }
/* Another data leaf with a data tree and comm_d that fit: only the encoding tells. */
static void alter_data_and_comm_d(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    (void)k;
    flip(*v->data.leaf);
    refresh_data(c, &v->data);
    memcpy(c->comm_d, *v->data.root, 32);
}
/* Another replica id under which the same nodes are challenged: only the labels tell. */
static void alter_replica_id(zk_c1 *c, zk_c1_challenge *v, unsigned k) {
    uint64_t old[2], new[2], seed = k + 1;
    zk_challenge_set set;
    (void)v;
    zk_challenge_set_init(&set, c->seal->feature, c->shape.n_nodes, c->replica_id, c->comm_r, c->seed);
    zk_challenge_set_get(old, 0, 2, &set);
    for (unsigned i = 0; i < 1000000; i++) {
        uint64_t r = zk_test_rand(&seed);
        memcpy(c->replica_id, &r, 8);
        zk_challenge_set_init(&set, c->seal->feature, c->shape.n_nodes, c->replica_id, c->comm_r, c->seed);
        zk_challenge_set_get(new, 0, 2, &set);
        if (new[0] == old[0] && new[1] == old[1]) return;
    }
    ZK_FAIL_CASE("no such replica id");
}

static const alteration alterations[] = {
    {"comm_d zero", ZK_VANILLA_comm_d_not_zero, alter_comm_d_zero, 1, NO, NO, NO, NO},
    {"comm_r zero", ZK_VANILLA_comm_r_not_zero, alter_comm_r_zero, 1, NO, NO, NO, NO},
    {"seed zero", ZK_VANILLA_seed_not_zero, alter_seed_zero, 1, NO, NO, NO, NO},
    {"comm_r", ZK_VANILLA_comm_r, alter_comm_r, 1, NO, NO, NO, NO},
    {"comm_d", ZK_VANILLA_comm_d, alter_comm_d, 1, NO, NO, NO, NO},
    {"data index", ZK_VANILLA_data_index, alter_data_index, 6, NO, NO, K, NO},
    {"data leaf", ZK_VANILLA_data_path, alter_data_leaf, 1, NO, NO, NO, NO},
    {"data root", ZK_VANILLA_data_path, alter_data_root, 1, NO, NO, NO, NO},
    {"data sibling", ZK_VANILLA_data_path, alter_data_sibling, 6, NO, NO, NO, NO},
    {"data tree", ZK_VANILLA_comm_d, alter_data_consistently, 6, NO, NO, NO, NO},
    {"replica index", ZK_VANILLA_replica_index, alter_replica_index, 2, NO, NO, K, NO},
    {"replica leaf", ZK_VANILLA_replica_path, alter_replica_leaf, 1, NO, NO, NO, NO},
    {"replica sibling", ZK_VANILLA_replica_path, alter_replica_sibling, 14, NO, NO, NO, NO},
    {"column node", ZK_VANILLA_column_node, alter_column_node, 15, K, NO, NO, NO},
    {"column label 1", ZK_VANILLA_column_leaf, alter_column_label_1, 15, K, NO, NO, NO},
    {"column label 2", ZK_VANILLA_column_leaf, alter_column_label_2, 15, K, NO, NO, NO},
    {"column leaf", ZK_VANILLA_column_leaf, alter_column_leaf, 15, K, NO, NO, NO},
    {"column index", ZK_VANILLA_column_index, alter_column_index, 15, K, NO, 1, NO},
    {"column sibling", ZK_VANILLA_column_path, alter_column_sibling, 14, K, NO, NO, NO},
    {"labeling layer", ZK_VANILLA_labeling_layer, alter_labeling_layer, 2, NO, K_PLUS_1, NO, NO},
    {"labeling node", ZK_VANILLA_labeling_node, alter_labeling_node, 2, NO, K_PLUS_1, NO, NO},
    {"labeling repeat", ZK_VANILLA_labeling_repeat, alter_labeling_repeat, 37, NO, 2, NO, K},
    {"labeling parent, layer 1", ZK_VANILLA_labeling_parents, alter_labeling_parent_1, 6, NO, 1, NO, K},
    {"labeling parent, layer 2", ZK_VANILLA_labeling_parents, alter_labeling_parent_2, 14, NO, 2, NO, K},
    {"encoding layer", ZK_VANILLA_encoding_layer, alter_encoding_layer, 1, NO, 2, NO, NO},
    {"encoding node", ZK_VANILLA_encoding_node, alter_encoding_node, 1, NO, 2, NO, NO},
    {"encoding repeat", ZK_VANILLA_encoding_repeat, alter_encoding_repeat, 37, NO, 2, NO, K},
    {"encoding parent", ZK_VANILLA_encoding_parents, alter_encoding_parent, 14, NO, 2, NO, K},
};

/* These are found only where the altered challenge is not the first one, whose roots are the reference. */
static const alteration alterations_of_second[] = {
    {"replica tree", ZK_VANILLA_comm_r_last, alter_replica_consistently, 14, NO, NO, NO, NO},
    {"column tree", ZK_VANILLA_comm_c, alter_column_consistently, 15, K, NO, NO, NO},
    {"column root", ZK_VANILLA_column_path, alter_column_root, 15, K, NO, NO, NO},
};
static const alteration alterations_of_first[] = {
    {"data and comm_d", ZK_VANILLA_encoding, alter_data_and_comm_d, 1, NO, 2, NO, NO},
    {"replica id", ZK_VANILLA_label, alter_replica_id, 2, NO, 1, NO, NO},
};

/* A C1 whose arrays are its own. */
static zk_c1 *clone(const zk_c1 *c1) {
    const zk_c1_shape *s = &c1->shape;
    size_t n =
        s->n_challenges * (8ull * (s->n_layers + 1) + 32ull * s->nodes_per_challenge + 4ull * s->numbers_per_challenge);
    zk_c1 *copy = malloc(sizeof *copy);
    *copy = *c1;
    copy->partitions = calloc(c1->n_partitions, sizeof *copy->partitions);
    for (uint32_t p = 0; p < c1->n_partitions; p++) {
        uint8_t *from = (uint8_t *)c1->partitions[p].places, *block = malloc(n);
        memcpy(block, from, n);
        copy->partitions[p].places = (uint64_t *)(void *)block;
        copy->partitions[p].nodes = (zk_node *)(block + ((uint8_t *)c1->partitions[p].nodes - from));
        copy->partitions[p].numbers = (uint32_t *)(void *)(block + ((uint8_t *)c1->partitions[p].numbers - from));
    }
    return copy;
}

static uint32_t expected_place(uint32_t value, unsigned k) {
    return value == K ? k : value == K_PLUS_1 ? k + 1 : value;
}

static void check_alterations(const alteration *list, size_t n, const zk_c1 *c1, uint32_t partition, uint32_t challenge,
                              zk_pool *pool) {
    for (size_t i = 0; i < n; i++) {
        const alteration *a = &list[i];
        for (unsigned k = 0; k < a->n_k; k++) {
            zk_c1 *bad = clone(c1);
            zk_c1_challenge view;
            zk_vanilla_failure f;
            cuzk_err err = {0};
            zk_c1_challenge_get(&view, bad, partition, challenge);
            a->alter(bad, &view, k);
            cuzk_status status = zk_c1_verify(&f, bad, pool, &err);
            zk_c1_destroy(bad);
            ZK_CHECKF(status == CUZK_CHECK_FAILED && f.check == a->check, "%s, k = %u: %s (%s)", a->what, k,
                      zk_vanilla_check_name(f.check), err.message);
            ZK_CHECKF(strstr(err.message, zk_vanilla_check_name(a->check)) != NULL, "%s", err.message);
            bool global = a->check <= ZK_VANILLA_replica_id,
                 first = a->alter == alter_comm_d || a->alter == alter_comm_r;
            ZK_CHECKF(f.partition == (global ? NO : first ? 0 : partition), "%s", err.message);
            ZK_CHECKF(f.challenge == (global || a->check == ZK_VANILLA_comm_r ? NO
                                      : first                                 ? 0
                                                                              : challenge),
                      "%s", err.message);
            ZK_CHECKF(f.column == expected_place(a->column, k), "%s, k = %u: %s", a->what, k, err.message);
            ZK_CHECKF(f.layer == expected_place(a->layer, k), "%s, k = %u: %s", a->what, k, err.message);
            ZK_CHECKF(f.level == expected_place(a->level, k), "%s, k = %u: %s", a->what, k, err.message);
            ZK_CHECKF(f.element == expected_place(a->element, k), "%s, k = %u: %s", a->what, k, err.message);
        }
    }
}

#define N(list) (sizeof(list) / sizeof(list)[0])

static void test_altered(void) {
    zk_c1 *c1 = read_c1("seal-StackedDrg2KiBV1_1.c1.json");
    zk_pool *pool = make_pool();
    check_alterations(alterations, N(alterations), c1, 0, 0, pool);
    check_alterations(alterations, N(alterations), c1, 0, 1, NULL);
    check_alterations(alterations_of_second, N(alterations_of_second), c1, 0, 1, pool);
    check_alterations(alterations_of_first, N(alterations_of_first), c1, 0, 0, pool);
    zk_pool_destroy(pool);
    zk_c1_destroy(c1);
}

/* In a later partition of many; the first failure is reported even when a later one is found sooner. */
static void test_altered_later_partition(void) {
    if (!zk_input_has_zstd()) return;
    zk_c1 *c1 = read_c1("seal-StackedDrg2KiBV1_2_Feat_NonInteractivePoRep.c1.json.zst"), *bad = clone(c1);
    zk_pool *pool = make_pool();
    zk_c1_challenge view;
    zk_vanilla_failure f;
    check_alterations(alterations_of_second, 2, c1, 11, 1, pool);
    for (uint32_t p = 5; p < 13; p++) {
        zk_c1_challenge_get(&view, bad, p, 1);
        flip(*(p == 5 ? view.encoding.parents : view.data.siblings));
    }
    ZK_CHECK(zk_c1_verify(&f, bad, pool, NULL) == CUZK_CHECK_FAILED);
    ZK_CHECK(f.partition == 5 && f.challenge == 1 && f.check == ZK_VANILLA_encoding_parents);
    /* Partitions of one sector change places: every check of the challenge's number fails first. */
    zk_c1_partition first = c1->partitions[0];
    c1->partitions[0] = c1->partitions[1];
    c1->partitions[1] = first;
    ZK_CHECK(zk_c1_verify(&f, c1, pool, NULL) == CUZK_CHECK_FAILED);
    ZK_CHECK(f.partition == 0 && f.challenge == 0 && f.check == ZK_VANILLA_data_index);
    zk_pool_destroy(pool);
    zk_c1_destroy(bad);
    zk_c1_destroy(c1);
}

/* Under the name of another version the same bytes are another statement. */
static void test_other_version(void) {
    zk_c1 *c1 = read_c1("seal-StackedDrg2KiBV1_1.c1.json");
    for (unsigned i = 0; i < ZK_N_REGISTERED_SEALS; i++) {
        const zk_registered_seal *seal = zk_registered_seal_by_number(i);
        if (seal->sector_bytes != 2048 || seal->n_partitions != 1 || seal == c1->seal) continue;
        zk_c1 *bad = clone(c1);
        bad->seal = seal;
        ZK_CHECK(zk_c1_verify(NULL, bad, NULL, NULL) == CUZK_CHECK_FAILED);
        zk_c1_destroy(bad);
    }
    zk_c1_destroy(c1);
}

/* Digits of the document changed at random: always refused by the reader or found by verification. */
static void test_altered_digits(void) {
    char path[4096];
    uint8_t prover_id[32];
    snprintf(path, sizeof path, "%s/porep/seal-StackedDrg2KiBV1_1.c1.json", zk_test_vectors_dir());
    FILE *f = fopen(path, "rb");
    static char text[200000];
    ZK_CHECK(f != NULL);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    zk_prover_id(prover_id, 1193);
    uint64_t seed = 99;
    unsigned n_read = 0;
    for (unsigned i = 0; i < 400; i++) {
        size_t at = (size_t)(zk_test_rand(&seed) % n);
        while (text[at] < '0' || text[at] > '9') at = (at + 1) % n;
        char old = text[at];
        text[at] = (char)('0' + (old - '0' + 1 + zk_test_rand(&seed) % 9) % 10);
        zk_c1 *c1 = NULL;
        cuzk_status status = zk_c1_read_memory(&c1, text, n, NULL);
        if (status == CUZK_OK) {
            n_read++;
            status = zk_c1_verify(NULL, c1, NULL, NULL);
            if (status == CUZK_OK) status = zk_c1_verify_replica_id(c1, prover_id, 117, NULL);
        }
        ZK_CHECKF(status == CUZK_BAD_INPUT || status == CUZK_CHECK_FAILED, "byte %zu: %c to %c", at, old, text[at]);
        zk_c1_destroy(c1);
        text[at] = old;
    }
    ZK_CHECK(n_read > 100); /* most alterations are for verification to find */
}

ZK_TEST_MAIN(ZK_CASE(test_vectors), ZK_CASE(test_altered), ZK_CASE(test_altered_later_partition),
             ZK_CASE(test_other_version), ZK_CASE(test_altered_digits))
