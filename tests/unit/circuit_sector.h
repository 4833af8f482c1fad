/* From a C1 file to the witness of its circuits, against the reference's digests. */
#ifndef CIRCUIT_SECTOR_H
#define CIRCUIT_SECTOR_H

#include "circuit_check.h"
#include "filecoin/porep_input.h"
#include "gadget_run.h"

static inline void check_partition(gadget_run *r, const zk_c1 *c1, const zk_json_value *v, bool evaluate) {
    zk_program *p = r->p;
    cuzk_err err = {0};
    zk_pool *pool = NULL;
    zk_porep_input *input = NULL;
    zk_checkpoints checkpoints;
    uint8_t sha256[32], want[32];
    const zk_json_value *witness = zk_json_member_of(v, "witness");
    uint64_t every = get_u64(witness, "every");
    uint8_t(*hints)[32] = malloc(p->n_hints * sizeof *hints);
    ZK_CHECK(hints);
    ZK_CHECK_OK(zk_pool_create(&pool, 0, &err), err);
    ZK_CHECK_OK(zk_porep_input_create(&input, c1, (uint32_t)get_u64(v, "partition"), &err), err);
    ZK_CHECK_OK(zk_porep_hints(hints, p->n_hints, c1->shape.sector_bytes, &input->partition, &err), err);
    ZK_CHECK_OK(zk_program_witness(p, (const uint8_t(*)[32])hints, &r->w, pool, &err), err);
    ZK_CHECK_OK(zk_witness_digest(sha256, &checkpoints, p, &r->w, (uint32_t)every, &err), err);
    check_checkpoints("aux", &checkpoints, zk_json_member_of(witness, "checkpoints_aux"), every);
    zk_checkpoints_free(&checkpoints);
    get_hex(want, 32, zk_json_member_of(witness, "sha256_aux"), "sha256_aux");
    ZK_CHECK_MEM(sha256, want, 32);
    const zk_json_value *inputs = zk_json_member_of(v, "public_inputs");
    ZK_CHECK(zk_json_count(inputs) == p->n_inputs - 1);
    for (uint32_t i = 1; i < p->n_inputs; i++) {
        uint8_t found[32];
        get_hex(want, 32, zk_json_element_of(inputs, i - 1), "public_inputs");
        zk_fr_to_bytes_le(found, &r->w.inputs[i]);
        ZK_CHECKF(!memcmp(want, found, 32), "input %u", i);
    }
    if (evaluate) run_satisfied(r);
    free(input);
    free(hints);
    zk_pool_destroy(pool);
}

/* All partitions of vectors/porep/NAME.json that have a witness digest. Without zstd in the build the file cannot be
 * read. */
static inline void check_sector(const char *name, uint32_t n_expected, bool evaluate) {
    char path[4096];
    cuzk_err err = {0};
    zk_c1 *c1 = NULL;
    zk_program *p = NULL;
    gadget_run r = {0};
    if (!zk_input_has_zstd()) return;
    snprintf(path, sizeof path, "%s/porep/%s.c1.json.zst", zk_test_vectors_dir(), name);
    ZK_CHECK_OK(zk_c1_read_file(&c1, path, &err), err);
    snprintf(path, sizeof path, "porep/%s.json", name);
    zk_json_doc *doc = load_json(path);
    const zk_json_value *partitions = zk_json_member_of(zk_json_root(doc), "partitions");
    ZK_CHECK_OK(zk_porep_program(&p, c1->shape.sector_bytes, &err), err);
    run_alloc(&r, p, evaluate);
    uint32_t n_found = 0;
    for (size_t i = 0; i < zk_json_count(partitions); i++) {
        const zk_json_value *v = zk_json_element_of(partitions, i);
        if (!zk_json_is(zk_json_member_of(v, "witness"), ZK_JSON_OBJECT_BEGIN)) continue;
        check_partition(&r, c1, v, evaluate);
        n_found++;
    }
    ZK_CHECKF(n_found == n_expected, "%u partitions with a witness", n_found);
    run_free(&r);
    zk_json_doc_destroy(doc);
    zk_c1_destroy(c1);
}

#endif
