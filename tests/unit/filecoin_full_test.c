/* What takes too long for every run. */
#include "filecoin/graph.h"
#include "filecoin/vanilla.h"
#include "filecoin_vectors.h"
#include "hash/sha256.h"

/* The graphs of 2^18 nodes, every node. */
static void test_graph_8mib(void) {
    zk_json_doc *doc = load_json("primitives/graph.json");
    const zk_json_value *list = get(zk_json_root(doc), "graphs");
    unsigned n_found = 0;
    for (size_t i = 0; i < zk_json_count(list); i++) {
        const zk_json_value *row = zk_json_element_of(list, i);
        zk_api_version version = strcmp(get_text(row, "api_version"), "1.0.0") == 0 ? ZK_API_1_0_0 : ZK_API_1_1_0;
        if (get_u64(row, "nodes") != 1u << 18) continue;
        uint8_t porep_id[32], want[32], digest[32];
        zk_graph graph;
        get_node(porep_id, row, "porep_id");
        get_node(want, row, "all_parents_sha256");
        zk_graph_init(&graph, get_u64(row, "nodes"), porep_id, version);
        for (int tabulated = 0; tabulated < 2; tabulated++) {
            cuzk_err err = {0};
            if (tabulated) ZK_CHECK_OK(zk_graph_tabulate(&graph, &err), err);
            digest_of_parents(digest, &graph);
            ZK_CHECK_MEM(digest, want, 32);
        }
        zk_graph_clear(&graph);
        n_found++;
    }
    ZK_CHECK(n_found == 4);
    zk_json_doc_destroy(doc);
}

/* A document of the real size, read and verified. */
static void test_32gib(void) {
    char path[4096];
    zk_c1 *c1 = NULL;
    zk_pool *pool = NULL;
    zk_vanilla_failure failure;
    cuzk_err err = {0};
    if (!zk_input_has_zstd()) return;
    snprintf(path, sizeof path, "%s/porep/sparse-StackedDrg32GiBV1_1.c1.json.zst", zk_test_vectors_dir());
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
    ZK_CHECK_OK(zk_c1_read_file(&c1, path, &err), err);
    ZK_CHECK_OK(zk_c1_verify(&failure, c1, pool, &err), err);
    /* One bit in the last partition's last challenge, in the middle of eleven layers. */
    zk_c1_challenge view;
    zk_c1_challenge_get(&view, c1, 9, 17);
    view.parents[13].labels[5][3] ^= 1;
    ZK_CHECK(zk_c1_verify(&failure, c1, pool, NULL) == CUZK_CHECK_FAILED);
    ZK_CHECK(failure.check == ZK_VANILLA_column_leaf && failure.partition == 9 && failure.challenge == 17);
    ZK_CHECK(failure.column == 14);
    view.parents[13].labels[5][3] ^= 1;
    view.labeling[6].parents[13][3] ^= 1;
    ZK_CHECK(zk_c1_verify(&failure, c1, pool, NULL) == CUZK_CHECK_FAILED);
    ZK_CHECK(failure.check == ZK_VANILLA_labeling_parents && failure.layer == 7 && failure.element == 13);
    zk_c1_destroy(c1);
    zk_pool_destroy(pool);
}

ZK_TEST_MAIN(ZK_CASE(test_graph_8mib), ZK_CASE(test_32gib))
