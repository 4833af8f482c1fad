/* What a check found beside what it expected, as text for its error. */
#ifndef ZK_FILECOIN_FOUND_EXPECTED_H
#define ZK_FILECOIN_FOUND_EXPECTED_H

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"

typedef struct zk_found_expected {
    char found[2 * 32 + 1], expected[2 * 32 + 1];
} zk_found_expected;

/* True, and the text, if two nodes, or two numbers, differ. */
static inline bool zk_nodes_differ(zk_found_expected *text, const uint8_t found[32], const uint8_t expected[32]) {
    if (memcmp(found, expected, 32) == 0) return false;
    zk_hex_encode(text->found, found, 32);
    zk_hex_encode(text->expected, expected, 32);
    return true;
}
static inline bool zk_numbers_differ(zk_found_expected *text, uint64_t found, uint64_t expected) {
    if (found == expected) return false;
    snprintf(text->found, sizeof text->found, "%" PRIu64, found);
    snprintf(text->expected, sizeof text->expected, "%" PRIu64, expected);
    return true;
}

#endif
