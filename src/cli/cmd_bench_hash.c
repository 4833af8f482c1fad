/* cuzk bench hash: many messages of one length */
#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/bench.h"
#include "cli/commands.h"
#include "field/dispatch.h"
#include "hash/lanes/lanes.h"
#include "hash/poseidon.h"
#include "hash/sha256.h"

enum { STREAM_HASH = 4, MAX_ARITY = ZK_POSEIDON_MAX_ARITY, N_CHECKED = 9, POSEIDON_CHUNK = 64 };
#define MAX_INPUT_BYTES ((uint64_t)1 << 34)

typedef struct hashes {
    size_t n, n_bytes;                  /* messages, bytes of one */
    const zk_poseidon_params *poseidon; /* NULL: SHA-256 */
    void *in, *out;                     /* [n][n_bytes], [n][32]; of Poseidon elements */
    zk_pool *pool;
} hashes;

static void sha256_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    hashes *h = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++)
        zk_sha256((uint8_t *)h->out + 32 * i, (const uint8_t *)h->in + i * h->n_bytes, h->n_bytes);
}

static void poseidon_range(void *ctx, size_t begin, size_t end, unsigned thread) {
    hashes *h = ctx;
    (void)thread;
    zk_poseidon_hash_many((zk_fr *)h->out + begin, h->poseidon, (const zk_fr *)h->in + begin * h->poseidon->arity,
                          end - begin);
}

static cuzk_status run_once(void *ctx, cuzk_err *err) {
    hashes *h = ctx;
    (void)err;
    if (h->poseidon)
        zk_pool_for(h->pool, h->n, POSEIDON_CHUNK, poseidon_range, h);
    else
        zk_pool_for(h->pool, h->n, 1 + ((size_t)1 << 16) / (h->n_bytes + 64), sha256_range, h);
    return CUZK_OK;
}

/* The padded message by the code for any CPU. */
static void sha256_plain(uint8_t digest[32], const uint8_t *message, size_t n) {
    uint8_t tail[128] = {0};
    uint32_t state[8];
    size_t held = n % 64, n_tail = held < 56 ? 64 : 128;
    memcpy(state, zk_sha256_initial_state, sizeof state);
    zk_sha256_compress_portable(state, message, n / 64);
    memcpy(tail, message + (n - held), held);
    tail[held] = 0x80;
    zk_store_be64(tail + n_tail - 8, (uint64_t)n * 8);
    zk_sha256_compress_portable(state, tail, n_tail / 64);
    for (int i = 0; i < 8; i++) zk_store_be32(digest + 4 * i, state[i]);
}

/* The first few against the plain forms. */
static cuzk_status check(cli_bench *bench, const hashes *h, cuzk_err *err) {
    for (size_t i = 0; i < h->n && i < N_CHECKED; i++) {
        zk_fr expected; /* or a digest */
        if (h->poseidon)
            zk_poseidon_hash_plain(&expected, h->poseidon, &h->poseidon->tree_tag,
                                   (const zk_fr *)h->in + i * h->poseidon->arity);
        else
            sha256_plain((uint8_t *)&expected, (const uint8_t *)h->in + i * h->n_bytes, h->n_bytes);
        if (memcmp(&expected, (const uint8_t *)h->out + 32 * i, 32) != 0)
            return ZK_FAIL(err, CUZK_INTERNAL, "%s: hash %zu is wrong", bench->name, i);
    }
    zk_sha256(bench->checksum, h->out, 32 * h->n);
    bench->checked = true;
    return CUZK_OK;
}

static const char *code_of(const hashes *h) {
    if (!h->poseidon) return zk_sha256_code();
    const zk_poseidon_lanes *lanes = zk_poseidon_lanes_of(h->poseidon->arity);
    return lanes ? lanes->name : zk_field_variant_name(zk_field_active_variant());
}

static int run_hash(const cli_command *self, int argc, char **argv) {
    cli_bench bench = {0};
    hashes h = {0};
    cuzk_err err = {0};
    uint64_t n = 1 << 16, n_bytes = 64, arity = 8;
    const char *name = "sha256";
    cli_option options[] = {
        {"hash", "NAME", CLI_STRING, &name, "sha256 or poseidon (default sha256)"},
        {"n", "N", CLI_U64, &n, "number of messages (default 65536)"},
        {"bytes", "B", CLI_U64, &n_bytes, "sha256: length of a message (default 64, a node of a Merkle tree)"},
        {"arity", "N", CLI_U64, &arity, "poseidon: elements of a message (default 8)"},
        CLI_BENCH_OPTIONS(bench),
    };
    bool help = false;
    cuzk_status status = CUZK_OK;
    ZK_GOTO(cli_parse(&help, &(cli_arguments){CLI_ALL(options)}, self, argc, argv, &err));
    if (help) goto out;
    bool poseidon = strcmp(name, "poseidon") == 0;
    if (!poseidon && strcmp(name, "sha256") != 0)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--hash: found \"%s\", expected sha256 or poseidon", name));
    if (poseidon && (arity < 1 || arity > MAX_ARITY))
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "--arity: found %" PRIu64 ", expected 1 to %d", arity, MAX_ARITY));
    if (poseidon) n_bytes = arity * sizeof(zk_fr);
    if (n < 1 || n > MAX_INPUT_BYTES / 32 || n_bytes > MAX_INPUT_BYTES / n)
        ZK_GOTO(ZK_FAIL(&err, CUZK_USAGE, "-n: found %" PRIu64 ", expected at least 1 and at most 16 GiB in all", n));
    ZK_GOTO(cli_bench_start(&bench, self->name, &err));
    h.n = n;
    h.n_bytes = n_bytes;
    h.pool = bench.pool;
    if (poseidon && !(h.poseidon = zk_poseidon_get((unsigned)arity)))
        ZK_GOTO(ZK_FAIL(&err, CUZK_OUT_OF_MEMORY, "poseidon: no memory"));
    ZK_GOTO(zk_mem_alloc_shared(&h.in, "bench", n * n_bytes, &err));
    ZK_GOTO(zk_mem_alloc_shared(&h.out, "bench", n * sizeof(zk_fr), &err));
    for (uint64_t i = 0; i < n * n_bytes / sizeof(zk_fr); i++) cli_bench_scalar((zk_fr *)h.in + i, STREAM_HASH, i);
    bench.code = code_of(&h);
    ZK_GOTO(cli_bench_measure(&bench, run_once, &h, &err));
    ZK_GOTO(check(&bench, &h, &err));
    cli_bench_field fields[] = {{"n", n}, {poseidon ? "arity" : "bytes", poseidon ? arity : n_bytes}};
    ZK_GOTO(cli_bench_report(&bench, fields, 2, poseidon ? n : n * n_bytes, poseidon ? "hashes" : "bytes", &err));
out:
    zk_mem_free(h.in);
    zk_mem_free(h.out);
    cli_bench_end(&bench);
    return cli_report(self, status, &err);
}

const cli_command cli_bench_hash = {"bench hash", "SHA-256, or Poseidon, of many messages", run_hash, NULL};
