#include "hash/poseidon_dot.h"

/* v / r by its leading bits: 116 = ceil(r / 2^248) makes the quotient at most the true one, and short of it by less
 * than 1.1 for v < 2^7 r, so that one conditional subtraction is left. v: five limbs. */
static inline void finish(zk_fr *r, const uint64_t v[5]) {
    ZK_FR_LOCAL_MODULUS(p);
    uint64_t q = (v[4] << 8 | v[3] >> 56) / 116, carry = 0, w[4];
    unsigned char borrow = 0;
    ZK_UNROLL for (int i = 0; i < 4; i++) {
        uint64_t qp = zk_mac(0, q, p[i], &carry);
        borrow = zk_sbb(borrow, v[i], qp, &w[i]);
    }
    zk_limbs_reduce_once(r->l, w, p, 4);
}

/* The sum is kept in nine limbs: at most 2^7 products below r^2, and init 2^256, are below 2^518. */
void zk_poseidon_dot_portable(zk_fr *out, const zk_fr *init, const zk_fr *a, const zk_fr *b, size_t stride, size_t n) {
    ZK_FR_LOCAL_MODULUS(p);
    uint64_t t[9] = {0}, top = 0;
    if (init)
        for (int i = 0; i < 4; i++) t[4 + i] = init->l[i];
    for (size_t k = 0; k < n; k++) {
        uint64_t w[8];
        unsigned char carry = 0;
        zk_limbs_mul_wide(w, a[k].l, b[k * stride].l, 4);
        ZK_UNROLL for (int i = 0; i < 8; i++) carry = zk_adc(carry, t[i], w[i], &t[i]);
        t[8] += carry;
    }
    ZK_UNROLL for (int i = 0; i < 4; i++) {
        uint64_t m = t[i] * ZK_FR_NEG_INV, carry = 0;
        ZK_UNROLL for (int j = 0; j < 4; j++) t[i + j] = zk_mac(t[i + j], m, p[j], &carry);
        top = zk_adc((unsigned char)top, t[i + 4], carry, &t[i + 4]);
    }
    t[8] += top;
    finish(out, t + 4);
}

#if defined(ZK_POSEIDON_HAVE_ADX)
static const uint64_t modulus[5] = {ZK_FR_P0, ZK_FR_P1, ZK_FR_P2, ZK_FR_P3, ZK_FR_NEG_INV};

#define T0 "%%r8"
#define T1 "%%r9"
#define T2 "%%r10"
#define T3 "%%r11"
#define T4 "%%r12"
#define T5 "%%r13"
#define T6 "%%r14"
#define T7 "%%r15"
#define A(k) #k "*8(%%rsi)"
#define B(k) "movq " #k "*8(%%rdi), %%rdx;"
#define P(k) #k "*8+%[p]"

/* clang-format off */
/* lo goes to t0 on the CF chain, hi to t1 on the OF chain. */
#define STEP(source, t0, t1) "mulx " source ", %%rax, %%rcx; adcx %%rax, " t0 "; adox %%rcx, " t1 ";"
/* t0..t4 += rdx * X, plus what the row before carried into t4's place (rbx, at most 2: the high limbs of X are below
 * 2^63, so that it fits into the product's high half). rbx becomes the carry into the limb after t4. */
#define ROW(X, t0, t1, t2, t3, t4)                                                                                     \
    "xorl %%eax, %%eax;" STEP(X(0), t0, t1) STEP(X(1), t1, t2) STEP(X(2), t2, t3)                                      \
    "mulx " X(3) ", %%rax, %%rcx; leaq (%%rcx, %%rbx), %%rcx; adcx %%rax, " t3 "; adox %%rcx, " t4 ";"                 \
    "movl $0, %%ebx; adcx %%rbx, " t4 "; adcx %%rbx, %%rbx; adox %[zero], %%rbx;"
#define ROW_P(t0, t1, t2, t3, t4) "movq " t0 ", %%rdx; imulq " P(4) ", %%rdx;" ROW(P, t0, t1, t2, t3, t4)

void zk_poseidon_dot_adx(zk_fr *out, const zk_fr *init, const zk_fr *a, const zk_fr *b, size_t stride, size_t n) {
    uint64_t v[5], top = 0, left = n, step = 32 * stride;
    if (n == 0) {
        *out = init ? *init : zk_fr_zero;
        return;
    }
    if (!init) init = &zk_fr_zero;
    __asm__ volatile(
        "movq 0(%%rax), " T4 "; movq 8(%%rax), " T5 "; movq 16(%%rax), " T6 "; movq 24(%%rax), " T7 ";"
        "xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; xorl %%r10d, %%r10d; xorl %%r11d, %%r11d;"
        "1: xorl %%ebx, %%ebx;"
        B(0) ROW(A, T0, T1, T2, T3, T4)
        B(1) ROW(A, T1, T2, T3, T4, T5)
        B(2) ROW(A, T2, T3, T4, T5, T6)
        B(3) ROW(A, T3, T4, T5, T6, T7)
        "addq %%rbx, %[top]; addq $32, %%rsi; addq %[step], %%rdi; decq %[left]; jnz 1b;"
        "xorl %%ebx, %%ebx;"
        ROW_P(T0, T1, T2, T3, T4)
        ROW_P(T1, T2, T3, T4, T5)
        ROW_P(T2, T3, T4, T5, T6)
        ROW_P(T3, T4, T5, T6, T7)
        "addq %%rbx, %[top];"
        "movq " T4 ", %[v0]; movq " T5 ", %[v1]; movq " T6 ", %[v2]; movq " T7 ", %[v3];"
        : "+S"(a), "+D"(b), "+a"(init), [top] "+m"(top), [left] "+m"(left), [v0] "=m"(v[0]), [v1] "=m"(v[1]),
          [v2] "=m"(v[2]), [v3] "=m"(v[3])
        : [p] "m"(modulus), [zero] "m"(zk_fr_zero), [step] "m"(step)
        : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
    v[4] = top;
    finish(out, v);
}
/* clang-format on */
#endif
