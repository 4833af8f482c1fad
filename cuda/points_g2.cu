/* Points of G2. */
#include "points_multiples.cuh"
#include "points_subgroup.cuh"

namespace zk {
const point_ops points_g2 = {sizeof(affine<fp2>),   points_decode<fp2>,   points_encode<fp2>,    multiples_build<fp2>,
                             multiples_points<fp2>, multiples_split<fp2>, multiples_encode<fp2>, points_subgroup<fp2>};
}
