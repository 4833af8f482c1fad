/* G2 in AVX2 and FMA. */
#define LANES_NAME "avx2"
#define LANES_TABLE zk_msm_g2_fma
#include "msm/lanes/g2.inc"
