/* Points of G1. */
#include "points_multiples.cuh"

namespace zk {
const point_ops points_g1 = point_ops_of<fp>();
}
