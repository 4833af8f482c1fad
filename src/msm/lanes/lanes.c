/* Built for any CPU. */
#include "msm/lanes/lanes.h"

#include "field/cpu.h"

#if ZK_HAVE_LANES
#define LANES_AT(g)                                                                                                    \
    const zk_msm_##g##_lanes *zk_msm_##g##_lanes_at(size_t k) {                                                        \
        const zk_msm_##g##_lanes *usable[3] = {NULL};                                                                  \
        size_t n = 0;                                                                                                  \
        if (zk_cpu_can_ifma()) usable[n++] = &zk_msm_##g##_ifma;                                                       \
        if (zk_cpu_can_fma()) usable[n++] = &zk_msm_##g##_fma;                                                         \
        return k < n ? usable[k] : NULL;                                                                               \
    }
#else
#define LANES_AT(g)                                                                                                    \
    const zk_msm_##g##_lanes *zk_msm_##g##_lanes_at(size_t k) {                                                        \
        (void)k;                                                                                                       \
        return NULL;                                                                                                   \
    }
#endif
LANES_AT(g1)
LANES_AT(g2)
