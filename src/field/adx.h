/* What the assembly of fr_adx.c and fp_adx.c is written in: registers, operands, and the step of a multiplication with
 * two independent carry chains, adcx (CF) and adox (OF). Limb k of an operand is A(k), B(k) or P(k), where the
 * statement has operands a, b (addresses) and p (the modulus, -1/p mod 2^64 after it).
 */
#ifndef ZK_FIELD_ADX_H
#define ZK_FIELD_ADX_H

#define R0 "%%r8"
#define R1 "%%r9"
#define R2 "%%r10"
#define R3 "%%r11"
#define R4 "%%r12"
#define R5 "%%r13"
#define R6 "%%r14"
#define R7 "%%r15"

#define A(k) #k "*8(%[a])"
#define B(k) "movq " #k "*8(%[b]), %%rdx;" /* into the register that mulx multiplies by */
#define P(k) #k "*8+%[p]"

/* One product into the running row: lo goes to t0 on the CF chain, hi to t1 on the OF chain. */
#define STEP(source, t0, t1) "mulx " source ", %%rax, %%rcx; adcx %%rax, " t0 "; adox %%rcx, " t1 ";"
#define CLEAR_CARRIES "xorl %%eax, %%eax;"

#endif
