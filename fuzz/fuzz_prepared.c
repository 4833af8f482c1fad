/* Prepared keys, read beside the parameters of a toy: what is opened has the layout of its header, and is loaded or
 * refused with the place of a point. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "groth16/prepared_params.h"
#include "groth16/r1cs_json.h"

#define TOY ZK_VECTORS_DIR "/toy/three-rows"

static int file = -1;
static char path[64];
static zk_params *params;
static zk_r1cs_circuit circuit;
static zk_resident_program *program;
static zk_query_masks masks;

static void open_toy(void) {
    zk_backend *backend;
    cuzk_err err = {0};
    cuzk_status status = zk_backend_open_cpu(&backend, NULL, &err);
    if (status == CUZK_OK) status = zk_r1cs_json_read(&circuit, TOY ".json", &err);
    if (status == CUZK_OK) status = zk_resident_program_load(&program, backend, circuit.program, &err);
    if (status == CUZK_OK) status = zk_params_open(&params, TOY ".params", NULL, &err);
    if (status == CUZK_OK) status = zk_query_masks_compute(&masks, circuit.program, NULL, &err);
    if (status == CUZK_OK) status = zk_query_masks_prepare(&masks, circuit.program, &err);
    file = memfd_create("prepared", 0);
    if (status != CUZK_OK || file < 0) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
}

static void check_layout(const zk_prepared_params *prepared, const uint8_t *data, size_t size) {
    uint8_t header[ZK_PREPARED_HEADER_BYTES];
    zk_prepared_header_encode(header, &prepared->header);
    if (memcmp(header, data, sizeof header) != 0) abort();
    size_t at = sizeof header;
    for (int i = 0; i < ZK_PREPARED_N_SECTIONS; i++) {
        if (prepared->section[i].offset != at || prepared->section[i].points != prepared->map.data + at) abort();
        at += prepared->section[i].n * ZK_G1_UNCOMPRESSED_BYTES;
    }
    if (at + 32 != size) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    zk_prepared_params *prepared = NULL;
    zk_proving_key *key = NULL;
    cuzk_err err = {0};
    if (file < 0) open_toy();
    if (ftruncate(file, (off_t)size) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) abort();
    cuzk_status status = zk_prepared_params_open(&prepared, path, params, circuit.program, &masks, &err);
    if (status != CUZK_OK) {
        if (status != CUZK_BAD_INPUT || prepared || !err.message[0]) abort();
        return 0;
    }
    check_layout(prepared, data, size);
    status = zk_prepared_params_verify(prepared, params, NULL, NULL, &err);
    if (status != CUZK_OK && status != CUZK_CHECK_FAILED) abort();
    bool whole = status == CUZK_OK; /* nobody finds another file with such digests */
    zk_err_reset(&err);
    status = zk_proving_key_load_files(&key, program, params, prepared, &masks, NULL, &err);
    if (status != CUZK_OK && (whole || status != CUZK_BAD_INPUT || key || !strstr(err.message, ": point "))) abort();
    zk_proving_key_destroy(key);
    zk_prepared_params_close(prepared);
    return 0;
}
