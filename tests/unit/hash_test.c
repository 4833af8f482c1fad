/* SHA-256, BLAKE2b and ChaCha against published values, and each fast path against its plain twin. */
#include "hash/blake2b.h"
#include "hash/chacha.h"
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

typedef void (*compress_fn)(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);

/* The padding of FIPS 180-4 around a compression function. */
static void digest_by(compress_fn compress, uint8_t digest[32], const uint8_t *message, size_t n) {
    uint32_t state[8];
    uint8_t tail[128] = {0};
    size_t held = n % 64, n_tail = held < 56 ? 64 : 128;
    memcpy(state, zk_sha256_initial_state, sizeof state);
    compress(state, message, n / 64);
    memcpy(tail, message + (n - held), held);
    tail[held] = 0x80;
    for (unsigned i = 0; i < 8; i++) tail[n_tail - 1 - i] = (uint8_t)((uint64_t)n * 8 >> 8 * i);
    compress(state, tail, n_tail / 64);
    for (unsigned i = 0; i < 32; i++) digest[i] = (uint8_t)(state[i / 4] >> (24 - 8 * (i % 4)));
}

/* Digests of the digests of bytes 7 i + 3, by Python's hashlib: of all lengths 0 .. 200, and of 2^k - 1, 2^k, 2^k + 1
 * for k from 1 to 16. Every implementation, and what is chosen. */
static void test_sha256_lengths(void) {
    static const char *const want[2] = {"3275febb4612d86d586eb9f11cd21e648a9fc7d95e0f6b8d362786e28c9c5b79",
                                        "6a2cd04a3eb51a149a9c8905b13615bd18a2d5d44ea3389d46a419fd6c1d8086"};
    static uint8_t message[(1 << 16) + 1];
    const char *limit = getenv("CUZK_CPU");
    bool shani = zk_sha256_shani_usable() && !(limit && strcmp(limit, "portable") == 0);
    ZK_CHECK(strcmp(zk_sha256_code(), shani ? "sha-ni" : "portable") == 0);
    compress_fn by[3] = {zk_sha256_compress_portable, zk_sha256_compress, zk_sha256_compress_shani};
    for (size_t i = 0; i < sizeof message; i++) message[i] = (uint8_t)(7 * i + 3);
    for (int k = 0; k < (zk_sha256_shani_usable() ? 3 : 2); k++) {
        uint8_t digest[32], of_all[2][32], one_shot[32];
        zk_sha256_ctx ctx[2];
        char text[65];
        for (int s = 0; s < 2; s++) zk_sha256_init(&ctx[s]);
        for (size_t n = 0; n <= 200; n++) {
            digest_by(by[k], digest, message, n);
            zk_sha256_update(&ctx[0], digest, 32);
            zk_sha256(one_shot, message, n);
            ZK_CHECKF(memcmp(one_shot, digest, 32) == 0, "implementation %d, n = %zu", k, n);
        }
        for (unsigned log2_n = 1; log2_n <= 16; log2_n++)
            for (size_t n = ((size_t)1 << log2_n) - 1; n <= ((size_t)1 << log2_n) + 1; n++) {
                digest_by(by[k], digest, message, n);
                zk_sha256_update(&ctx[1], digest, 32);
                zk_sha256(one_shot, message, n);
                ZK_CHECKF(memcmp(one_shot, digest, 32) == 0, "implementation %d, n = %zu", k, n);
            }
        for (int s = 0; s < 2; s++) {
            zk_sha256_final(of_all[s], &ctx[s]);
            hex(text, of_all[s], 32);
            ZK_CHECKF(strcmp(text, want[s]) == 0, "implementation %d, set %d: %s", k, s, text);
        }
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

/* RFC 7693 appendix A; the others by another implementation over bytes 7 i + 3 with key bytes 5 i + 1. */
static void test_blake2b(void) {
    static const struct {
        size_t n, n_key, n_out;
        const char *want;
    } cases[] = {
        {0, 64, 64,
         "4e1bc1a16b76f9eef0fecac679e1d440eeb596ad54c0bd8477cac00e9288f6d27e0222c82543916bfdf8c8946f227ae8878a1cba737f9"
         "f720424c02a66160bea"},
        {1, 1, 1, "04"},
        {128, 32, 32, "cab7fa0a245cf5f31c5fe2659e11ddb04af400b5635d2391eb6fe27cc69b5cc9"},
        {129, 16, 20, "983f082dd005bb454800057b582dd262484f4e34"},
        {255, 64, 48,
         "cb5068fef1a7d046dfe90ad921bcaa4d4068c3b0f758fde8642473d0fd67b492647da9d881297501e8d862e547bc3754"},
        {256, 0, 64,
         "91019c558584980249ca43eceed27e19f1c3c24161b93eed1eee2a6a774f60bf8a81b43750870bee1698feac9c5336ae4d5c842e7ead1"
         "59bf3916387e8ded9ae"},
        {300, 33, 31, "50d1c1378421d1f34298d842c17e3b0d753091038a3b3381167a0e8ac39bfc"},
    };
    uint8_t message[300], key[64], digest[64];
    char got[129];
    for (unsigned i = 0; i < sizeof message; i++) message[i] = (uint8_t)(7 * i + 3);
    for (unsigned i = 0; i < sizeof key; i++) key[i] = (uint8_t)(5 * i + 1);
    zk_blake2b(digest, 64, "abc", 3);
    hex(got, digest, 64);
    ZK_CHECK(strcmp(got, "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
                         "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923") == 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t step = 1; step <= sizeof message; step = step * 3 + 1) {
            zk_blake2b_ctx ctx;
            zk_blake2b_init(&ctx, cases[i].n_out, key, cases[i].n_key);
            for (size_t at = 0; at < cases[i].n; at += step)
                zk_blake2b_update(&ctx, message + at, at + step < cases[i].n ? step : cases[i].n - at);
            zk_blake2b_final(digest, &ctx);
            hex(got, digest, cases[i].n_out);
            ZK_CHECKF(strcmp(got, cases[i].want) == 0, "case %zu, step %zu: %s", i, step, got);
        }
    }
    /* Lengths out of range are cut to the nearest allowed. */
    uint8_t long_key[ZK_BLAKE2B_BLOCK_BYTES], cut[64], whole[64];
    zk_blake2b_ctx ctx;
    memset(long_key, 0x5a, sizeof long_key);
    zk_blake2b_init(&ctx, 65, long_key, 100);
    zk_blake2b_final(cut, &ctx);
    zk_blake2b_init(&ctx, 64, long_key, 64);
    zk_blake2b_final(whole, &ctx);
    ZK_CHECK_MEM(cut, whole, 64);
    zk_blake2b(cut, 0, "abc", 3);
    zk_blake2b(whole, 1, "abc", 3);
    ZK_CHECK(cut[0] == whole[0]);
}

static void test_chacha(void) {
    uint8_t key[32], nonce[12] = {0, 0, 0, 9, 0, 0, 0, 0x4a}, block[64], again[64];
    uint8_t zero_key[32] = {0};
    char got[129];
    zk_chacha c;
    for (unsigned i = 0; i < 32; i++) key[i] = (uint8_t)i;
    /* RFC 8439, 2.3.2: block 1 */
    zk_chacha_init_ietf(&c, 20, key, nonce);
    zk_chacha_seek(&c, 64);
    zk_chacha_read(&c, block, 64);
    hex(got, block, 64);
    ZK_CHECK(strcmp(got, "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
                         "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e") == 0);
    /* eight rounds, all zero (ECRYPT test vectors) */
    zk_chacha_init_wide(&c, 8, zero_key);
    zk_chacha_read(&c, block, 64);
    hex(got, block, 64);
    ZK_CHECK(strcmp(got, "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"
                         "984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42") == 0);
    /* seeking gives what reading on gives, also across the carry of the 64-bit counter */
    for (uint64_t start = 0; start < 300; start += 37) {
        zk_chacha a, b;
        uint8_t skipped[300];
        zk_chacha_init_ietf(&a, 20, key, nonce);
        zk_chacha_init_ietf(&b, 20, key, nonce);
        zk_chacha_read(&a, skipped, (size_t)start);
        zk_chacha_read(&a, block, 64);
        zk_chacha_seek(&b, start);
        zk_chacha_read(&b, again, 64);
        ZK_CHECKF(memcmp(block, again, 64) == 0, "start %llu", (unsigned long long)start);
    }
    uint64_t carry = (uint64_t)UINT32_MAX * 64;
    zk_chacha_init_wide(&c, 20, key);
    zk_chacha_seek(&c, carry);
    zk_chacha_read(&c, block, 64);
    ZK_CHECK(c.input[12] == 0 && c.input[13] == 1);
    zk_chacha_read(&c, block, 64);
    zk_chacha_seek(&c, carry + 64);
    ZK_CHECK(zk_chacha_read_u64(&c) == (uint64_t)block[0] + ((uint64_t)block[1] << 8) + ((uint64_t)block[2] << 16) +
                                           ((uint64_t)block[3] << 24) + ((uint64_t)block[4] << 32) +
                                           ((uint64_t)block[5] << 40) + ((uint64_t)block[6] << 48) +
                                           ((uint64_t)block[7] << 56));
}

ZK_TEST_MAIN(ZK_CASE(test_sha256_known), ZK_CASE(test_sha256_impls_agree), ZK_CASE(test_sha256_lengths),
             ZK_CASE(test_sha256_incremental), ZK_CASE(test_blake2b), ZK_CASE(test_chacha))
