/* In AVX-512 and IFMA. */
#define LANES_TABLE zk_ntt_lanes_ifma
#include "ntt/lanes/passes.inc"
