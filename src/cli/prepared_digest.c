#include "cli/prepared_digest.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "groth16/prepared_params.h"
#include "hash/sha256.h"

struct cli_prepared_digest {
    zk_file_map map;
    pthread_t thread;
    bool running;
    zk_cancel stop;
    uint8_t sha256[ZK_SHA256_DIGEST_BYTES];
    cuzk_status status; /* of the thread, and what it says; read when it has ended */
    cuzk_err err;
};

static void *make(void *ctx) {
    cli_prepared_digest *d = ctx;
    zk_cancel_bind(&d->stop);
    d->status = zk_digest_pieces(d->sha256, d->map.data, d->map.n_bytes - sizeof d->sha256,
                                 "digest of the prepared key", NULL, NULL, &d->err);
    return NULL;
}

cuzk_status cli_prepared_digest_start(cli_prepared_digest **digest, const char *params_path, cuzk_err *err) {
    cuzk_status status = CUZK_OK;
    char *path = NULL;
    *digest = NULL;
    cli_prepared_digest *d = zk_calloc(1, sizeof *d);
    if (!d) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the digest of a prepared key");
    ZK_GOTO(zk_prepared_path(&path, params_path, err));
    ZK_GOTO(zk_file_map_open(&d->map, path, ZK_PREPARED_HEADER_BYTES + sizeof d->sha256, UINT64_MAX, err));
    if (pthread_create(&d->thread, NULL, make, d) != 0)
        ZK_GOTO(ZK_FAIL(err, CUZK_EXHAUSTED, "no thread for the digest of a prepared key"));
    d->running = true;
    *digest = d;
    d = NULL;
out:
    free(path);
    cli_prepared_digest_end(d);
    return status;
}

cuzk_status cli_prepared_digest_await(cli_prepared_digest *d, cuzk_err *err) {
    if (d->running) pthread_join(d->thread, NULL);
    d->running = false;
    ZK_TRY(zk_file_map_check(&d->map, err));
    if (d->status != CUZK_OK) return ZK_FAIL(err, d->status, "%s", d->err.message);
    return zk_prepared_map_match(&d->map, d->sha256, err);
}

void cli_prepared_digest_end(cli_prepared_digest *d) {
    if (!d) return;
    zk_cancel_request(&d->stop);
    if (d->running) pthread_join(d->thread, NULL);
    zk_file_map_close(&d->map);
    free(d);
}
