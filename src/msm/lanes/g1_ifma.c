/* G1 in AVX-512 and IFMA. */
#define LANES_NAME "ifma"
#define LANES_TABLE zk_msm_g1_ifma
#include "msm/lanes/g1.inc"
