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
        zk_sha256_ctx ctx;
        get_node(porep_id, row, "porep_id");
        zk_graph_init(&graph, get_u64(row, "nodes"), porep_id, version);
        zk_sha256_init(&ctx);
        for (uint32_t v = 0; v < graph.n_nodes; v++) {
            uint32_t parents[ZK_ALL_PARENTS];
            zk_graph_parents(parents, &graph, v);
            zk_sha256_update(&ctx, parents, sizeof parents);
        }
        zk_sha256_final(digest, &ctx);
        get_node(want, row, "all_parents_sha256");
        ZK_CHECK_MEM(digest, want, 32);
        n_found++;
    }
    ZK_CHECK(n_found == 4);
    zk_json_doc_destroy(doc);
}

ZK_TEST_MAIN(ZK_CASE(test_graph_8mib))
