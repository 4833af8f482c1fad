/* Parameter files: structure, full check, and loading of every section. */
#include <stdlib.h>

#include "groth16/params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static zk_backend *backend;
    zk_params *params;
    cuzk_err err = {0};
    if (!backend && zk_backend_open_cpu(&backend, NULL, &err) != CUZK_OK) abort();
    if (zk_params_open_bytes(&params, "fuzz", data, size, NULL, &err) != CUZK_OK) return 0;
    bool good = zk_params_check(params, NULL, NULL, NULL, &err) == CUZK_OK;
    for (int i = 0; i < ZK_PARAMS_N_SECTIONS; i++) {
        zk_params_section_id id = (zk_params_section_id)i;
        zk_resident_points *full;
        zk_points_fault fault;
        zk_points_source source = {zk_params_section_name(id), zk_params_section_group(id),
                                   params->bytes + params->section[i].offset, params->section[i].n, NULL};
        cuzk_status status = zk_resident_points_load(&full, NULL, &fault, backend, &source, &err);
        if (status != CUZK_OK && (good || !fault.found || fault.index >= source.n)) abort();
        zk_resident_points_unload(full);
    }
    zk_params_close(params);
    return 0;
}
