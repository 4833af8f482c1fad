#include "cli/prepared_digest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "groth16/prepared_params.h"
#include "hash/sha256.h"

#define PIECE ((size_t)16 << 20) /* read between two looks at `stop` */

struct cli_prepared_digest {
    zk_file_map map;
    size_t n_digested;
    pthread_t thread;
    bool running;
    atomic_bool stop;
    uint8_t sha256[ZK_SHA256_DIGEST_BYTES];
};

static void *make(void *ctx) {
    cli_prepared_digest *d = ctx;
    zk_sha256_ctx sha;
    zk_sha256_init(&sha);
    for (size_t at = 0; at < d->n_digested && !atomic_load(&d->stop); at += PIECE) {
        size_t left = d->n_digested - at;
        zk_sha256_update(&sha, d->map.data + at, left < PIECE ? left : PIECE);
    }
    zk_sha256_final(d->sha256, &sha);
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
    d->n_digested = d->map.n_bytes - sizeof d->sha256;
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
    return zk_prepared_map_match(&d->map, d->sha256, err);
}

void cli_prepared_digest_end(cli_prepared_digest *d) {
    if (!d) return;
    atomic_store(&d->stop, true);
    if (d->running) pthread_join(d->thread, NULL);
    zk_file_map_close(&d->map);
    free(d);
}
