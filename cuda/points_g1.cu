/* Points of G1. */
#include "points_multiples.cuh"
#include "points_subgroup.cuh"

namespace zk {
const point_ops points_g1 = {sizeof(affine<fp>),   points_decode<fp>,   points_encode<fp>,    multiples_build<fp>,
                             multiples_points<fp>, multiples_split<fp>, multiples_encode<fp>, points_subgroup<fp>};
}
