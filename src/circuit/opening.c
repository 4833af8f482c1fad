#include "circuit/opening.h"

#include "circuit/num.h"
#include "circuit/poseidon.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)

cuzk_status zk_opening_shape_get(zk_opening_shape *shape, uint64_t sector_bytes, cuzk_err *err) {
    static const struct {
        uint64_t bytes;
        uint8_t sub, top;
    } sizes[] = {
        {2 * KIB, 0, 0},  {4 * KIB, 2, 0},   {16 * KIB, 8, 0}, {32 * KIB, 8, 2}, {8 * MIB, 0, 0},
        {16 * MIB, 2, 0}, {512 * MIB, 0, 0}, {1 * GIB, 2, 0},  {32 * GIB, 8, 0}, {64 * GIB, 8, 2},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (sizes[i].bytes != sector_bytes) continue;
        zk_opening_shape s = {.sub_arity = sizes[i].sub, .top_arity = sizes[i].top};
        uint64_t base_leaves = sector_bytes / 32 / (s.sub_arity ? s.sub_arity : 1) / (s.top_arity ? s.top_arity : 1);
        for (uint64_t n = base_leaves; n > 1; n /= 8) s.n_base++;
        s.n_nodes = s.n_base + (s.sub_arity > 0) + (s.top_arity > 0);
        s.n_siblings = 7 * s.n_base + (s.sub_arity ? s.sub_arity - 1 : 0) + (s.top_arity ? s.top_arity - 1 : 0);
        *shape = s;
        return CUZK_OK;
    }
    return ZK_FAIL(err, CUZK_UNSUPPORTED,
                   "sector size %llu: there are circuits for 2, 4, 16, 32 KiB, 8, 16, 512 MiB, 1, 32 and 64 GiB",
                   (unsigned long long)sector_bytes);
}

void zk_synth_opening(zk_synth *s, const zk_opening_shape *shape, const uint32_t *index, const uint8_t (*siblings)[32],
                      zk_cell root, zk_cell leaf) {
    zk_cell bits[3 * ZK_OPENING_MAX_NODES], children[8], cur = leaf;
    size_t n_bits = 0, n_siblings = 0;
    for (uint32_t i = 0; i < shape->n_nodes; i++) {
        uint32_t arity = zk_opening_arity(shape, i);
        zk_synth_hint_u64(s, index ? index[i] : 0);
        zk_synth_hints(s, siblings ? siblings + n_siblings : NULL, arity - 1);
        n_siblings += arity - 1;
        zk_synth_merkle_node(s, bits + n_bits, children, arity, cur);
        n_bits += arity == 8 ? 3 : 1;
        cur = zk_synth_poseidon(s, children, arity);
    }
    zk_synth_pack_input(s, bits, n_bits);
    zk_synth_equal(s, cur, root);
}
