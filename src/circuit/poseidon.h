/* The Poseidon gadget, over the optimised form of hash/poseidon.h. Order of variables and rows as in Filecoin's gadget.
 */
#ifndef ZK_CIRCUIT_POSEIDON_H
#define ZK_CIRCUIT_POSEIDON_H

#include "circuit/synth.h"

/* Hash of `arity` values, 1 .. ZK_POSEIDON_MAX_ARITY, with the tree tag, or with a tag of the caller's. */
zk_cell zk_synth_poseidon(zk_synth *s, const zk_cell *in, uint32_t arity);
zk_cell zk_synth_poseidon_tagged(zk_synth *s, const zk_cell *in, uint32_t arity, const zk_fr *tag);

#endif
