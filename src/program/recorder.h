/* The recorder's inside, for the builder. Gadgets use builder.h. */
#ifndef ZK_PROGRAM_RECORDER_H
#define ZK_PROGRAM_RECORDER_H

#include "program/builder.h"
#include "program/coefs.h"

/* While recording, the numbers of inputs and aux variables are not known yet: variables carry their kind in the top
 * bits. */
#define ZK_REC_INPUT 0x10000000u
#define ZK_REC_AUX 0x20000000u
#define ZK_REC_INDEX_MASK 0x0fffffffu

#define ZK_REC_MAX_INT (ZK_N_SMALL_COEFS / 2) /* of zk_lc_add_int */

typedef struct zk_sort_key {
    uint32_t key, pos;
} zk_sort_key;

struct zk_recorder {
    zk_coefs *coefs;
    uint32_t n_ports, n_inputs, n_aux, n_rows, n_hints, n_zero_terms;
    uint32_t n_dropped;     /* terms of the last merge that had become zero */
    const uint32_t *ports;  /* [n_ports] ZK_PORT_*: their kinds */
    ZK_LIST(uint32_t) wide; /* aux numbers, ascending */
    struct {
        ZK_LIST(uint32_t) row;
        ZK_LIST(zk_term) terms;
    } abc[3];
    ZK_LIST(zk_op) ops;
    ZK_LIST(uint32_t) lits;
    ZK_LIST(uint32_t) lc_start;
    ZK_LIST(zk_term) lc_terms;
    zk_lc scratch[3];
    ZK_LIST(zk_sort_key) keys; /* for sorting */
    zk_lc_entry *merged;
    size_t merged_cap;
    zk_fr small[2 * ZK_REC_MAX_INT + 1]; /* -ZK_REC_MAX_INT .. ZK_REC_MAX_INT */
    bool failed;
};

void zk_recorder_init(zk_recorder *rec, zk_coefs *coefs);
void zk_recorder_free(zk_recorder *rec);
/* Ready for another template, with the given ports. */
void zk_recorder_begin(zk_recorder *rec, const uint32_t *ports, uint32_t n_ports);
/* Moves what was recorded into a template; out: literals, renumbered in place. */
cuzk_status zk_recorder_end(zk_recorder *rec, zk_template *t, const char *name, zk_lit *out, size_t n_out,
                            cuzk_err *err) ZK_MUST_USE;

void zk_template_free(zk_template *t);
size_t zk_template_bytes(const zk_template *t);

#endif
