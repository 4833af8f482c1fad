/* Built for any CPU. */
#include "field/cpu.h"
#include "msm/ifma/ifma.h"

bool zk_msm_ifma_usable(void) {
#if ZK_HAVE_IFMA
    return zk_cpu_can_ifma();
#else
    return false;
#endif
}
