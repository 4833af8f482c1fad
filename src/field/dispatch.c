#include "field/dispatch.h"

#include "field/cpu.h"
#include "field/variants.h"

#define FUNCTIONS(variant)                                                                                             \
    {                                                                                                                  \
#variant, zk_fr_mul_##variant, zk_fr_sqr_##variant, zk_fp_mul_##variant, zk_fp_sqr_##variant,                  \
            zk_fp2_mul_##variant, zk_fp2_sqr_##variant                                                                 \
    }

static const zk_field_functions variants[ZK_FIELD_N_VARIANTS] = {
    [ZK_FIELD_PORTABLE] = FUNCTIONS(portable),
#if defined(ZK_FIELD_HAVE_ADX)
    [ZK_FIELD_ADX] = FUNCTIONS(adx),
#endif
};

/* Valid even before the constructor below has run. */
zk_field_functions zk_field_active = FUNCTIONS(portable);
static zk_field_variant active_variant = ZK_FIELD_PORTABLE;

const char *zk_field_variant_name(zk_field_variant variant) {
    static const char *const names[ZK_FIELD_N_VARIANTS] = {"portable", "adx"};
    return (unsigned)variant < ZK_FIELD_N_VARIANTS ? names[variant] : "unknown";
}

zk_field_variant zk_field_active_variant(void) { return active_variant; }

bool zk_field_has_variant(zk_field_variant variant) {
    const zk_cpu_features *cpu = zk_cpu_get_features();
    if ((unsigned)variant >= ZK_FIELD_N_VARIANTS || !variants[variant].fp_mul) return false;
    return variant == ZK_FIELD_PORTABLE || (cpu->bmi2 && cpu->adx);
}

bool zk_field_force(zk_field_variant variant) {
    if (!zk_field_has_variant(variant)) return false;
    zk_field_active = variants[variant];
    active_variant = variant;
    return true;
}

__attribute__((constructor)) static void choose(void) {
    if (zk_cpu_get_limit() >= ZK_CPU_ADX) (void)zk_field_force(ZK_FIELD_ADX);
}
