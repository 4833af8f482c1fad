#include "msm/subgroup.h"

#include "base/bytes.h"
#include "hash/chacha.h"

#define WORDS (ZK_SUBGROUP_LANES / 64)
/* Bytes of the key stream a block takes: the turns, then the signs. */
#define TURN_BYTES ((size_t)64)
#define DRAW_BYTES (TURN_BYTES + 8 * ZK_SUBGROUP_PASSES * WORDS)

void zk_subgroup_draw_block(zk_subgroup_draw *draw, const uint8_t key[32], uint64_t block) {
    zk_chacha stream;
    uint8_t turns[TURN_BYTES], minus[8 * WORDS];
    zk_chacha_init_wide(&stream, 12, key);
    zk_chacha_seek(&stream, block * DRAW_BYTES);
    zk_chacha_read(&stream, turns, sizeof turns);
    for (size_t pass = 0; pass < ZK_SUBGROUP_PASSES; pass++) {
        draw->turn[pass] = zk_load_le32(turns + 4 * pass) % ZK_SUBGROUP_LANES;
        zk_chacha_read(&stream, minus, sizeof minus);
        for (size_t i = 0; i < WORDS; i++) draw->minus[pass][i] = zk_load_le64(minus + 8 * i);
    }
}
