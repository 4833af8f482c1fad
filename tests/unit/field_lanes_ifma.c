#define LANES_NAME "ifma"
#define LANES_TABLE field_lanes_ifma
#include "field_lanes.inc"
