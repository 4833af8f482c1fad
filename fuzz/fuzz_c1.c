/* C1 documents. A C1 that the reader accepts is verified and handed to the circuit's input; both must end well whatever
 * it says. Plain text goes in twice, the second time in small pieces: the result must not depend on that. */
#include <stdlib.h>
#include <string.h>

#include "filecoin/porep_input.h"
#include "filecoin/vanilla.h"

typedef struct pieces {
    zk_input base;
    const uint8_t *data;
    size_t n, at;
} pieces;

static cuzk_status pieces_read(zk_input *base, const uint8_t **data, size_t *n, bool *last, cuzk_err *err) {
    pieces *p = (pieces *)base;
    (void)err;
    *data = p->data + p->at;
    *n = 1 + p->at * 7 % 61;
    if (*n > p->n - p->at) *n = p->n - p->at;
    p->at += *n;
    *last = p->at == p->n;
    return CUZK_OK;
}

static void pieces_close(zk_input *base) { (void)base; }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    zk_c1 *c1 = NULL, *again = NULL;
    cuzk_err err = {0}, other_err = {0};
    cuzk_status status = zk_c1_read_memory(&c1, data, size, &err);
    if (status != CUZK_OK && (c1 || err.status != status || !err.message[0])) abort();
    if (size < 4 || memcmp(data, zstd_magic, 4) != 0) {
        pieces p = {{pieces_read, pieces_close}, data, size, 0};
        if (zk_c1_read(&again, &p.base, &other_err) != status) abort();
    }
    if (status == CUZK_OK) {
        zk_vanilla_failure failure;
        zk_porep_input *input;
        cuzk_status verified = zk_c1_verify(&failure, c1, NULL, &err);
        if ((verified == CUZK_OK) != (failure.check == ZK_VANILLA_NONE)) abort();
        for (uint32_t p = 0; p < c1->n_partitions; p++) {
            if (zk_porep_input_create(&input, c1, p, &err) != CUZK_OK) abort();
            free(input);
        }
    }
    zk_c1_destroy(again);
    zk_c1_destroy(c1);
    return 0;
}
