/* Built for any CPU. */
#include "curve/lanes/lanes.h"

#include "field/cpu.h"

const zk_curve_lanes *zk_curve_lanes_active(void) {
#if ZK_HAVE_LANES
#define TABLE(isa, least)                                                                                              \
    {                                                                                                                  \
        least, zk_fp_pow_lanes_##isa, zk_g1_subgroup_lanes_##isa, zk_g2_subgroup_lanes_##isa,                          \
            zk_g1_deserialize_lanes_##isa, zk_g2_deserialize_lanes_##isa, zk_g1_mul_pairs_lanes_##isa                  \
    }
    static const zk_curve_lanes ifma = TABLE(ifma, 3), fma = TABLE(fma, 6);
    if (zk_cpu_can_ifma()) return &ifma;
    if (zk_cpu_can_fma()) return &fma;
#endif
    return NULL;
}
