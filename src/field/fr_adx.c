/* Fr multiplication with mulx and two independent carry chains, adcx (CF) and adox (OF). */
#include "field/adx.h"
#include "field/variants.h"

#if defined(ZK_FIELD_HAVE_ADX)

/* r, and -1/r mod 2^64 */
static const uint64_t modulus[5] = {ZK_FR_P0, ZK_FR_P1, ZK_FR_P2, ZK_FR_P3, ZK_FR_NEG_INV};

/* clang-format off */
/* t0..t4 += rdx * a. t4 is zero before (but for the first row) and takes the last carries of both chains. */
#define ROW_A(t0, t1, t2, t3, t4)                                                                                      \
    CLEAR_CARRIES STEP(A(0), t0, t1) STEP(A(1), t1, t2) STEP(A(2), t2, t3) STEP(A(3), t3, t4) "adcq $0, " t4 ";"

#define FIRST_ROW_A(t0, t1, t2, t3, t4)                                                                                \
    "mulx " A(0) ", " t0 ", " t1 "; mulx " A(1) ", %%rax, " t2 "; addq %%rax, " t1 ";"                                 \
    "mulx " A(2) ", %%rax, " t3 "; adcq %%rax, " t2 "; mulx " A(3) ", %%rax, " t4 "; adcq %%rax, " t3 ";"              \
    "adcq $0, " t4 ";"

/* The multiple of the modulus that clears t0; afterwards t0 = 0 and the row's value is t1..t4. */
#define ROW_P(t0, t1, t2, t3, t4)                                                                                      \
    "movq " t0 ", %%rdx; imulq " P(4) ", %%rdx;" CLEAR_CARRIES STEP(P(0), t0, t1) STEP(P(1), t1, t2)                   \
        STEP(P(2), t2, t3) STEP(P(3), t3, t4) "adcq $0, " t4 ";"

/* Stores t0..t3 or that minus the modulus, whichever is reduced; u0..u3 are scratch. */
#define REDUCE_ONCE(t0, t1, t2, t3, u0, u1, u2, u3)                                                                    \
    "movq " t0 ", " u0 "; subq " P(0) ", " t0 "; movq " t1 ", " u1 "; sbbq " P(1) ", " t1 ";"                          \
    "movq " t2 ", " u2 "; sbbq " P(2) ", " t2 "; movq " t3 ", " u3 "; sbbq " P(3) ", " t3 ";"                          \
    "cmovcq " u0 ", " t0 "; cmovcq " u1 ", " t1 "; cmovcq " u2 ", " t2 "; cmovcq " u3 ", " t3 ";"                      \
    "movq " t0 ", (%[r]); movq " t1 ", 8(%[r]); movq " t2 ", 16(%[r]); movq " t3 ", 24(%[r]);"

/* As zk_limbs_mont_mul: a < r, b any four limbs. */
ZK_INLINE void mont_mul(uint64_t *r, const uint64_t *a, const uint64_t *b) {
    __asm__ volatile(
        B(0) FIRST_ROW_A(R0, R1, R2, R3, R4) ROW_P(R0, R1, R2, R3, R4)
        B(1) ROW_A(R1, R2, R3, R4, R0) ROW_P(R1, R2, R3, R4, R0)
        B(2) ROW_A(R2, R3, R4, R0, R1) ROW_P(R2, R3, R4, R0, R1)
        B(3) ROW_A(R3, R4, R0, R1, R2) ROW_P(R3, R4, R0, R1, R2)
        REDUCE_ONCE(R4, R0, R1, R2, "%%rax", "%%rcx", "%%rdx", R3)
        :
        : [a] "r"(a), [b] "r"(b), [r] "r"(r), [p] "m"(modulus)
        : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "cc", "memory");
}

/* clang-format on */

void zk_fr_mul_adx(zk_fr *r, const zk_fr *a, const zk_fr *b) { mont_mul(r->l, a->l, b->l); }
void zk_fr_sqr_adx(zk_fr *r, const zk_fr *a) { mont_mul(r->l, a->l, a->l); }

#endif
