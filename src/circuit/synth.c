#include "circuit/synth.h"

#include <string.h>

#include "base/bytes.h"

static uint8_t (*room(zk_synth *s, size_t n))[32] {
    size_t first = s->n_hints;
    s->n_hints += n;
    if (!s->hints || s->status != CUZK_OK) return NULL;
    if (n > s->max_hints || first > s->max_hints - n) {
        s->status = ZK_FAIL(&s->err, CUZK_INTERNAL, "hints: the circuit takes more than %zu", s->max_hints);
        return NULL;
    }
    return s->hints + first;
}

void zk_synth_hints(zk_synth *s, const uint8_t (*values)[32], size_t n) {
    uint8_t(*to)[32] = room(s, n);
    if (to) memcpy(to, values, 32 * n);
}

void zk_synth_hint(zk_synth *s, const uint8_t *value) {
    uint8_t(*to)[32] = room(s, 1);
    if (to) memcpy(to, value, 32);
}

void zk_synth_hint_u64(zk_synth *s, uint64_t value) {
    uint8_t(*to)[32] = room(s, 1);
    if (!to) return;
    memset(to, 0, 32);
    zk_store_le64(to, value);
}

void zk_synth_call(zk_synth *s, const zk_gadget *gadget, const void *param, size_t param_bytes, const zk_cell *in,
                   size_t n_in, zk_cell *out, size_t n_out) {
    if (!s->builder || s->status != CUZK_OK) return;
    zk_builder_call(s->builder, gadget, param, param_bytes, in, n_in, out, n_out);
    if (zk_builder_n_hints(s->builder) != s->n_hints && zk_builder_status(s->builder) == CUZK_OK)
        s->status = ZK_FAIL(&s->err, CUZK_INTERNAL, "gadget %s: took %zu hints up to here, was given %zu", gadget->name,
                            (size_t)zk_builder_n_hints(s->builder), s->n_hints);
}

cuzk_status zk_synth_finish_program(struct zk_program **program, zk_synth *s, cuzk_err *err) {
    if (s->status != CUZK_OK) return ZK_FAIL(err, s->status, "%s", s->err.message);
    return zk_builder_finish(program, s->builder, err);
}

cuzk_status zk_synth_finish_hints(const zk_synth *s, cuzk_err *err) {
    if (s->status != CUZK_OK) return ZK_FAIL(err, s->status, "%s", s->err.message);
    if (s->n_hints != s->max_hints)
        return ZK_FAIL(err, CUZK_INTERNAL, "hints: the circuit takes %zu, there is room for %zu", s->n_hints,
                       s->max_hints);
    return CUZK_OK;
}
