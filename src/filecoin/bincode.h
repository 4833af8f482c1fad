/* Reading bincode 1: integers little-endian of fixed width, nothing aligned, hashes 32 bytes. What is read must be what
 * the caller allows, so that nothing is ever allocated or skipped on the input's word. */
#ifndef ZK_FILECOIN_BINCODE_H
#define ZK_FILECOIN_BINCODE_H

#include "base/status.h"

#define ZK_BINCODE_MAX_DEPTH 6
#define ZK_BINCODE_NO_INDEX UINT32_MAX

/* Where the reader stands: bytes[at] is next; `place` names it for messages, from the outside in, as in
 * challenge_proofs[3].proof_d_new.base[2]. */
typedef struct zk_bincode {
    const uint8_t *bytes;
    size_t n, at;
    struct {
        const char *name;
        uint32_t index;
    } place[ZK_BINCODE_MAX_DEPTH];
    unsigned depth;
    cuzk_err *err;
} zk_bincode;

void zk_bincode_init(zk_bincode *r, const uint8_t *bytes, size_t n, cuzk_err *err);

/* `name` is a static string; index ZK_BINCODE_NO_INDEX: it is not one of many. */
void zk_bincode_enter(zk_bincode *r, const char *name, uint32_t index);
void zk_bincode_leave(zk_bincode *r);

/* All return BAD_INPUT for an end too early and for what is not allowed; the message names offset, place and `what`,
 * what was found and what is allowed. Numbers are allowed from `least` to `most`. */
cuzk_status zk_bincode_u32(uint32_t *value, zk_bincode *r, uint32_t least, uint32_t most, const char *what) ZK_MUST_USE;
cuzk_status zk_bincode_u64(uint64_t *value, zk_bincode *r, uint64_t least, uint64_t most, const char *what) ZK_MUST_USE;
/* 32 bytes, a field element: below r as a little-endian number. */
cuzk_status zk_bincode_node(uint8_t node[32], zk_bincode *r, const char *what) ZK_MUST_USE;
/* Nothing may follow. */
cuzk_status zk_bincode_end(const zk_bincode *r) ZK_MUST_USE;

/* Whether 32 bytes, little-endian, are a field element. */
bool zk_node_is_canonical(const uint8_t node[32]);

#endif
