/* Request files made from vectors/update. */
#ifndef ZK_E2E_UPDATE_REQUEST_H
#define ZK_E2E_UPDATE_REQUEST_H

#include "../unit/filecoin_vectors.h"
#include "base/base64.h"
#include "run.h"

static inline void put_base64(FILE *f, const char *name, const uint8_t *bytes, size_t n) {
    char *text = malloc(4 * (n / 3 + 1) + 1);
    ZK_CHECK(text);
    zk_base64_encode(text, bytes, n);
    fprintf(f, "%s%s%s\"%s\"", name ? "\"" : "", name ? name : "", name ? "\":" : "", text);
    free(text);
}

/* The request of a sample with all its partitions; byte `flip` of the last partition's proof is changed (SIZE_MAX:
 * none). */
static inline const char *update_request(const char *sample, unsigned registered_proof, size_t flip) {
    static const char *const commitments[] = {"comm_r_old", "comm_r_new", "comm_d_new"};
    char file[128];
    snprintf(file, sizeof file, "update/%s.json", sample);
    zk_json_doc *doc = load_json(file);
    const zk_json_value *root = zk_json_root(doc);
    uint64_t n_partitions = get_u64(root, "partitions");
    const char *path = e2e_path(flip == SIZE_MAX ? "request.json" : "altered.json");
    FILE *f = fopen(path, "w");
    ZK_CHECK(f != NULL);
    fprintf(f,
            "{\"request_id\":\"snap-1000-77\",\"proof_kind\":\"SNAP_DEALS_UPDATE\",\"sector_size\":\"%llu\","
            "\"registered_proof\":%u,\"sector_number\":77,\"miner_id\":1000,",
            (unsigned long long)get_u64(root, "sector_bytes"), registered_proof);
    for (size_t i = 0; i < 3; i++) {
        uint8_t node[32];
        get_node(node, get(root, "commitments"), commitments[i]);
        put_base64(f, commitments[i], node, sizeof node);
        fprintf(f, ",");
    }
    fprintf(f, "\"vanilla_proofs\":[");
    for (unsigned k = 0; k < n_partitions; k++) {
        size_t n = 0;
        snprintf(file, sizeof file, "update/%s-p%u.bin", sample, k);
        uint8_t *bytes = e2e_read(e2e_vector(file), &n);
        if (flip < n && k + 1 == n_partitions) bytes[flip] ^= 1;
        if (k) fprintf(f, ",");
        put_base64(f, NULL, bytes, n);
        free(bytes);
    }
    fprintf(f, "]}\n");
    fclose(f);
    zk_json_doc_destroy(doc);
    return path;
}

#endif
