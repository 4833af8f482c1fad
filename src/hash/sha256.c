#include "hash/sha256.h"

#include <stdatomic.h>
#include <string.h>

#include "base/bytes.h"
#include "field/cpu.h"

const uint32_t zk_sha256_initial_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

const uint32_t zk_sha256_round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t ror(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

void zk_sha256_compress_portable(uint32_t state[8], const uint8_t *blocks, size_t n_blocks) {
    for (; n_blocks > 0; n_blocks--, blocks += ZK_SHA256_BLOCK_BYTES) {
        uint32_t w[16];
        for (unsigned i = 0; i < 16; i++) w[i] = zk_load_be32(blocks + 4 * i);
        uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
        uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
#pragma GCC unroll 64 /* all: with 16 at a time gcc moves the eight variables about, a third slower */
        for (unsigned i = 0; i < 64; i++) {
            if (i >= 16) { /* w is a ring: entry i mod 16 holds W[i - 16] */
                uint32_t w15 = w[(i + 1) & 15], w2 = w[(i + 14) & 15];
                w[i & 15] +=
                    (ror(w15, 7) ^ ror(w15, 18) ^ w15 >> 3) + w[(i + 9) & 15] + (ror(w2, 17) ^ ror(w2, 19) ^ w2 >> 10);
            }
            uint32_t t1 = h + (ror(e, 6) ^ ror(e, 11) ^ ror(e, 25)) + (g ^ (e & (f ^ g))) +
                          zk_sha256_round_constants[i] + w[i & 15];
            uint32_t t2 = (ror(a, 2) ^ ror(a, 13) ^ ror(a, 22)) + ((a & b) | (c & (a | b)));
            h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* The instructions want the state as two registers, ABEF and CDGH (A in the highest lane). */
__attribute__((target("sha,sse4.1,ssse3"))) void zk_sha256_compress_shani(uint32_t state[8], const uint8_t *blocks,
                                                                          size_t n_blocks) {
    const __m128i byte_swap = _mm_set_epi64x(0x0c0d0e0f08090a0bll, 0x0405060700010203ll);
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state[0]), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)&state[4]), 0x1b);
    __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
    __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xf0);
    for (; n_blocks > 0; n_blocks--, blocks += ZK_SHA256_BLOCK_BYTES) {
        __m128i m[4], start_abef = abef, start_cdgh = cdgh;
        for (unsigned i = 0; i < 4; i++)
            m[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks + 16 * i)), byte_swap);
            /* Four rounds a step; m is a ring of four words each, m[g mod 4] = W[4g .. 4g+3]. */
#pragma GCC unroll 16
        for (unsigned g = 0; g < 16; g++) {
            __m128i wk = _mm_add_epi32(m[g & 3], _mm_loadu_si128((const __m128i *)&zk_sha256_round_constants[4 * g]));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, wk);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(wk, 0x0e));
            if (g < 12) {
                __m128i w9 = _mm_alignr_epi8(m[(g + 3) & 3], m[(g + 2) & 3], 4);
                __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(m[g & 3], m[(g + 1) & 3]), w9);
                m[g & 3] = _mm_sha256msg2_epu32(sum, m[(g + 3) & 3]);
            }
        }
        abef = _mm_add_epi32(abef, start_abef);
        cdgh = _mm_add_epi32(cdgh, start_cdgh);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)&state[0], _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)&state[4], _mm_alignr_epi8(dchg, feba, 8));
}

bool zk_sha256_shani_usable(void) { return zk_cpu_get_features()->sha_ni; /* every CPU with SHA-NI has SSE4.1 */ }
#else
void zk_sha256_compress_shani(uint32_t state[8], const uint8_t *blocks, size_t n_blocks) {
    zk_sha256_compress_portable(state, blocks, n_blocks);
}
bool zk_sha256_shani_usable(void) { return false; }
#endif

typedef void (*compress_fn)(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);
static void compress_resolve(uint32_t state[8], const uint8_t *blocks, size_t n_blocks);
/* Starts at the resolver, which replaces itself; racing threads store the same value. */
static _Atomic(compress_fn) compress_chosen = compress_resolve;

static compress_fn choose(void) {
    bool shani = zk_sha256_shani_usable() && zk_cpu_get_limit() > ZK_CPU_PORTABLE;
    return shani ? zk_sha256_compress_shani : zk_sha256_compress_portable;
}

static void compress_resolve(uint32_t state[8], const uint8_t *blocks, size_t n_blocks) {
    compress_fn fn = choose();
    atomic_store_explicit(&compress_chosen, fn, memory_order_relaxed);
    fn(state, blocks, n_blocks);
}

const char *zk_sha256_code(void) {
    compress_fn fn = atomic_load_explicit(&compress_chosen, memory_order_relaxed);
    if (fn == compress_resolve) fn = choose();
    return fn == zk_sha256_compress_shani ? "sha-ni" : "portable";
}

void zk_sha256_compress(uint32_t state[8], const uint8_t *blocks, size_t n_blocks) {
    atomic_load_explicit(&compress_chosen, memory_order_relaxed)(state, blocks, n_blocks);
}

void zk_sha256_init(zk_sha256_ctx *ctx) {
    memcpy(ctx->state, zk_sha256_initial_state, sizeof ctx->state);
    ctx->n_bytes = 0;
}

void zk_sha256_update(zk_sha256_ctx *ctx, const void *data, size_t n) {
    const uint8_t *p = data;
    size_t held = ctx->n_bytes % ZK_SHA256_BLOCK_BYTES;
    if (n == 0) return;
    ctx->n_bytes += n;
    if (held > 0) {
        size_t take = zk_min_size(ZK_SHA256_BLOCK_BYTES - held, n);
        memcpy(ctx->buffer + held, p, take);
        p += take, n -= take;
        if (held + take < ZK_SHA256_BLOCK_BYTES) return;
        zk_sha256_compress(ctx->state, ctx->buffer, 1);
    }
    if (n >= ZK_SHA256_BLOCK_BYTES) zk_sha256_compress(ctx->state, p, n / ZK_SHA256_BLOCK_BYTES);
    size_t rest = n % ZK_SHA256_BLOCK_BYTES;
    if (rest > 0) memcpy(ctx->buffer, p + (n - rest), rest);
}

void zk_sha256_final(uint8_t digest[32], zk_sha256_ctx *ctx) {
    /* The message, one bit 1, zeros up to 8 bytes short of a block, the length in bits. */
    uint8_t tail[2 * ZK_SHA256_BLOCK_BYTES] = {0};
    size_t held = ctx->n_bytes % ZK_SHA256_BLOCK_BYTES;
    size_t n_blocks = held + 9 <= ZK_SHA256_BLOCK_BYTES ? 1 : 2;
    if (held > 0) memcpy(tail, ctx->buffer, held);
    tail[held] = 0x80;
    zk_store_be64(tail + n_blocks * ZK_SHA256_BLOCK_BYTES - 8, ctx->n_bytes * 8);
    zk_sha256_compress(ctx->state, tail, n_blocks);
    for (unsigned i = 0; i < 8; i++) zk_store_be32(digest + 4 * i, ctx->state[i]);
}

void zk_sha256_peek(uint8_t digest[32], const zk_sha256_ctx *ctx) {
    zk_sha256_ctx copy = *ctx;
    zk_sha256_final(digest, &copy);
}

void zk_sha256(uint8_t digest[32], const void *data, size_t n) {
    zk_sha256_ctx ctx;
    zk_sha256_init(&ctx);
    zk_sha256_update(&ctx, data, n);
    zk_sha256_final(digest, &ctx);
}

void zk_sha256_trunc254(uint8_t digest[32], const void *data, size_t n) {
    zk_sha256(digest, data, n);
    digest[31] &= 0x3f;
}
