/* Addition and subtraction modulo p for four and six limbs as unbroken carry chains, which compilers do not manage to
 * keep through a masked second chain. Baseline x86-64; up to 14 registers are needed, so only optimised builds have it,
 * and sanitizers, which take registers for themselves, get the portable code.
 */
#ifndef ZK_FIELD_LIMB_X86_H
#define ZK_FIELD_LIMB_X86_H

#include <stdint.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define ZK_LIMB_NO_ASM 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(ZK_LIMB_NO_ASM) ||                        \
    !defined(__OPTIMIZE__) || !defined(__x86_64__)
#define ZK_LIMB_X86 0
#else
#define ZK_LIMB_X86 1

/* clang-format off */
static inline __attribute__((always_inline)) void zk_limbs4_add_mod_x86(uint64_t *r, const uint64_t *a,
                                                                        const uint64_t *b, const uint64_t *p) {
    uint64_t t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], u0, u1, u2, u3;
    __asm__("addq (%[b]), %[t0]; adcq 8(%[b]), %[t1]; adcq 16(%[b]), %[t2]; adcq 24(%[b]), %[t3];"
            "movq %[t0], %[u0]; movq %[t1], %[u1]; movq %[t2], %[u2]; movq %[t3], %[u3];"
            "subq %[p0], %[t0]; sbbq %[p1], %[t1]; sbbq %[p2], %[t2]; sbbq %[p3], %[t3];"
            "cmovcq %[u0], %[t0]; cmovcq %[u1], %[t1]; cmovcq %[u2], %[t2]; cmovcq %[u3], %[t3];"
            : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3),
              [u0] "=&r"(u0), [u1] "=&r"(u1), [u2] "=&r"(u2), [u3] "=&r"(u3)
            : [b] "r"(b), [p0] "m"(p[0]), [p1] "m"(p[1]), [p2] "m"(p[2]), [p3] "m"(p[3])
            : "cc", "memory");
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3;
}

static inline __attribute__((always_inline)) void zk_limbs4_sub_mod_x86(uint64_t *r, const uint64_t *a,
                                                                        const uint64_t *b, const uint64_t *p) {
    uint64_t t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], u0, u1, u2, u3;
    __asm__("subq (%[b]), %[t0]; sbbq 8(%[b]), %[t1]; sbbq 16(%[b]), %[t2]; sbbq 24(%[b]), %[t3];"
            "movl $0, %k[u0]; movl $0, %k[u1]; movl $0, %k[u2]; movl $0, %k[u3];"
            "cmovcq %[p0], %[u0]; cmovcq %[p1], %[u1]; cmovcq %[p2], %[u2]; cmovcq %[p3], %[u3];"
            "addq %[u0], %[t0]; adcq %[u1], %[t1]; adcq %[u2], %[t2]; adcq %[u3], %[t3];"
            : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3),
              [u0] "=&r"(u0), [u1] "=&r"(u1), [u2] "=&r"(u2), [u3] "=&r"(u3)
            : [b] "r"(b), [p0] "m"(p[0]), [p1] "m"(p[1]), [p2] "m"(p[2]), [p3] "m"(p[3])
            : "cc", "memory");
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3;
}

static inline __attribute__((always_inline)) void zk_limbs6_add_mod_x86(uint64_t *r, const uint64_t *a,
                                                                        const uint64_t *b, const uint64_t *p) {
    uint64_t t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], t4 = a[4], t5 = a[5], u0, u1, u2, u3, u4, u5;
    __asm__("addq (%[b]), %[t0]; adcq 8(%[b]), %[t1]; adcq 16(%[b]), %[t2];"
            "adcq 24(%[b]), %[t3]; adcq 32(%[b]), %[t4]; adcq 40(%[b]), %[t5];"
            "movq %[t0], %[u0]; movq %[t1], %[u1]; movq %[t2], %[u2];"
            "movq %[t3], %[u3]; movq %[t4], %[u4]; movq %[t5], %[u5];"
            "subq %[p0], %[t0]; sbbq %[p1], %[t1]; sbbq %[p2], %[t2];"
            "sbbq %[p3], %[t3]; sbbq %[p4], %[t4]; sbbq %[p5], %[t5];"
            "cmovcq %[u0], %[t0]; cmovcq %[u1], %[t1]; cmovcq %[u2], %[t2];"
            "cmovcq %[u3], %[t3]; cmovcq %[u4], %[t4]; cmovcq %[u5], %[t5];"
            : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [t4] "+r"(t4), [t5] "+r"(t5),
              [u0] "=&r"(u0), [u1] "=&r"(u1), [u2] "=&r"(u2), [u3] "=&r"(u3), [u4] "=&r"(u4), [u5] "=&r"(u5)
            : [b] "r"(b), [p0] "m"(p[0]), [p1] "m"(p[1]), [p2] "m"(p[2]), [p3] "m"(p[3]), [p4] "m"(p[4]), [p5] "m"(p[5])
            : "cc", "memory");
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3, r[4] = t4, r[5] = t5;
}

static inline __attribute__((always_inline)) void zk_limbs6_sub_mod_x86(uint64_t *r, const uint64_t *a,
                                                                        const uint64_t *b, const uint64_t *p) {
    uint64_t t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], t4 = a[4], t5 = a[5], u0, u1, u2, u3, u4, u5;
    __asm__("subq (%[b]), %[t0]; sbbq 8(%[b]), %[t1]; sbbq 16(%[b]), %[t2];"
            "sbbq 24(%[b]), %[t3]; sbbq 32(%[b]), %[t4]; sbbq 40(%[b]), %[t5];"
            "movl $0, %k[u0]; movl $0, %k[u1]; movl $0, %k[u2]; movl $0, %k[u3]; movl $0, %k[u4]; movl $0, %k[u5];"
            "cmovcq %[p0], %[u0]; cmovcq %[p1], %[u1]; cmovcq %[p2], %[u2];"
            "cmovcq %[p3], %[u3]; cmovcq %[p4], %[u4]; cmovcq %[p5], %[u5];"
            "addq %[u0], %[t0]; adcq %[u1], %[t1]; adcq %[u2], %[t2];"
            "adcq %[u3], %[t3]; adcq %[u4], %[t4]; adcq %[u5], %[t5];"
            : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [t4] "+r"(t4), [t5] "+r"(t5),
              [u0] "=&r"(u0), [u1] "=&r"(u1), [u2] "=&r"(u2), [u3] "=&r"(u3), [u4] "=&r"(u4), [u5] "=&r"(u5)
            : [b] "r"(b), [p0] "m"(p[0]), [p1] "m"(p[1]), [p2] "m"(p[2]), [p3] "m"(p[3]), [p4] "m"(p[4]), [p5] "m"(p[5])
            : "cc", "memory");
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3, r[4] = t4, r[5] = t5;
}
/* clang-format on */

#endif
#endif
