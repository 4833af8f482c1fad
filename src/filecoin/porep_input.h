/* From a C1 to what the PoRep circuit wants to know of one partition. */
#ifndef ZK_FILECOIN_POREP_INPUT_H
#define ZK_FILECOIN_POREP_INPUT_H

#include "circuit/porep.h"
#include "filecoin/c1.h"

/* Points into c1, which must outlive it. */
typedef struct zk_porep_input {
    zk_porep_partition partition;
    zk_porep_challenge challenges[]; /* partition.challenges */
} zk_porep_input;

/* The values are taken as they are: verify c1 first (vanilla.h). Free with free(). */
cuzk_status zk_porep_input_create(zk_porep_input **input, const zk_c1 *c1, uint32_t partition,
                                  cuzk_err *err) ZK_MUST_USE;

#endif
