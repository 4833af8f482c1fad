/* Fp and Fp2 multiplication with mulx and two independent carry chains, adcx (CF) and adox (OF). */
#include "field/adx.h"
#include "field/variants.h"

#if defined(ZK_FIELD_HAVE_ADX)

/* p, and -1/p mod 2^64 */
static const uint64_t modulus[7] = {ZK_FP_P0, ZK_FP_P1, ZK_FP_P2, ZK_FP_P3, ZK_FP_P4, ZK_FP_P5, ZK_FP_NEG_INV};

/* clang-format off */
/* t0..t6 += rdx * six limbs; t6 takes the last carries of both chains. */
#define ROW_A(t0, t1, t2, t3, t4, t5, t6)                                                                              \
    CLEAR_CARRIES STEP(A(0), t0, t1) STEP(A(1), t1, t2) STEP(A(2), t2, t3) STEP(A(3), t3, t4) STEP(A(4), t4, t5)       \
        STEP(A(5), t5, t6) "adcq $0, " t6 ";"

/* The multiple of p that clears t0; afterwards t0 = 0 and the row's value is t1..t6. */
#define ROW_P(t0, t1, t2, t3, t4, t5, t6)                                                                              \
    "movq " t0 ", %%rdx; imulq " P(6) ", %%rdx;" CLEAR_CARRIES STEP(P(0), t0, t1) STEP(P(1), t1, t2)                   \
        STEP(P(2), t2, t3) STEP(P(3), t3, t4) STEP(P(4), t4, t5) STEP(P(5), t5, t6) "adcq $0, " t6 ";"

/* The first row has nothing to add to: one chain. */
#define FIRST_ROW_A(t0, t1, t2, t3, t4, t5, t6)                                                                        \
    "mulx " A(0) ", " t0 ", " t1 "; mulx " A(1) ", %%rax, " t2 "; addq %%rax, " t1 ";"                                 \
    "mulx " A(2) ", %%rax, " t3 "; adcq %%rax, " t2 "; mulx " A(3) ", %%rax, " t4 "; adcq %%rax, " t3 ";"              \
    "mulx " A(4) ", %%rax, " t5 "; adcq %%rax, " t4 "; mulx " A(5) ", %%rax, " t6 "; adcq %%rax, " t5 ";"              \
    "adcq $0, " t6 ";"

/* Stores at r t0..t5 or that minus p, whichever is in [0, p); u0..u5 are scratch. */
#define REDUCE_ONCE(r, t0, t1, t2, t3, t4, t5, u0, u1, u2, u3, u4, u5)                                                 \
    "movq " t0 ", " u0 "; subq " P(0) ", " t0 "; movq " t1 ", " u1 "; sbbq " P(1) ", " t1 ";"                          \
    "movq " t2 ", " u2 "; sbbq " P(2) ", " t2 "; movq " t3 ", " u3 "; sbbq " P(3) ", " t3 ";"                          \
    "movq " t4 ", " u4 "; sbbq " P(4) ", " t4 "; movq " t5 ", " u5 "; sbbq " P(5) ", " t5 ";"                          \
    "cmovcq " u0 ", " t0 "; cmovcq " u1 ", " t1 "; cmovcq " u2 ", " t2 ";"                                             \
    "cmovcq " u3 ", " t3 "; cmovcq " u4 ", " t4 "; cmovcq " u5 ", " t5 ";"                                             \
    "movq " t0 ", (" r "); movq " t1 ", 8(" r "); movq " t2 ", 16(" r ");"                                             \
    "movq " t3 ", 24(" r "); movq " t4 ", 32(" r "); movq " t5 ", 40(" r ");"

/* r = a b / 2^384 mod p, rows of the product and of the reduction in turn (see zk_limbs_mont_mul). The running value
 * stays below a + p and the result before the last subtraction below p + a b / 2^384: exact for a, b < 2p as well. */
ZK_INLINE void mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b) {
    __asm__ volatile(
        B(0) FIRST_ROW_A(R0, R1, R2, R3, R4, R5, R6)
        ROW_P(R0, R1, R2, R3, R4, R5, R6)
        B(1) ROW_A(R1, R2, R3, R4, R5, R6, R0)
        ROW_P(R1, R2, R3, R4, R5, R6, R0)
        B(2) ROW_A(R2, R3, R4, R5, R6, R0, R1)
        ROW_P(R2, R3, R4, R5, R6, R0, R1)
        B(3) ROW_A(R3, R4, R5, R6, R0, R1, R2)
        ROW_P(R3, R4, R5, R6, R0, R1, R2)
        B(4) ROW_A(R4, R5, R6, R0, R1, R2, R3)
        ROW_P(R4, R5, R6, R0, R1, R2, R3)
        B(5) ROW_A(R5, R6, R0, R1, R2, R3, R4)
        ROW_P(R5, R6, R0, R1, R2, R3, R4)
        REDUCE_ONCE("%[r]", R6, R0, R1, R2, R3, R4, "%%rax", "%%rcx", "%%rdx", R5, "%[a]", "%[b]")
        : [a] "+r"(a), [b] "+r"(b)
        : [r] "r"(r), [p] "m"(modulus)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "cc", "memory");
}

/* The row's value into the next limb of the product: t0..t5 += rdx * a, t6 = the top. */
#define WIDE_ROW(k, t0, t1, t2, t3, t4, t5, t6)                                                                        \
    B(k) CLEAR_CARRIES STEP(A(0), t0, t1) STEP(A(1), t1, t2) STEP(A(2), t2, t3) STEP(A(3), t3, t4) STEP(A(4), t4, t5)  \
        "mulx " A(5) ", %%rax, " t6 "; adcx %%rax, " t5 "; movl $0, %%eax; adox %%rax, " t6 "; adcx %%rax, " t6 ";"    \
        "movq " t0 ", " #k "*8(%[t]);"

/* t[12] = a b for any six-limb numbers. */
ZK_INLINE void mul_wide(uint64_t *t, const uint64_t *a, const uint64_t *b) {
    __asm__ volatile(
        B(0) FIRST_ROW_A(R0, R1, R2, R3, R4, R5, R6) "movq " R0 ", (%[t]);"
        WIDE_ROW(1, R1, R2, R3, R4, R5, R6, R0)
        WIDE_ROW(2, R2, R3, R4, R5, R6, R0, R1)
        WIDE_ROW(3, R3, R4, R5, R6, R0, R1, R2)
        WIDE_ROW(4, R4, R5, R6, R0, R1, R2, R3)
        WIDE_ROW(5, R5, R6, R0, R1, R2, R3, R4)
        "movq " R6 ", 48(%[t]); movq " R0 ", 56(%[t]); movq " R1 ", 64(%[t]);"
        "movq " R2 ", 72(%[t]); movq " R3 ", 80(%[t]); movq " R4 ", 88(%[t]);"
        :
        : [t] "r"(t), [a] "r"(a), [b] "r"(b)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "cc", "memory");
}

/* R0..R5 = t / 2^384 mod p up to one p: six reduction rows over the lower half R0..R5, then the upper half. The rows
 * leave less than p + 1, so a t below p 2^384 gives less than 2p. */
#define MONT_REDUCE                                                                                                    \
    "xorl %%r14d, %%r14d;"                                                                                             \
    ROW_P(R0, R1, R2, R3, R4, R5, R6) ROW_P(R1, R2, R3, R4, R5, R6, R0) ROW_P(R2, R3, R4, R5, R6, R0, R1)              \
    ROW_P(R3, R4, R5, R6, R0, R1, R2) ROW_P(R4, R5, R6, R0, R1, R2, R3) ROW_P(R5, R6, R0, R1, R2, R3, R4)              \
    "addq 48(%[t]), " R6 "; adcq 56(%[t]), " R0 "; adcq 64(%[t]), " R1 "; adcq 72(%[t]), " R2 ";"                      \
    "adcq 80(%[t]), " R3 "; adcq 88(%[t]), " R4 ";"

/* r = t / 2^384 mod p for t < p 2^384. */
ZK_INLINE void mont_reduce(uint64_t *r, const uint64_t *t) {
    __asm__ volatile(
        "movq (%[t]), " R0 "; movq 8(%[t]), " R1 "; movq 16(%[t]), " R2 ";"
        "movq 24(%[t]), " R3 "; movq 32(%[t]), " R4 "; movq 40(%[t]), " R5 ";"
        MONT_REDUCE
        REDUCE_ONCE("%[r]", R6, R0, R1, R2, R3, R4, "%%rax", "%%rcx", "%%rdx", R5, "%[t]", R7)
        : [t] "+r"(t)
        : [r] "r"(r), [p] "m"(modulus)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
}

/* Limb k of the square, in t: twice the products above the diagonal (CF), plus the square's half (OF). */
#define DIAGONAL(k, even, odd)                                                                                         \
    "movq " A(k) ", %%rdx; mulx %%rdx, %%rax, %%rcx; adcx " even ", " even "; adox %%rax, " even ";"                   \
    "adcx " odd ", " odd "; adox %%rcx, " odd ";"

/* r = a^2 / 2^384 mod p. 15 products above the diagonal, six squares, the reduction. Thirteen registers are all that a
 * build without optimisation leaves, so r waits in scratch[0]. */
ZK_INLINE void mont_sqr(uint64_t *r, const uint64_t *a) {
    uint64_t scratch[12], *t = scratch;
    scratch[0] = (uint64_t)(uintptr_t)r;
    __asm__ volatile(
        /* limbs 1..6: a0 * (a1..a5); limbs 3..10 are R3..R7, R0..R2 */
        "movq " A(0) ", %%rdx;"
        "mulx " A(1) ", " R1 ", " R2 "; mulx " A(2) ", %%rax, " R3 "; addq %%rax, " R2 ";"
        "mulx " A(3) ", %%rax, " R4 "; adcq %%rax, " R3 "; mulx " A(4) ", %%rax, " R5 "; adcq %%rax, " R4 ";"
        "mulx " A(5) ", %%rax, " R6 "; adcq %%rax, " R5 "; adcq $0, " R6 ";"
        "movq " R1 ", 8(%[t]); movq " R2 ", 16(%[t]);"
        /* a1 * (a2..a5) at 3 */
        "movq " A(1) ", %%rdx;" CLEAR_CARRIES
        STEP(A(2), R3, R4) STEP(A(3), R4, R5) STEP(A(4), R5, R6)
        "mulx " A(5) ", %%rax, " R7 "; adcx %%rax, " R6 "; movl $0, %%eax; adox %%rax, " R7 "; adcx %%rax, " R7 ";"
        /* a2 * (a3..a5) at 5 */
        "movq " A(2) ", %%rdx;" CLEAR_CARRIES
        STEP(A(3), R5, R6) STEP(A(4), R6, R7)
        "mulx " A(5) ", %%rax, " R0 "; adcx %%rax, " R7 "; movl $0, %%eax; adox %%rax, " R0 "; adcx %%rax, " R0 ";"
        /* a3 * (a4, a5) at 7 */
        "movq " A(3) ", %%rdx;" CLEAR_CARRIES
        STEP(A(4), R7, R0)
        "mulx " A(5) ", %%rax, " R1 "; adcx %%rax, " R0 "; movl $0, %%eax; adox %%rax, " R1 "; adcx %%rax, " R1 ";"
        /* a4 * a5 at 9 */
        "movq " A(4) ", %%rdx; mulx " A(5) ", %%rax, " R2 "; addq %%rax, " R1 "; adcq $0, " R2 ";"
        "movq " R0 ", 64(%[t]); movq " R1 ", 72(%[t]); movq " R2 ", 80(%[t]);"
        "movq 8(%[t]), " R1 "; movq 16(%[t]), " R2 ";"
        "xorl %%r8d, %%r8d;" /* limb 0, and clears both carries */
        DIAGONAL(0, R0, R1) DIAGONAL(1, R2, R3) DIAGONAL(2, R4, R5) DIAGONAL(3, R6, R7)
        "movq " R6 ", 48(%[t]); movq " R7 ", 56(%[t]); movq 64(%[t]), " R6 "; movq 72(%[t]), " R7 ";"
        DIAGONAL(4, R6, R7)
        "movq " R6 ", 64(%[t]); movq " R7 ", 72(%[t]); movq 80(%[t]), " R6 "; movl $0, %%r15d;"
        DIAGONAL(5, R6, R7)
        "movq " R6 ", 80(%[t]); movq " R7 ", 88(%[t]);"
        MONT_REDUCE
        "movq (%[t]), %[t];"
        REDUCE_ONCE("%[t]", R6, R0, R1, R2, R3, R4, "%%rax", "%%rcx", "%%rdx", R5, "%[a]", R7)
        : [a] "+r"(a), [t] "+r"(t)
        : [p] "m"(modulus)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
}

/* r = a + b without reduction, r = a - b + p: for products, whose factors may lie anywhere below 2p. */
ZK_INLINE void add_loose(uint64_t *r, const uint64_t *a, const uint64_t *b) {
    uint64_t t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], t4 = a[4], t5 = a[5];
    __asm__("addq (%[b]), %[t0]; adcq 8(%[b]), %[t1]; adcq 16(%[b]), %[t2];"
            "adcq 24(%[b]), %[t3]; adcq 32(%[b]), %[t4]; adcq 40(%[b]), %[t5];"
            : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [t4] "+r"(t4), [t5] "+r"(t5)
            : [b] "r"(b)
            : "cc", "memory");
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3, r[4] = t4, r[5] = t5;
}

ZK_INLINE void sub_loose(uint64_t *r, const uint64_t *a, const uint64_t *b) {
    uint64_t t0 = a[0], t1 = a[1], t2 = a[2], t3 = a[3], t4 = a[4], t5 = a[5];
    __asm__("addq " P(0) ", %[t0]; adcq " P(1) ", %[t1]; adcq " P(2) ", %[t2];"
            "adcq " P(3) ", %[t3]; adcq " P(4) ", %[t4]; adcq " P(5) ", %[t5];"
            "subq (%[b]), %[t0]; sbbq 8(%[b]), %[t1]; sbbq 16(%[b]), %[t2];"
            "sbbq 24(%[b]), %[t3]; sbbq 32(%[b]), %[t4]; sbbq 40(%[b]), %[t5];"
            : [t0] "+r"(t0), [t1] "+r"(t1), [t2] "+r"(t2), [t3] "+r"(t3), [t4] "+r"(t4), [t5] "+r"(t5)
            : [b] "r"(b), [p] "m"(modulus)
            : "cc", "memory");
    r[0] = t0, r[1] = t1, r[2] = t2, r[3] = t3, r[4] = t4, r[5] = t5;
}

#define SUB_LIMB(op, k) "movq " #k "*8(%[s]), %%rax; " op " %%rax, " #k "*8(%[t]);"
#define SUB_WIDE                                                                                                       \
    SUB_LIMB("subq", 0) SUB_LIMB("sbbq", 1) SUB_LIMB("sbbq", 2) SUB_LIMB("sbbq", 3) SUB_LIMB("sbbq", 4)                \
    SUB_LIMB("sbbq", 5) SUB_LIMB("sbbq", 6) SUB_LIMB("sbbq", 7) SUB_LIMB("sbbq", 8) SUB_LIMB("sbbq", 9)                \
    SUB_LIMB("sbbq", 10) SUB_LIMB("sbbq", 11)

/* t -= s, 12 limbs, t >= s. */
ZK_INLINE void sub_wide(uint64_t *t, const uint64_t *s) {
    __asm__ volatile(SUB_WIDE : : [t] "r"(t), [s] "r"(s) : "rax", "cc", "memory");
}

/* t -= s, 12 limbs, plus p 2^384 if that is negative. */
ZK_INLINE void sub_wide_mod(uint64_t *t, const uint64_t *s) {
    __asm__ volatile(
        SUB_WIDE
        "movl $0, %%r8d; movl $0, %%r9d; movl $0, %%r10d; movl $0, %%r11d; movl $0, %%r12d; movl $0, %%r13d;"
        "cmovcq " P(0) ", %%r8; cmovcq " P(1) ", %%r9; cmovcq " P(2) ", %%r10;"
        "cmovcq " P(3) ", %%r11; cmovcq " P(4) ", %%r12; cmovcq " P(5) ", %%r13;"
        "addq %%r8, 48(%[t]); adcq %%r9, 56(%[t]); adcq %%r10, 64(%[t]);"
        "adcq %%r11, 72(%[t]); adcq %%r12, 80(%[t]); adcq %%r13, 88(%[t]);"
        :
        : [t] "r"(t), [s] "r"(s), [p] "m"(modulus)
        : "rax", "r8", "r9", "r10", "r11", "r12", "r13", "cc", "memory");
}
/* clang-format on */

void zk_fp_mul_adx(zk_fp *r, const zk_fp *a, const zk_fp *b) { mont_mul(r->l, a->l, b->l); }
void zk_fp_sqr_adx(zk_fp *r, const zk_fp *a) { mont_sqr(r->l, a->l); }

/* Karatsuba on unreduced products, reduced once per coefficient. */
void zk_fp2_mul_adx(zk_fp2 *r, const zk_fp2 *a, const zk_fp2 *b) {
    uint64_t v0[12], v1[12], cross[12], sum_a[6], sum_b[6];
    add_loose(sum_a, a->c0.l, a->c1.l);
    add_loose(sum_b, b->c0.l, b->c1.l);
    mul_wide(cross, sum_a, sum_b);
    mul_wide(v0, a->c0.l, b->c0.l);
    mul_wide(v1, a->c1.l, b->c1.l);
    sub_wide(cross, v0);
    sub_wide(cross, v1);
    mont_reduce(r->c1.l, cross);
    sub_wide_mod(v0, v1);
    mont_reduce(r->c0.l, v0);
}

/* (c0 + c1)(c0 - c1) + 2 c0 c1 u */
void zk_fp2_sqr_adx(zk_fp2 *r, const zk_fp2 *a) {
    uint64_t sum[6], difference[6], twice[6];
    add_loose(sum, a->c0.l, a->c1.l);
    sub_loose(difference, a->c0.l, a->c1.l);
    add_loose(twice, a->c0.l, a->c0.l);
    mont_mul(r->c1.l, twice, a->c1.l);
    mont_mul(r->c0.l, sum, difference);
}

#endif
