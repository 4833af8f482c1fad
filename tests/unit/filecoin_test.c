/* Registered proofs, graphs, challenges, labels and Merkle openings against the vectors. */
#include "filecoin/challenges.h"
#include "filecoin/graph.h"
#include "filecoin/labels.h"
#include "filecoin/merkle.h"
#include "filecoin/registered.h"
#include "base/bytes.h"
#include "filecoin_vectors.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

static zk_api_version api_of(const char *name) {
    for (unsigned v = ZK_API_1_0_0; v <= ZK_API_1_2_0; v++)
        if (strcmp(zk_api_version_name((zk_api_version)v), name) == 0) return (zk_api_version)v;
    ZK_FAIL_CASE("api version %s", name);
}

static void check_files(const zk_json_value *row, const char *identifier) {
    char file[ZK_IDENTIFIER_MAX + 16];
    ZK_CHECKF(strcmp(identifier, get_text(row, "circuit_identifier")) == 0, "%s", identifier);
    zk_parameter_file_name(file, identifier, ".params");
    ZK_CHECK(strcmp(file, get_text(get(row, "params"), "file")) == 0);
    zk_parameter_file_name(file, identifier, ".vk");
    ZK_CHECK(strcmp(file, get_text(get(row, "verifying_key"), "file")) == 0);
}

static void test_registered(void) {
    zk_json_doc *doc = load_json("primitives/registered.json");
    const zk_json_value *seals = get(zk_json_root(doc), "seal"), *posts = get(zk_json_root(doc), "post");
    const zk_json_value *updates = get(zk_json_root(doc), "update");
    char identifier[ZK_IDENTIFIER_MAX];
    ZK_CHECK(zk_json_count(seals) == ZK_N_REGISTERED_SEALS);
    for (size_t i = 0; i < zk_json_count(seals); i++) {
        const zk_json_value *row = zk_json_element_of(seals, i), *features = get(row, "features");
        const zk_registered_seal *s = zk_registered_seal_by_number(get_u64(row, "number"));
        uint8_t porep_id[32], want[32];
        ZK_CHECK(s && s->number == get_u64(row, "number") && strcmp(s->name, get_text(row, "name")) == 0);
        ZK_CHECK(zk_registered_seal_by_name(s->name, strlen(s->name)) == s);
        ZK_CHECK(s->sector_bytes == get_u64(row, "sector_size"));
        ZK_CHECK(s->n_partitions == get_u64(row, "partitions"));
        ZK_CHECK(s->n_challenges == get_u64(row, "challenges_per_partition"));
        ZK_CHECK(s->n_layers == get_u64(row, "layers"));
        ZK_CHECK(s->api_version == api_of(get_text(row, "api_version")));
        ZK_CHECK(get_u64(row, "proof_bytes") == 192u * s->n_partitions);
        ZK_CHECK((zk_json_count(features) == 0) == (s->feature == ZK_POREP_INTERACTIVE));
        if (s->feature != ZK_POREP_INTERACTIVE)
            ZK_CHECK(strcmp(zk_json_element_of(features, 0)->text,
                            s->feature == ZK_POREP_SYNTHETIC ? "synthetic-porep" : "non-interactive-porep") == 0);
        zk_registered_seal_porep_id(porep_id, s);
        get_node(want, row, "porep_id");
        ZK_CHECK_MEM(porep_id, want, 32);
        zk_porep_identifier(identifier, s->sector_bytes);
        check_files(row, identifier);
        const zk_registered_seal *first = zk_registered_seal_by_size_name(s->size_name, strlen(s->size_name));
        ZK_CHECK(first && first->number == s->number % 5 && strcmp(first->name, s->size_name) == 0);
    }
    ZK_CHECK(zk_json_count(posts) == ZK_N_REGISTERED_POSTS);
    for (size_t i = 0; i < zk_json_count(posts); i++) {
        const zk_json_value *row = zk_json_element_of(posts, i);
        const zk_registered_post *p = zk_registered_post_by_number(get_u64(row, "number"));
        ZK_CHECK(p && p->number == get_u64(row, "number") && strcmp(p->name, get_text(row, "name")) == 0);
        ZK_CHECK(zk_registered_post_by_name(p->name, strlen(p->name)) == p);
        ZK_CHECK(p->sector_bytes == get_u64(row, "sector_size"));
        ZK_CHECK((p->kind == ZK_POST_WINNING) == (strcmp(get_text(row, "type"), "Winning") == 0));
        ZK_CHECK(p->api_version == api_of(get_text(row, "api_version")));
        ZK_CHECK(p->n_challenges == get_u64(row, "challenges_per_sector"));
        ZK_CHECK(p->n_sectors == get_u64(row, "sectors_per_partition"));
        ZK_CHECK(p->circuit_n_sectors == get_u64(row, "circuit_sector_count"));
        ZK_CHECK(p->circuit_n_challenges == get_u64(row, "circuit_challenge_count"));
        zk_post_identifier(identifier, p);
        check_files(row, identifier);
    }
    ZK_CHECK(zk_json_count(updates) == ZK_N_REGISTERED_UPDATES);
    for (size_t i = 0; i < zk_json_count(updates); i++) {
        const zk_json_value *row = zk_json_element_of(updates, i);
        const zk_registered_update *u = zk_registered_update_by_number(get_u64(row, "number"));
        ZK_CHECK(u && u->number == get_u64(row, "number") && strcmp(u->name, get_text(row, "name")) == 0);
        ZK_CHECK(zk_registered_update_by_name(u->name, strlen(u->name)) == u);
        ZK_CHECK(u->sector_bytes == get_u64(row, "sector_size"));
        ZK_CHECK(u->n_partitions == get_u64(row, "partitions_of_update_proof"));
        ZK_CHECK(u->n_challenges == get_u64(row, "challenges_per_partition"));
        ZK_CHECK(u->h == get_u64(row, "h"));
        zk_update_identifier(identifier, u->sector_bytes);
        check_files(row, identifier);
    }
    ZK_CHECK(!zk_registered_seal_by_number(20) && !zk_registered_post_by_number(15) &&
             !zk_registered_update_by_number(5));
    ZK_CHECK(!zk_registered_seal_by_name("StackedDrg2KiBV1_", 17) && !zk_registered_seal_by_name("", 0));
    ZK_CHECK(zk_registered_seal_by_name("StackedDrg2KiBV1_1", 16) == zk_registered_seal_by_number(0));
    zk_json_doc_destroy(doc);
}

static void test_feistel(void) {
    zk_json_doc *doc = load_json("primitives/graph.json");
    const zk_json_value *list = get(zk_json_root(doc), "feistel");
    ZK_CHECK(zk_json_count(list) > 0);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        uint64_t keys[3], n = get_u64(row, "num_elements"), x = get_u64(row, "index");
        for (unsigned k = 0; k < 3; k++) keys[k] = u64_of(zk_json_element_of(get(row, "keys"), k));
        ZK_CHECK(zk_feistel_permute(n, x, keys) == get_u64(row, "permuted"));
        ZK_CHECK(zk_feistel_invert(n, x, keys) == get_u64(row, "inverse_of_index"));
    }
    /* A permutation, for every small size. */
    static const uint64_t keys[3] = {1, 2, 3};
    for (uint64_t n = 1; n <= 70; n++) {
        uint8_t seen[70] = {0};
        for (uint64_t x = 0; x < n; x++) {
            uint64_t y = zk_feistel_permute(n, x, keys);
            ZK_CHECK(y < n && !seen[y]);
            seen[y] = 1;
            ZK_CHECK(zk_feistel_invert(n, y, keys) == x);
        }
    }
    zk_json_doc_destroy(doc);
}

static void check_parents(const zk_json_value *list, const zk_graph *graph) {
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *entry = zk_json_element_of(list, i), *want = zk_json_element_of(entry, 1);
        uint32_t parents[ZK_ALL_PARENTS], node = (uint32_t)u64_of(zk_json_element_of(entry, 0));
        zk_graph_parents(parents, graph, node);
        ZK_CHECK(zk_json_count(want) == ZK_ALL_PARENTS);
        for (unsigned k = 0; k < ZK_ALL_PARENTS; k++)
            ZK_CHECKF(parents[k] == u64_of(zk_json_element_of(want, k)), "node %u parent %u: %u", node, k, parents[k]);
    }
}

static void test_graphs(void) {
    zk_json_doc *doc = load_json("primitives/graph.json");
    static const char *const lists[] = {"graphs", "other"};
    for (unsigned l = 0; l < 2; l++) {
        const zk_json_value *list = get(zk_json_root(doc), lists[l]);
        ZK_CHECK(zk_json_count(list) > 0);
        for (size_t i = 0; i < zk_json_count(list); i++) {
            const zk_json_value *row = zk_json_element_of(list, i);
            uint8_t porep_id[32], want[32], digest[32];
            zk_graph graph;
            get_node(porep_id, row, "porep_id");
            zk_graph_init(&graph, get_u64(row, "nodes"), porep_id, api_of(get_text(row, "api_version")));
            /* By hashes, and by the table of their values. */
            for (int tabulated = 0; tabulated < 2; tabulated++) {
                cuzk_err err = {0};
                if (tabulated) ZK_CHECK_OK(zk_graph_tabulate(&graph, &err), err);
                check_parents(get(row, "parents"), &graph);
                /* The whole graph where it is small; larger ones in filecoin_full_test.c. */
                const zk_json_value *all = zk_json_member_of(row, "all_parents_sha256");
                if (!all || graph.n_nodes > 64) continue;
                digest_of_parents(digest, &graph);
                hex_of(want, 32, all);
                ZK_CHECK_MEM(digest, want, 32);
            }
            zk_graph_clear(&graph);
        }
    }
    zk_json_doc_destroy(doc);
}

static void test_challenges(void) {
    zk_json_doc *doc = load_json("primitives/challenges.json");
    const zk_json_value *list = get(zk_json_root(doc), "porep");
    unsigned kinds = 0;
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i), *by_partition;
        const zk_registered_seal *seal = zk_registered_seal_by_number(get_u64(row, "registered_seal_proof"));
        uint8_t replica_id[32], comm_r[32] = {0}, seed[32] = {0}, digest[32], want[32];
        zk_challenge_set set;
        zk_sha256_ctx ctx;
        const char *kind = get_text(row, "kind");
        kinds |= 1u << seal->feature;
        ZK_CHECK((seal->feature == ZK_POREP_SYNTHETIC) == (strcmp(kind, "synthetic") == 0));
        ZK_CHECK((seal->feature == ZK_POREP_NON_INTERACTIVE) == (strcmp(kind, "non-interactive") == 0));
        get_node(replica_id, row, "replica_id");
        if (seal->feature != ZK_POREP_INTERACTIVE) get_node(comm_r, row, "comm_r");
        if (seal->feature != ZK_POREP_NON_INTERACTIVE) get_node(seed, row, "seed");
        zk_challenge_set_init(&set, seal->feature, get_u64(row, "nodes"), replica_id, comm_r, seed);
        by_partition = zk_json_member_of(row, "challenges_by_partition");
        if (!by_partition) by_partition = get(row, "first5_by_partition");
        zk_sha256_init(&ctx);
        uint32_t c = (uint32_t)get_u64(row, "challenges_per_partition");
        for (uint32_t k = 0; k < get_u64(row, "partitions"); k++) {
            uint64_t challenges[18];
            const zk_json_value *shown = zk_json_element_of(by_partition, k);
            ZK_CHECK(c <= 18);
            zk_challenge_set_get(challenges, k * c, c, &set);
            zk_sha256_update(&ctx, challenges, 8 * c);
            for (size_t j = 0; j < zk_json_count(shown); j++)
                ZK_CHECKF(challenges[j] == u64_of(zk_json_element_of(shown, j)), "row %zu partition %u challenge %zu",
                          i, k, j);
        }
        zk_sha256_final(digest, &ctx);
        get_node(want, row, "challenges_sha256");
        ZK_CHECK_MEM(digest, want, 32);
        if (seal->feature != ZK_POREP_SYNTHETIC) continue;
        ZK_CHECK(zk_synthetic_set_size(&set) == get_u64(row, "synthetic_set_size"));
        const zk_json_value *first = get(row, "synthetic_first5"), *last = get(row, "synthetic_last3");
        for (size_t j = 0; j < 5; j++)
            ZK_CHECK(zk_synthetic_set_element(&set, j) == u64_of(zk_json_element_of(first, j)));
        for (size_t j = 0; j < 3; j++)
            ZK_CHECK(zk_synthetic_set_element(&set, zk_synthetic_set_size(&set) - 3 + j) ==
                     u64_of(zk_json_element_of(last, j)));
        if (zk_synthetic_set_size(&set) > 64) continue;
        zk_sha256_init(&ctx);
        for (uint64_t j = 0; j < zk_synthetic_set_size(&set); j++) {
            uint64_t element = zk_synthetic_set_element(&set, j);
            zk_sha256_update(&ctx, &element, 8);
        }
        zk_sha256_final(digest, &ctx);
        get_node(want, row, "synthetic_set_sha256");
        ZK_CHECK_MEM(digest, want, 32);
    }
    ZK_CHECK(kinds == 7);
    zk_json_doc_destroy(doc);
}

static void test_replica_id(void) {
    zk_json_doc *doc = load_json("primitives/challenges.json");
    const zk_json_value *list = get(zk_json_root(doc), "replica_id");
    ZK_CHECK(zk_json_count(list) > 0);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        uint8_t prover[32], ticket[32], comm_d[32], porep_id[32], want[32], got[32];
        get_node(prover, row, "prover_id");
        get_node(ticket, row, "ticket");
        get_node(comm_d, row, "comm_d");
        get_node(porep_id, row, "porep_id");
        get_node(want, row, "replica_id");
        zk_replica_id(got, prover, get_u64(row, "sector_number"), ticket, comm_d, porep_id);
        ZK_CHECK_MEM(got, want, 32);
    }
    zk_json_doc_destroy(doc);
}

static void test_prover_id(void) {
    static const uint64_t miners[] = {0, 1, 127, 128, 1193, 16383, 16384, UINT32_MAX, 1ull << 63, UINT64_MAX};
    uint8_t id[32], want[32] = {0xa9, 0x09};
    uint64_t miner;
    zk_prover_id(id, 1193);
    ZK_CHECK_MEM(id, want, 32);
    for (size_t i = 0; i < sizeof miners / sizeof miners[0]; i++) {
        zk_prover_id(id, miners[i]);
        ZK_CHECK(zk_prover_id_miner(&miner, id) && miner == miners[i]);
        id[31] = 1;
        ZK_CHECK(!zk_prover_id_miner(&miner, id));
    }
    memset(id, 0xff, 32);
    ZK_CHECK(!zk_prover_id_miner(&miner, id));
    memset(id, 0, 32);
    id[0] = 0x80; /* zero in two bytes */
    ZK_CHECK(!zk_prover_id_miner(&miner, id));
}

/* Labels of whole 64-node graphs, layer upon layer. */
static void test_label_graphs(void) {
    zk_json_doc *doc = load_json("primitives/challenges.json");
    const zk_json_value *list = get(get(zk_json_root(doc), "labels"), "graphs");
    ZK_CHECK(zk_json_count(list) > 0);
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i), *layers = get(row, "by_layer");
        uint8_t replica_id[32], porep_id[32], labels[2][64][32], want[32], digest[32];
        zk_graph graph;
        ZK_CHECK(get_u64(row, "nodes") == 64);
        get_node(replica_id, row, "replica_id");
        get_node(porep_id, row, "porep_id");
        zk_graph_init(&graph, 64, porep_id, api_of(get_text(row, "api_version")));
        for (uint32_t l = 1; l <= get_u64(row, "layers"); l++) {
            uint8_t(*now)[32] = labels[l % 2], (*before)[32] = labels[(l + 1) % 2];
            for (uint32_t v = 0; v < 64; v++) {
                uint32_t parents[ZK_ALL_PARENTS];
                uint8_t values[ZK_ALL_PARENTS][32];
                uint32_t n = v == 0 ? 0 : l == 1 ? ZK_DRG_PARENTS : ZK_ALL_PARENTS;
                zk_graph_parents(parents, &graph, v);
                for (uint32_t k = 0; k < n; k++)
                    memcpy(values[k], k < ZK_DRG_PARENTS ? now[parents[k]] : before[parents[k]], 32);
                zk_create_label(now[v], replica_id, l, v, (const uint8_t(*)[32])values, n);
            }
            zk_sha256(digest, now, 64 * 32);
            bool found = false;
            for (size_t k = 0; k < zk_json_count(layers); k++) {
                const zk_json_value *layer = zk_json_element_of(layers, k);
                if (get_u64(layer, "layer") != l) continue;
                get_node(want, layer, "sha256");
                ZK_CHECKF(memcmp(digest, want, 32) == 0, "graph %zu layer %u", i, l);
                found = true;
            }
            ZK_CHECK(found || zk_json_count(layers) < get_u64(row, "layers"));
        }
    }
    zk_json_doc_destroy(doc);
}

static void test_labels_and_encoding(void) {
    zk_json_doc *doc = load_json("primitives/challenges.json");
    const zk_json_value *labels = get(zk_json_root(doc), "labels"), *list = get(labels, "single");
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i), *values = get(row, "parent_values");
        uint8_t replica_id[32], parents[ZK_ALL_PARENTS][32], want[32], got[32];
        get_node(replica_id, row, "replica_id");
        get_node(want, row, "label");
        ZK_CHECK(zk_json_count(values) <= ZK_ALL_PARENTS);
        for (size_t k = 0; k < zk_json_count(values); k++) hex_of(parents[k], 32, zk_json_element_of(values, k));
        zk_create_label(got, replica_id, (uint32_t)get_u64(row, "layer"), get_u64(row, "node"),
                        (const uint8_t(*)[32])parents, (uint32_t)zk_json_count(values));
        ZK_CHECK_MEM(got, want, 32);
    }
    list = get(labels, "encode");
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        uint8_t key[32], data[32], want[32], got[32];
        get_node(key, row, "label");
        get_node(data, row, "data");
        get_node(want, row, "encoded");
        ZK_CHECK(zk_encode(got, key, data));
        ZK_CHECK_MEM(got, want, 32);
        memset(key, 0xff, 32);
        ZK_CHECK(!zk_encode(got, key, data) && !zk_encode(got, data, key));
    }
    zk_json_doc_destroy(doc);
}

static void test_poseidon_trees(void) {
    zk_json_doc *doc = load_json("primitives/hash.json");
    const zk_json_value *trees = get(get(zk_json_root(doc), "poseidon_trees"), "trees");
    const char *label = get_text(zk_json_root(doc), "label");
    ZK_CHECK(zk_json_count(trees) > 0);
    for (size_t i = 0; i < zk_json_count(trees); i++) {
        const zk_json_value *tree = zk_json_element_of(trees, i), *proofs = get(tree, "proofs");
        const zk_json_value *arities = get(tree, "arities");
        uint8_t root[32], want[32], leaf[32];
        get_node(want, tree, "root");
        for (size_t k = 0; k < zk_json_count(proofs); k++) {
            const zk_json_value *proof = zk_json_element_of(proofs, k), *path = get(proof, "path_from_leaf");
            uint64_t number = get_u64(proof, "leaf");
            uint32_t index[8];
            uint8_t siblings[8 * 7][32];
            size_t n = 0;
            char text[128];
            zk_opening_shape shape = {.n_base = 2,
                                      .sub_arity = (uint32_t)u64_of(zk_json_element_of(arities, 1)),
                                      .top_arity = (uint32_t)u64_of(zk_json_element_of(arities, 2))};
            shape.n_nodes = 2 + (shape.sub_arity > 0) + (shape.top_arity > 0);
            snprintf(text, sizeof text, "%s/merkle/%s/%llu", label, get_text(tree, "shape"),
                     (unsigned long long)number);
            zk_fr fr;
            zk_sha256(leaf, text, strlen(text));
            zk_fr_from_bytes_reduce(&fr, leaf);
            zk_fr_to_bytes_le(leaf, &fr);
            ZK_CHECK(zk_json_count(path) == shape.n_nodes);
            for (uint32_t level = 0; level < zk_json_count(path); level++) {
                const zk_json_value *step = zk_json_element_of(path, level), *others = get(step, "siblings");
                index[level] = (uint32_t)get_u64(step, "index_in_node");
                ZK_CHECK(index[level] == zk_tree_index(&shape, number, level));
                ZK_CHECK(zk_json_count(others) == zk_opening_arity(&shape, level) - 1);
                for (size_t j = 0; j < zk_json_count(others); j++)
                    hex_of(siblings[n++], 32, zk_json_element_of(others, j));
            }
            cuzk_err err = {0};
            ZK_CHECK_OK(zk_tree_root(root, &shape, leaf, index, (const uint8_t(*)[32])siblings, &err), err);
            ZK_CHECKF(memcmp(root, want, 32) == 0, "tree %zu leaf %llu", i, (unsigned long long)number);
            siblings[n - 1][31] |= 0x80; /* not below r */
            ZK_CHECK(zk_tree_root(root, &shape, leaf, index, (const uint8_t(*)[32])siblings, NULL) == CUZK_BAD_INPUT);
        }
    }
    zk_json_doc_destroy(doc);
}

/* Many roots at once are the roots one by one, for any count; a path that has none (a leaf or sibling that is not below
 * r, an index that is not below the arity) is not known, says why when asked alone, and does not disturb its
 * neighbours. */
static void test_many_roots(void) {
    enum { N = 17 };
    static const zk_opening_shape shapes[] = {
        {.n_base = 2, .n_nodes = 2, .n_siblings = 14},
        {.n_base = 1, .sub_arity = 8, .top_arity = 2, .n_nodes = 3, .n_siblings = 15},
        {.n_base = 3, .sub_arity = 2, .n_nodes = 4, .n_siblings = 22}};
    static uint8_t leaf[N][32], siblings[N][22][32];
    static uint32_t index[N][4];
    uint64_t seed = 3;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const zk_opening_shape *shape = &shapes[s];
        for (size_t n = 0; n <= N; n++) {
            for (int faults = 0; faults < 2; faults++) {
                zk_tree_path paths[N];
                bool bad[N] = {false};
                for (size_t k = 0; k < n; k++) {
                    for (size_t j = 0; j < 32; j++)
                        leaf[k][j] = (uint8_t)(zk_test_rand(&seed) & (j == 31 ? 0x3f : 0xff));
                    for (size_t j = 0; j < 22 * 32; j++)
                        siblings[k][j / 32][j % 32] = (uint8_t)(zk_test_rand(&seed) & (j % 32 == 31 ? 0x3f : 0xff));
                    for (uint32_t level = 0; level < shape->n_nodes; level++)
                        index[k][level] = (uint32_t)(zk_test_rand(&seed) % zk_opening_arity(shape, level));
                    uint64_t fault = faults ? zk_test_rand(&seed) % 6 : 5;
                    bad[k] = fault < 3;
                    if (fault == 0) leaf[k][31] = 0xff;
                    if (fault == 1) siblings[k][zk_test_rand(&seed) % shape->n_siblings][31] = 0x74;
                    uint32_t level = (uint32_t)zk_test_rand(&seed) % shape->n_nodes;
                    if (fault == 2) index[k][level] = zk_opening_arity(shape, level);
                    paths[k] = (zk_tree_path){.leaf = leaf[k],
                                              .index = index[k],
                                              .siblings = (const uint8_t(*)[32])siblings[k],
                                              .known = zk_test_rand(&seed) & 1};
                }
                zk_tree_roots(paths, n, shape);
                for (size_t k = 0; k < n; k++) {
                    uint8_t want[32], got[32];
                    cuzk_err err = {0};
                    ZK_CHECKF(paths[k].known == !bad[k], "shape %zu n %zu path %zu", s, n, k);
                    if (bad[k]) {
                        bool whole = true; /* an index too high is for the caller to find first */
                        for (uint32_t i = 0; i < shape->n_nodes; i++)
                            whole = whole && index[k][i] < zk_opening_arity(shape, i);
                        if (whole) ZK_CHECK(zk_tree_path_root(got, &paths[k], shape, &err) == CUZK_BAD_INPUT);
                        continue;
                    }
                    ZK_CHECK_OK(zk_tree_root(want, shape, leaf[k], index[k], paths[k].siblings, &err), err);
                    ZK_CHECK_OK(zk_tree_path_root(got, &paths[k], shape, &err), err);
                    ZK_CHECKF(memcmp(got, want, 32) == 0, "shape %zu n %zu path %zu", s, n, k);
                }
            }
        }
    }
}

/* Many columns at once: equal to one by one for any count; one that cannot be hashed is reported. */
static void test_many_columns(void) {
    static uint8_t labels[17][11][32];
    const uint8_t(*columns[17])[32];
    static const uint32_t layers[] = {2, 11};
    uint64_t seed = 4;
    for (size_t k = 0; k < 17; k++) {
        for (size_t j = 0; j < 11 * 32; j++)
            labels[k][j / 32][j % 32] = (uint8_t)(zk_test_rand(&seed) & (j % 32 == 31 ? 0x3f : 0xff));
        columns[k] = (const uint8_t(*)[32])labels[k];
    }
    for (size_t l = 0; l < 2; l++) {
        for (size_t n = 0; n <= 17; n++) {
            zk_fr got[17], want;
            ZK_CHECK(zk_column_hash_many(got, columns, n, layers[l]));
            for (size_t k = 0; k < n; k++) {
                cuzk_err err = {0};
                ZK_CHECK_OK(zk_column_hash(&want, columns[k], layers[l], &err), err);
                ZK_CHECKF(zk_fr_eq(&got[k], &want), "n %zu column %zu", n, k);
            }
            if (n == 0) continue;
            uint8_t *last = &labels[n - 1][layers[l] - 1][31], saved = *last;
            *last = 0x74;
            ZK_CHECK(!zk_column_hash_many(got, columns, n, layers[l]));
            *last = saved;
        }
    }
}

static void test_data_trees(void) {
    zk_json_doc *doc = load_json("primitives/hash.json");
    const zk_json_value *trees = get(get(zk_json_root(doc), "sha256_trees"), "trees");
    const char *label = get_text(zk_json_root(doc), "label");
    ZK_CHECK(zk_json_count(trees) > 0);
    for (size_t i = 0; i < zk_json_count(trees); i++) {
        const zk_json_value *tree = zk_json_element_of(trees, i), *proofs = get(tree, "proofs");
        uint8_t root[32], want[32], leaf[32];
        get_node(want, tree, "root");
        for (size_t k = 0; k < zk_json_count(proofs); k++) {
            const zk_json_value *proof = zk_json_element_of(proofs, k), *others = get(proof, "siblings");
            uint32_t index[40], n = (uint32_t)zk_json_count(others);
            uint8_t siblings[40][32];
            char text[128];
            zk_fr fr;
            ZK_CHECK(n <= 40);
            for (uint32_t j = 0; j < n; j++) {
                index[j] = (uint32_t)u64_of(zk_json_element_of(get(proof, "index_in_node"), j));
                ZK_CHECK(index[j] == (get_u64(proof, "leaf") >> j & 1));
                hex_of(siblings[j], 32, zk_json_element_of(others, j));
            }
            snprintf(text, sizeof text, "%s/shatree/%llu/%llu", label, (unsigned long long)get_u64(tree, "leaves"),
                     (unsigned long long)get_u64(proof, "leaf"));
            zk_sha256(leaf, text, strlen(text));
            zk_fr_from_bytes_reduce(&fr, leaf);
            zk_fr_to_bytes_le(leaf, &fr);
            zk_data_tree_root(root, n, leaf, index, (const uint8_t(*)[32])siblings);
            ZK_CHECKF(memcmp(root, want, 32) == 0, "tree %zu proof %zu", i, k);
        }
    }
    zk_json_doc_destroy(doc);
}

ZK_TEST_MAIN(ZK_CASE(test_registered), ZK_CASE(test_feistel), ZK_CASE(test_graphs), ZK_CASE(test_challenges),
             ZK_CASE(test_replica_id), ZK_CASE(test_prover_id), ZK_CASE(test_label_graphs),
             ZK_CASE(test_labels_and_encoding), ZK_CASE(test_poseidon_trees), ZK_CASE(test_many_roots),
             ZK_CASE(test_many_columns), ZK_CASE(test_data_trees))
