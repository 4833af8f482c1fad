/* Which implementation of the hot field functions runs.
 *
 * The choice is made once, before main: the fastest variant the CPU has. The environment variable CUZK_CPU can lower
 * it: portable, adx, avx2 or ifma (the last two are choices for vector code; for the scalar functions here they mean
 * adx). A name that is unknown, or that this CPU or build cannot run, is ignored and the fastest variant runs.
 */
#ifndef ZK_FIELD_DISPATCH_H
#define ZK_FIELD_DISPATCH_H

#include <stdbool.h>

struct zk_fr;
struct zk_fp;
struct zk_fp2;

typedef enum zk_field_variant {
    ZK_FIELD_PORTABLE, /* C, unsigned __int128 */
    ZK_FIELD_ADX,      /* x86-64 assembly with mulx, adcx, adox */
    ZK_FIELD_N_VARIANTS
} zk_field_variant;

typedef struct zk_field_functions {
    const char *name;
    void (*fr_mul)(struct zk_fr *r, const struct zk_fr *a, const struct zk_fr *b);
    void (*fr_sqr)(struct zk_fr *r, const struct zk_fr *a);
    void (*fp_mul)(struct zk_fp *r, const struct zk_fp *a, const struct zk_fp *b);
    void (*fp_sqr)(struct zk_fp *r, const struct zk_fp *a);
    void (*fp2_mul)(struct zk_fp2 *r, const struct zk_fp2 *a, const struct zk_fp2 *b);
    void (*fp2_sqr)(struct zk_fp2 *r, const struct zk_fp2 *a);
} zk_field_functions;

/* The functions in use. Read by everybody, written only before main and by zk_field_force. */
extern zk_field_functions zk_field_active;

const char *zk_field_variant_name(zk_field_variant variant);
zk_field_variant zk_field_active_variant(void);
/* True if this build has the variant and this CPU can run it. */
bool zk_field_has_variant(zk_field_variant variant);
/* For tests and benchmarks, while no other thread computes. False (and no change) if the variant cannot run. */
bool zk_field_force(zk_field_variant variant);

#endif
