/* G2 in AVX-512 and IFMA. */
#define LANES_NAME "ifma"
#define LANES_TABLE zk_msm_g2_ifma
#include "msm/lanes/g2.inc"
