/* Built for any CPU. */
#include "field/cpu.h"
#include "msm/ifma/ifma.h"

bool zk_msm_ifma_usable(void) {
#if ZK_HAVE_IFMA
    const zk_cpu_features *cpu = zk_cpu_get_features();
    return zk_cpu_get_limit() >= ZK_CPU_IFMA && cpu->avx512f && cpu->avx512dq && cpu->avx512bw && cpu->avx512vl &&
           cpu->avx512ifma && cpu->bmi2 && cpu->adx;
#else
    return false;
#endif
}
