/* In AVX-512 and IFMA. */
#define LANES(name) name##_ifma
#include "curve/lanes/decode.inc"
