/* How an MSM is cut up: windows and bucket sets, what runs together, what memory it takes. Host code,
 * group-independent.
 *
 * A scalar is taken between -r/2 and r/2 and cut into signed digits; window w covers bits [offset[w], offset[w+1]).
 * With stored multiples (cuda_kernels.h) window w belongs to plane w / sets, and to bucket set w % sets: its digit
 * picks a multiple of the plane's points, which goes to the set's bucket |digit|. A set of width c has 2^(c-1) buckets.
 *
 * Additions: each point once a window; each bucket once less in its own sum, twice in the reduction. For n = 2^27 and
 * windows of 25 and 26 bits that is 10 n and 2^24 or 2^25 a set, so that fewer sets (more planes) help twice: they cost
 * less, and let windows be wider.
 *
 * Or the digits are hexagons of Z[z] (hexagon.cuh): a window is a digit, a set the buckets of one digit, and there are
 * no stored multiples. Sorting and bucket sums are the same; what differs are the kernels that make digits, the sums
 * over a set's buckets, and how sets are put together.
 *
 * The entries (bucket, point) are sorted by three steps, each of which needs only counts of the step before: a unit
 * (one or more sets) is split into bins by the top bits of the bucket, a range of bins is split into groups of up to
 * 512 buckets, and a block sorts a group in shared memory. Ranges are what lanes work on, one after the other; a lane
 * needs memory for one range, whose entries are at most `capacity`.
 */
#ifndef ZK_CUDA_MSM_PLAN_CUH
#define ZK_CUDA_MSM_PLAN_CUH

#include "msm_kernels.cuh"

namespace zk {

constexpr u32 MAX_WIDTH = 26, MIN_WIDTH = 4; /* bits of a window; MIN: see window_plan */
constexpr u32 SCALAR_BITS = 255;
constexpr u32 BIN_BITS = 9, SUB_BITS = 9, LOW_BITS = 9; /* at most, of a bucket number: bin, group in a bin, rest */

constexpr u32 MAX_UNITS = 20; /* so that a block can count all bins in shared memory */
constexpr u32 SORT_THREADS = 256;
constexpr u32 OWN = 2; /* bins, groups of a bin, or buckets of a group that are a thread's: OWN t, OWN t + 1 */
constexpr u32 SORT_SPLIT = SORT_THREADS * OWN;
static_assert(SORT_SPLIT == 1u << BIN_BITS && SORT_SPLIT == 1u << SUB_BITS && SORT_SPLIT == 1u << LOW_BITS,
              "a block has counters for what it splits into");
#if defined(ZK_CUDA_EMULATE)
constexpr u32 SORT_ITEMS = 2; /* so that small tests have many tiles */
constexpr u32 SPREAD_FROM = 200;
constexpr u32 LEAST_SLICE = 250;
#else
constexpr u32 SORT_ITEMS = 16;
constexpr u32 SPREAD_FROM = 1u << 20; /* points that do not stay in the L2 cache */
constexpr u32 LEAST_SLICE = 4096;     /* points worked on at once when memory is short */
#endif
constexpr u32 SORT_TILE = SORT_THREADS * SORT_ITEMS; /* entries that a block sorts in shared memory */

struct msm_shape {
    hexagons hex;        /* hex.digits == 0: signed windows */
    window_plan windows; /* w = plane * sets + set; of hexagons offset[w + 1] - offset[w] is the width */
    u32 planes, sets;
    u32 width;                        /* of the widest set; a set has room for 2^(width-1) buckets */
    u32 unit_sets, units;             /* sets sorted together */
    u32 key_bits, bin_bits, low_bits; /* of a bucket number in the widest unit; between them the group's bits */
    /* The sets of some units are all one bit narrower, and so is what lies below the group in their bucket numbers. */
    ZK_HD u32 unit_width(u32 unit) const {
        return windows.offset[unit * unit_sets + 1] - windows.offset[unit * unit_sets];
    }
    ZK_HD u32 low_bits_of(u32 unit) const { return low_bits - (width - unit_width(unit)); }
    ZK_HD u32 sub_bits() const { return key_bits - bin_bits - low_bits; }
    ZK_HD u32 bin_shift(u32 unit) const { return low_bits_of(unit) + sub_bits(); }
    ZK_HD u32 bins() const { return 1u << bin_bits; }
    ZK_HD u32 sets_of(u32 unit) const {
        const u32 left = sets - unit * unit_sets;
        return left < unit_sets ? left : unit_sets;
    }
    bool is_hexagons() const { return hex.digits != 0; }
    u32 windows_of(u32 unit) const; /* number of windows whose set is in the unit */
};

/* Windows for n points, the cheapest by count, or at least `windows` if that is not 0; ZK_CUDA_HEXAGONS more: so many
 * hexagons, if there is one plane. False if planes and distance do not cover a scalar. */
bool plan_shape(msm_shape *shape, size_t n, u32 planes, u32 distance, u32 windows);
/* Additions of an MSM over n points. */
double msm_additions(const msm_shape &shape, double n);

/* Windows over the bits of a scalar, as even as can be, for others that cut scalars into signed digits. */
void plan_windows(window_plan *plan, u32 n_windows);

/* What decides speed against memory. */
struct msm_config {
    size_t slice;  /* points worked on at once: each slice has its own buckets */
    u32 capacity;  /* entries of a range */
    u32 buckets;   /* of a range, at most: a power of two */
    u32 lanes;     /* ranges worked on side by side */
    u32 buffers;   /* units sorted ahead: 1 or 2 */
    bool spread_x; /* a copy of the bases' x, 64 bytes apart */
};
struct msm_limits { /* what may be chosen: 0 is free */
    u32 windows, capacity, lanes;
    size_t slice;       /* at most */
    bool whole = false; /* all points at once */
    bool any() const { return windows || capacity || lanes; }
};
/* Calls visit(config, shape, cost) for every way that is considered for n points, cost in additions. */
struct msm_visitor {
    virtual void visit(const msm_config &config, const msm_shape &shape, double cost) = 0;
    /* Whether to leave it at slices of the sizes seen so far, the last of which needs so many additions. */
    virtual bool satisfied(double additions) {
        (void)additions;
        return false;
    }
};
void msm_consider(msm_visitor &visitor, size_t n, u32 planes, u32 distance, size_t point_bytes,
                  const msm_limits &limits);

/* Bins [first, first + bins) of a unit, or a part of one bin's entries: entries [begin, end) of the unit. */
struct msm_range {
    u32 unit, first, bins, begin, end;
};
/* Cuts a unit with the given starts of its bins ([bins + 1]) into ranges of at most config.capacity entries and
 * config.buckets buckets, the bins of each a power of two and aligned to it. Returns their number; out may be null. */
size_t plan_ranges(msm_range *out, const msm_shape &shape, const msm_config &config, u32 unit, const u32 *bin_start);

/* For one group; explicit instances in msm_g1.cu and msm_g2.cu. */
template <class F> void msm_bytes(size_t *best, size_t *least, const zk_cuda *d, const zk_cuda_bases &bases);
template <class F> void msm_way(zk_cuda_msm_way *way, const zk_cuda *d, const zk_cuda_bases &bases);
template <class F> void masked_sum_bytes(size_t *best, size_t *least, const zk_cuda *d, size_t n);
template <class F> void streamed_bytes(size_t *best, size_t *least, const zk_cuda *d, int kind, size_t n);
template <class F> cuzk_status bases_prepare(const zk_cuda_bases *bases, zk_cuda *d, cuzk_err *err);

/* Cuts one piece of memory; with base null it only counts. */
struct carver {
    char *base;
    size_t used = 0;
    explicit carver(void *p) : base((char *)p) {}
    template <class T> void take(T **p, size_t count) {
        *p = base ? (T *)(base + used) : nullptr;
        used += (count * sizeof(T) + 255) & ~(size_t)255;
    }
};

} // namespace zk
#endif
