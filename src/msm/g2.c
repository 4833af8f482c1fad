/* The sources of this layer for G2. */
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

#define FE zk_fp2
#define FE_(name) zk_fp2_##name
#define AFFINE zk_g2_affine
#define POINT zk_g2
#define GROUP(name) zk_g2_##name
#define BATCH zk_g2_batch
#define BATCH_MAX ZK_G2_BATCH_MAX
#define MSM(name) zk_msm_g2_##name
#define MSM_PLAIN zk_msm_g2
#define MASKED_SUM zk_masked_sum_g2
#define TABLE zk_fixed_base_g2
#define FIXED(name) zk_fixed_base_g2_##name

#define ENDOMORPHISM 0
#define WINDOW_BITS_MOST 17

/* From so many points on code in lanes is faster (Zen 4, bench/lanes_bench). */
#define LANES_MSM_MIN 64
#define LANES_SUM_MIN 512
#define LANES_ACTIVE() zk_msm_g2_lanes_at(0)
#define LANES_FUNCTIONS zk_msm_g2_lanes

#include "msm/batch_affine.inc"
#include "msm/pippenger.inc"
#include "msm/masked_sum.inc"
#include "msm/fixed_base.inc"
#include "msm/subgroup_sums.inc"
