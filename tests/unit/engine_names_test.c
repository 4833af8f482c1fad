/* Names that leave the engine: what clients and dashboards of the public engine know. */
#include "engine/circuits.h"
#include "engine/engine.h"
#include "zk_test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void test_circuit_ids(void) {
    static const struct {
        const char *prefix;
        zk_proof_kind kind;
    } kinds[] = {
        {"porep", ZK_KIND_POREP}, {"wpost", ZK_KIND_WINDOW}, {"winning", ZK_KIND_WINNING}, {"snap", ZK_KIND_UPDATE}};
    static const struct {
        const char *name;
        uint64_t bytes;
    } sizes[] = {{"2k", 2048}, {"8m", 8388608}, {"512m", 536870912}, {"32g", 34359738368}, {"64g", 68719476736}};
    for (size_t i = 0; i < COUNT(kinds) * COUNT(sizes); i++) {
        char id[ZK_CIRCUIT_ID_BYTES], want[ZK_CIRCUIT_ID_BYTES];
        zk_proof_kind kind = kinds[i / COUNT(sizes)].kind;
        uint64_t bytes = sizes[i % COUNT(sizes)].bytes, found_bytes = 0;
        cuzk_err err = {0};
        snprintf(want, sizeof want, "%s-%s", kinds[i / COUNT(sizes)].prefix, sizes[i % COUNT(sizes)].name);
        ZK_CHECK_OK(zk_circuit_id(id, kind, bytes, &err), err);
        ZK_CHECKF(strcmp(id, want) == 0, "%s", id);
        ZK_CHECK_OK(zk_circuit_parse(&kind, &found_bytes, want, &err), err);
        ZK_CHECKF(kind == kinds[i / COUNT(sizes)].kind && found_bytes == bytes, "%s", want);
    }
}

static void test_partition_states(void) {
    static const char *const states[] = {"pending", "synthesizing", "synth_done", "gpu", "done", "failed"};
    for (unsigned i = 0; i < COUNT(states); i++)
        ZK_CHECK(strcmp(zk_partition_state_name((zk_partition_state)i), states[i]) == 0);
}

ZK_TEST_MAIN(ZK_CASE(test_circuit_ids), ZK_CASE(test_partition_states))
