/* What this CPU and operating system can run. Always built with baseline flags. */
#ifndef ZK_FIELD_CPU_H
#define ZK_FIELD_CPU_H

#include <stdbool.h>

typedef struct zk_cpu_features {
    bool bmi2, adx, popcnt, sha_ni;
    bool avx2, fma;                                         /* and the system saves ymm state */
    bool narrow_fma;                                        /* AMD before Zen 2: a ymm is computed half by half */
    bool avx512f, avx512dq, avx512bw, avx512vl, avx512ifma; /* and the system saves zmm and mask state */
} zk_cpu_features;

/* Read from CPUID and XGETBV on the first call, cached; may be called from any thread. All false off x86-64. */
const zk_cpu_features *zk_cpu_get_features(void);

/* The environment variable CUZK_CPU: how fast a variant may be chosen. Unset and unknown names mean ZK_CPU_BEST. */
typedef enum zk_cpu_limit {
    ZK_CPU_PORTABLE, /* no ISA-specific code */
    ZK_CPU_ADX,      /* scalar code with mulx, adcx, adox */
    ZK_CPU_AVX2,     /* and AVX2 */
    ZK_CPU_IFMA,     /* and AVX-512 with IFMA */
    ZK_CPU_BEST
} zk_cpu_limit;
extern const char *const zk_cpu_limit_names[ZK_CPU_BEST];
zk_cpu_limit zk_cpu_get_limit(void);

/* The CPU and the system have what the sources in AVX-512 IFMA are built for, and CUZK_CPU allows it. */
bool zk_cpu_can_ifma(void);
/* The same of the sources in AVX2 and FMA; false also where those would be slower than scalar code. */
bool zk_cpu_can_fma(void);

#endif
