#include "field/cpu.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
static uint64_t read_xcr0(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

/* Or Hygon ("HygonGenuine" begins with 0x6f677948), whose family 18h is Zen 1. */
static bool is_amd(void) {
    unsigned a, b, c, d;
    return __get_cpuid(0, &a, &b, &c, &d) && ((b == signature_AMD_ebx && c == signature_AMD_ecx) || b == 0x6f677948);
}

static zk_cpu_features probe(void) {
    zk_cpu_features f = {0};
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return f;
    bool osxsave = c >> 27 & 1, fma = c >> 12 & 1;
    f.popcnt = c >> 23 & 1;
    const unsigned family = (a >> 8 & 15) + (a >> 20 & 255), model = (a >> 4 & 15) | (a >> 12 & 0xf0);
    f.narrow_fma = is_amd() && (family < 0x17 || (family == 0x17 && model < 0x30) || family == 0x18);
    /* XCR0: bits 1-2 are xmm and ymm, bits 5-7 mask registers, upper zmm halves, zmm16-31. */
    uint64_t xcr0 = osxsave ? read_xcr0() : 0;
    bool os_ymm = (xcr0 & 0x06) == 0x06, os_zmm = (xcr0 & 0xe6) == 0xe6;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
    f.bmi2 = b >> 8 & 1;
    f.adx = b >> 19 & 1;
    f.sha_ni = b >> 29 & 1;
    f.avx2 = os_ymm && (b >> 5 & 1);
    f.fma = os_ymm && fma;
    f.avx512f = os_zmm && (b >> 16 & 1);
    f.avx512dq = f.avx512f && (b >> 17 & 1);
    f.avx512ifma = f.avx512f && (b >> 21 & 1);
    f.avx512bw = f.avx512f && (b >> 30 & 1);
    f.avx512vl = f.avx512f && (b >> 31 & 1);
    return f;
}
#else
static zk_cpu_features probe(void) { return (zk_cpu_features){0}; }
#endif

const zk_cpu_features *zk_cpu_get_features(void) {
    static zk_cpu_features features;
    static atomic_int state; /* 0 unknown, 1 being written, 2 ready */
    if (atomic_load_explicit(&state, memory_order_acquire) == 2) return &features;
    int expected = 0;
    if (atomic_compare_exchange_strong(&state, &expected, 1)) {
        features = probe();
        atomic_store_explicit(&state, 2, memory_order_release);
    } else {
        while (atomic_load_explicit(&state, memory_order_acquire) != 2) continue;
    }
    return &features;
}

const char *const zk_cpu_limit_names[ZK_CPU_BEST] = {"portable", "adx", "avx2", "ifma"};

zk_cpu_limit zk_cpu_get_limit(void) {
    const char *value = getenv("CUZK_CPU");
    zk_cpu_limit limit = ZK_CPU_PORTABLE;
    if (!value) return ZK_CPU_BEST;
    while (limit < ZK_CPU_BEST && strcmp(value, zk_cpu_limit_names[limit]) != 0) limit++;
    return limit;
}

bool zk_cpu_can_ifma(void) {
    const zk_cpu_features *cpu = zk_cpu_get_features();
    return zk_cpu_get_limit() >= ZK_CPU_IFMA && cpu->avx512f && cpu->avx512dq && cpu->avx512bw && cpu->avx512vl &&
           cpu->avx512ifma && cpu->bmi2 && cpu->adx;
}

bool zk_cpu_can_fma(void) {
    const zk_cpu_features *cpu = zk_cpu_get_features();
    return zk_cpu_get_limit() >= ZK_CPU_AVX2 && cpu->avx2 && cpu->fma && !cpu->narrow_fma && cpu->bmi2 && cpu->popcnt;
}
