#define LANES_NAME "avx2"
#define LANES_TABLE field_lanes_fma
#include "field_lanes.inc"
