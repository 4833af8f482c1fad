/* Built for any CPU. */
#include "field/cpu.h"
#include "ntt/ifma/ifma.h"

/* Eight leaves at least: they are the lanes. */
#define LOG2_N_MIN (LEAF_LOG2 + 3)

bool zk_ntt_ifma_usable(unsigned log2_n) {
#if ZK_HAVE_IFMA
    const zk_cpu_features *cpu = zk_cpu_get_features();
    return log2_n >= LOG2_N_MIN && zk_cpu_get_limit() >= ZK_CPU_IFMA && cpu->avx512f && cpu->avx512dq &&
           cpu->avx512bw && cpu->avx512vl && cpu->avx512ifma && cpu->bmi2 && cpu->adx;
#else
    (void)log2_n;
    return false;
#endif
}
