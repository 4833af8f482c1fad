/* Cases that run once per variant of the field's functions: VARIANTS(name) defines name_portable and name_adx,
 * BOTH(name) lists them. On a CPU without ADX the second passes empty. */
#ifndef ZK_TEST_FIELD_VARIANTS_H
#define ZK_TEST_FIELD_VARIANTS_H

#include "field/dispatch.h"
#include "zk_test.h"

#define VARIANTS(name)                                                                                                 \
    static void name##_portable(void) {                                                                                \
        ZK_CHECK(zk_field_force(ZK_FIELD_PORTABLE));                                                                   \
        name();                                                                                                        \
    }                                                                                                                  \
    static void name##_adx(void) {                                                                                     \
        if (zk_field_force(ZK_FIELD_ADX)) name();                                                                      \
    }
#define BOTH(name) ZK_CASE(name##_portable), ZK_CASE(name##_adx)

#endif
