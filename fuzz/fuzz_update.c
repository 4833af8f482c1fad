/* Sector updates: the first byte picks size and partition, then 96 bytes of commitments, then a partition's vanilla
 * proof. Decoded, it is written again as the same bytes, verifies or not, and gives a private input and public inputs,
 * whatever it says. */
#include <stdlib.h>
#include <string.h>

#include "filecoin/update.h"
#include "program/program.h"

enum { N_SIZES = 4, HEAD = 97 };

/* Private inputs of each size's circuit. */
static size_t n_hints_of(unsigned size, uint64_t sector_bytes) {
    static size_t known[N_SIZES];
    zk_program *program = NULL;
    if (!known[size]) {
        if (zk_update_program(&program, sector_bytes, NULL) != CUZK_OK) abort();
        known[size] = program->n_hints;
        zk_program_destroy(program);
    }
    return known[size];
}

static void use(const zk_update_statement *s, uint32_t partition, const zk_update_proof *proof, size_t n_hints) {
    zk_update_failure failure;
    cuzk_err err = {0};
    uint8_t publics[ZK_UPDATE_N_PUBLICS][32], (*hints)[32] = malloc(n_hints * 32);
    cuzk_status status = zk_update_verify(&failure, s, proof, partition, 1, NULL, &err);
    if ((status == CUZK_OK) != (failure.check == ZK_UPDATE_NONE) && status != CUZK_BAD_INPUT) abort();
    if (status != CUZK_OK && !err.message[0]) abort();
    if (!hints || zk_update_proof_hints(hints, n_hints, s, partition, proof, &err) != CUZK_OK) abort();
    zk_update_publics(publics, s, partition);
    free(hints);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint64_t sizes[N_SIZES] = {2048, 4096, 16384, 32768};
    if (size < HEAD) return 0;
    unsigned which = data[0] % N_SIZES;
    uint32_t partition = data[0] / N_SIZES;
    zk_update_statement s;
    zk_update_proof proof = {{0}};
    cuzk_err err = {0};
    cuzk_status status = zk_update_statement_init(&s, sizes[which], data + 1, data + 33, data + 65, &err);
    if (status != CUZK_OK) {
        if (status != CUZK_BAD_INPUT || !err.message[0]) abort();
        return 0;
    }
    data += HEAD;
    size -= HEAD;
    status = zk_update_proof_read(&proof, &s.shape, data, size, &err);
    if (status == CUZK_OK) {
        uint8_t *again = malloc(size);
        if (!again || zk_update_proof_n_bytes(&s.shape) != size) abort();
        zk_update_proof_write(again, &s.shape, &proof);
        if (memcmp(again, data, size) != 0) abort();
        free(again);
        use(&s, partition, &proof, n_hints_of(which, sizes[which]));
    } else if (status != CUZK_BAD_INPUT || !err.message[0]) {
        abort();
    }
    zk_update_proof_free(&proof);
    return 0;
}
