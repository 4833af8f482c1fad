/* Random scalars of the kernel's generator, for blinding, toxic waste and random combinations. */
#ifndef ZK_GROTH16_RANDOM_H
#define ZK_GROTH16_RANDOM_H

#include "base/status.h"
#include "field/fr.h"

/* Uniform in Fr, up to 2^-256 (512 bits reduced). */
cuzk_status zk_random_fr(zk_fr *r, cuzk_err *err) ZK_MUST_USE;

#endif
