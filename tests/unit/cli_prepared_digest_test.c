/* The digest that `prove --prepared` makes beside its work, and how it ends. */
#include "cli/prepared_digest.h"

#include <unistd.h>

#include "base/cancel.h"
#include "base/file.h"
#include "groth16/prepared_params.h"
#include "hash/sha256.h"
#include "zk_test.h"

enum { PIECE = 16 << 20, N_DIGEST = ZK_SHA256_DIGEST_BYTES };

static char params_path[64], prepared_path[64];

/* n bytes and their digest, of which one bit is flipped if `damaged`. */
static void write_key(size_t n, bool damaged) {
    cuzk_err err = {0};
    uint8_t *bytes = malloc(n + N_DIGEST);
    ZK_CHECK(bytes);
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(i * 7 + (i >> 12));
    zk_sha256(bytes + n, bytes, n);
    if (damaged) bytes[n / 2] ^= 1;
    cuzk_status status = zk_file_write(prepared_path, bytes, n + N_DIGEST, &err);
    free(bytes);
    ZK_CHECK_OK(status, err);
}

/* How the digest of that file ends: its status, and what `err` says. */
static cuzk_status outcome(size_t n, bool damaged, cuzk_err *err) {
    cli_prepared_digest *digest = NULL;
    write_key(n, damaged);
    *err = (cuzk_err){0};
    cuzk_status status = cli_prepared_digest_start(&digest, params_path, err);
    if (status == CUZK_OK) status = cli_prepared_digest_await(digest, err);
    cli_prepared_digest_end(digest);
    unlink(prepared_path);
    return status;
}

static void test_digest(void) {
    static const size_t sizes[] = {ZK_PREPARED_HEADER_BYTES, PIECE - 1, PIECE, PIECE + 1};
    cuzk_err err;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        ZK_CHECK_OK(outcome(sizes[i], false, &err), err);
        ZK_CHECK(outcome(sizes[i], true, &err) == CUZK_BAD_INPUT && strstr(err.message, "damaged: its SHA-256 is"));
    }
    ZK_CHECK(outcome(ZK_PREPARED_HEADER_BYTES - 1, false, &err) == CUZK_BAD_INPUT);
    cli_prepared_digest *none = NULL;
    ZK_CHECK(cli_prepared_digest_start(&none, params_path, &err) == CUZK_NOT_FOUND && !none); /* removed by now */
    cli_prepared_digest_end(none);
}

/* The user asks to stop while it is waited for: no verdict on the file, damaged or not. */
static void test_cancel(void) {
    cuzk_err err;
    zk_cancel_request(NULL);
    cuzk_status good = outcome(PIECE + 1, false, &err);
    bool said = strstr(err.message, "cancelled during digest of the prepared key");
    cuzk_status damaged = outcome(PIECE + 1, true, &err);
    zk_cancel_clear(NULL);
    ZK_CHECK(good == CUZK_CANCELLED && damaged == CUZK_CANCELLED && said);
    ZK_CHECK_OK(outcome(PIECE + 1, false, &err), err);
}

/* Nobody waits for it: it is stopped, and the process goes on uncancelled. */
static void test_end(void) {
    cuzk_err err = {0};
    cli_prepared_digest *digest = NULL;
    write_key((size_t)2 * PIECE, true);
    ZK_CHECK_OK(cli_prepared_digest_start(&digest, params_path, &err), err);
    cli_prepared_digest_end(digest);
    unlink(prepared_path);
    ZK_CHECK(!zk_cancel_requested(NULL));
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_digest), ZK_CASE(test_cancel), ZK_CASE(test_end)};
    snprintf(params_path, sizeof params_path, "/tmp/cuzk-digest-%d.params", (int)getpid());
    snprintf(prepared_path, sizeof prepared_path, "/tmp/cuzk-digest-%d.prepared", (int)getpid());
    return zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
