/* The sources of this layer for G1. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "msm/batch_affine.h"
#include "msm/lanes/lanes.h"
#include "msm/msm.h"
#include "msm/plan.h"
#include "msm/subgroup.h"

#define FE zk_fp
#define FE_(name) zk_fp_##name
#define AFFINE zk_g1_affine
#define POINT zk_g1
#define GROUP(name) zk_g1_##name
#define BATCH zk_g1_batch
#define BATCH_MAX ZK_G1_BATCH_MAX
#define MSM(name) zk_msm_g1_##name
#define MSM_PLAIN zk_msm_g1
#define MASKED_SUM zk_masked_sum_g1
#define TABLE zk_fixed_base_g1
#define FIXED(name) zk_fixed_base_g1_##name

/* phi(x, y) = (beta x, y) multiplies points of G1 by -x^2 (curve/g1.c): scalars of 255 bits become two of 128. */
#define ENDOMORPHISM 1
#define WINDOW_BITS_MOST 19

/* From so many points on code in lanes is faster (Zen 4, bench/lanes_bench). */
#define LANES_MSM_MIN 128
#define LANES_SUM_MIN 512
#define LANES_ACTIVE() zk_msm_g1_lanes_at(0)
#define LANES_FUNCTIONS zk_msm_g1_lanes

#include "msm/batch_affine.inc"
#include "msm/pippenger.inc"
#include "msm/masked_sum.inc"
#include "msm/fixed_base.inc"
#include "msm/subgroup_sums.inc"
