/* In AVX2 and FMA. */
#define LANES(name) name##_fma
#include "curve/lanes/g2.inc"
