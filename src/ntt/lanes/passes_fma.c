/* In AVX2 and FMA. */
#define LANES_TABLE zk_ntt_lanes_fma
#include "ntt/lanes/passes.inc"
