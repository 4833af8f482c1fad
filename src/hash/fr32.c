#include "hash/fr32.h"

#include <string.h>

uint64_t zk_fr32_padded_bytes(uint64_t n) {
    /* 127 bytes are the data of four nodes; splitting them off first keeps 8 n from overflowing. */
    return n / 127 * 128 + (n % 127 * 8 + 253) / 254 * 32;
}

uint64_t zk_fr32_unpadded_bytes(uint64_t m) {
    /* floor((8 m - 2 floor(m / 32)) / 8), without overflow */
    return m - (m / 32 + 3) / 4;
}

void zk_fr32_pad(uint8_t *out, const uint8_t *data, size_t n) {
    size_t n_nodes = (size_t)(zk_fr32_padded_bytes(n) / 32);
    for (size_t k = 0; k < n_nodes; k++, out += 32) {
        /* Node k starts at data bit 254 k, which lies in byte `at`, `shift` bits up. */
        size_t at = k / 4 * 127 + k % 4 * 254 / 8, left = n - at;
        unsigned shift = (unsigned)(k % 4 * 254 % 8);
        uint8_t bytes[33] = {0};
        memcpy(bytes, data + at, left < 33 ? left : 33);
        for (unsigned j = 0; j < 32; j++) out[j] = (uint8_t)((bytes[j] | bytes[j + 1] << 8) >> shift);
        out[31] &= 0x3f;
    }
}

cuzk_status zk_fr32_unpad(uint8_t *out, size_t offset, size_t n, const uint8_t *padded, size_t n_padded,
                          cuzk_err *err) {
    uint64_t n_data = zk_fr32_unpadded_bytes(n_padded);
    if (offset > n_data || n > n_data - offset)
        return ZK_FAIL(err, CUZK_BAD_INPUT, "fr32: bytes %zu .. %zu + %zu asked, the %zu padded bytes hold %llu",
                       offset, offset, n, n_padded, (unsigned long long)n_data);
    for (size_t i = 0; i < n; i++) {
        /* Byte b of four nodes' worth starts at bit 8 b; the two padding bits at its node's end are stepped over. */
        size_t group = (offset + i) / 127, b = (offset + i) % 127;
        const uint8_t *node = padded + group * 128 + b * 8 / 254 * 32;
        unsigned bit = (unsigned)(b * 8 % 254), shift = bit % 8;
        const uint8_t *p = node + bit / 8;
        if (bit <= 246) /* all eight bits lie in this node */
            out[i] = (uint8_t)(shift == 0 ? *p : p[0] >> shift | p[1] << (8 - shift));
        else /* 254 - bit bits here, the rest at the start of the next node */
            out[i] = (uint8_t)((p[0] & 0x3f) >> shift | node[32] << (254 - bit));
    }
    return CUZK_OK;
}
