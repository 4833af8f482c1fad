/* Points of G2. */
#include "points_multiples.cuh"

namespace zk {
const point_ops points_g2 = point_ops_of<fp2>();
}
