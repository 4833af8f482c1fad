/* Multiply-add chains with carry: PTX on the device; the same semantics in C++ where ZK_PTX_ON_HOST is defined, so that
 * the carry chains themselves can be tested on the host. */
#ifndef ZK_CUDA_PTX_CUH
#define ZK_CUDA_PTX_CUH

#include "platform.cuh"

#if defined(__CUDA_ARCH__)
/* The carry flag lives between these statements, hence volatile: they must stay in order. */
#define ZK_ADD_CC(d, a, b) asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ZK_ADDC_CC(d, a, b) asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ZK_ADDC(d, a, b) asm volatile("addc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ZK_SUB_CC(d, a, b) asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ZK_SUBC_CC(d, a, b) asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ZK_SUBC(d, a, b) asm volatile("subc.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
#define ZK_MUL2(lo, hi, a, b)                                                                                          \
    asm volatile("mul.lo.u32 %0, %2, %3;\n\tmul.hi.u32 %1, %2, %3;" : "=r"(lo), "=r"(hi) : "r"(a), "r"(b))
/* (lo, hi) += a b, starting or continuing a chain, carry out */
#define ZK_MAD_CC(lo, hi, a, b)                                                                                        \
    asm volatile("mad.lo.cc.u32 %0, %2, %3, %0;\n\tmadc.hi.cc.u32 %1, %2, %3, %1;"                                     \
                 : "+r"(lo), "+r"(hi)                                                                                  \
                 : "r"(a), "r"(b))
#define ZK_MADC_CC(lo, hi, a, b)                                                                                       \
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %0;\n\tmadc.hi.cc.u32 %1, %2, %3, %1;"                                    \
                 : "+r"(lo), "+r"(hi)                                                                                  \
                 : "r"(a), "r"(b))
/* (lo, hi) = a b + (c, d) + carry, carry out / with d = 0, no carry out */
#define ZK_MADC_INTO_CC(lo, hi, a, b, c, d)                                                                            \
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.cc.u32 %1, %2, %3, %5;"                                    \
                 : "=r"(lo), "=r"(hi)                                                                                  \
                 : "r"(a), "r"(b), "r"(c), "r"(d))
#define ZK_MADC_INTO(lo, hi, a, b, c)                                                                                  \
    asm volatile("madc.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, 0;"                                        \
                 : "=r"(lo), "=r"(hi)                                                                                  \
                 : "r"(a), "r"(b), "r"(c))
/* (lo, hi) = a b + (c, 0), starting a chain, no carry out */
#define ZK_MAD_INTO(lo, hi, a, b, c)                                                                                   \
    asm volatile("mad.lo.cc.u32 %0, %2, %3, %4;\n\tmadc.hi.u32 %1, %2, %3, 0;"                                         \
                 : "=r"(lo), "=r"(hi)                                                                                  \
                 : "r"(a), "r"(b), "r"(c))
/* only the carry of a + b, of a + b + carry */
#define ZK_CARRY_OF(a, b) asm volatile("{\n\t.reg .u32 t;\n\tadd.cc.u32 t, %0, %1;\n\t}" ::"r"(a), "r"(b))
#define ZK_CARRYC_OF(a, b) asm volatile("{\n\t.reg .u32 t;\n\taddc.cc.u32 t, %0, %1;\n\t}" ::"r"(a), "r"(b))
#define ZK_MUL_LO(d, a, b) asm volatile("mul.lo.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b))
/* d += low half of a b, starting or ending a chain, no carry out */
#define ZK_MAD_LO(d, a, b) asm volatile("mad.lo.u32 %0, %1, %2, %0;" : "+r"(d) : "r"(a), "r"(b))
#define ZK_MADC_LO(d, a, b) asm volatile("madc.lo.u32 %0, %1, %2, %0;" : "+r"(d) : "r"(a), "r"(b))
#define ZK_SHIFT1(lo, hi) __funnelshift_l(lo, hi, 1)
#define ZK_CHAIN __device__ __forceinline__
#define ZK_CARRY_CHAINS
#elif defined(ZK_PTX_ON_HOST)
namespace zk {
inline u32 ptx_carry;
inline void ptx_sum(u32 &d, u64 a, u64 b, bool in, bool out) {
    const u64 t = a + b + (in ? ptx_carry : 0);
    d = (u32)t;
    if (out) ptx_carry = (u32)(t >> 32);
}
inline void ptx_difference(u32 &d, u64 a, u64 b, bool in, bool out) {
    const u64 t = a - b - (in ? ptx_carry : 0);
    d = (u32)t;
    if (out) ptx_carry = (u32)(t >> 32) & 1;
}
inline void ptx_carry_of(u32 a, u32 b, bool in) {
    u32 t;
    ptx_sum(t, a, b, in, true);
}
inline u32 ptx_hi(u32 a, u32 b) { return (u32)(((u64)a * b) >> 32); }
/* (lo, hi) = a b + (c, d), carries as in mad.lo.cc / madc.lo.cc followed by madc.hi.cc / madc.hi */
inline void ptx_mad(u32 &lo, u32 &hi, u32 a, u32 b, u32 c, u32 d, bool in, bool out) {
    ptx_sum(lo, (u32)(a * b), c, in, true);
    ptx_sum(hi, ptx_hi(a, b), d, true, out);
}
} // namespace zk
#define ZK_ADD_CC(d, a, b) zk::ptx_sum(d, a, b, false, true)
#define ZK_ADDC_CC(d, a, b) zk::ptx_sum(d, a, b, true, true)
#define ZK_ADDC(d, a, b) zk::ptx_sum(d, a, b, true, false)
#define ZK_SUB_CC(d, a, b) zk::ptx_difference(d, a, b, false, true)
#define ZK_SUBC_CC(d, a, b) zk::ptx_difference(d, a, b, true, true)
#define ZK_SUBC(d, a, b) zk::ptx_difference(d, a, b, true, false)
#define ZK_MUL2(lo, hi, a, b) (hi = zk::ptx_hi(a, b), lo = (a) * (b))
#define ZK_MAD_CC(lo, hi, a, b) zk::ptx_mad(lo, hi, a, b, lo, hi, false, true)
#define ZK_MADC_CC(lo, hi, a, b) zk::ptx_mad(lo, hi, a, b, lo, hi, true, true)
#define ZK_MAD_INTO(lo, hi, a, b, c) zk::ptx_mad(lo, hi, a, b, c, 0, false, false)
#define ZK_MADC_INTO_CC(lo, hi, a, b, c, d) zk::ptx_mad(lo, hi, a, b, c, d, true, true)
#define ZK_MADC_INTO(lo, hi, a, b, c) zk::ptx_mad(lo, hi, a, b, c, 0, true, false)
#define ZK_CARRY_OF(a, b) zk::ptx_carry_of(a, b, false)
#define ZK_CARRYC_OF(a, b) zk::ptx_carry_of(a, b, true)
#define ZK_MUL_LO(d, a, b) ((d) = (a) * (b))
#define ZK_MAD_LO(d, a, b) zk::ptx_sum(d, (u32)((a) * (b)), d, false, false)
#define ZK_MADC_LO(d, a, b) zk::ptx_sum(d, (u32)((a) * (b)), d, true, false)
#define ZK_SHIFT1(lo, hi) ((hi) << 1 | (lo) >> 31)
#define ZK_CHAIN inline
#define ZK_CARRY_CHAINS
#endif

#endif
