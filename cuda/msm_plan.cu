/* How an MSM is cut up; see msm_plan.cuh. Host code. */
#include "msm_plan.cuh"

namespace zk {

namespace {

u32 ceil_log2(u64 v) {
    u32 k = 0;
    while (((u64)1 << k) < v) k++;
    return k;
}

/* Bits of set `set` of `sets` that share `distance` bits. */
u32 set_width(u32 set, u32 sets, u32 distance) { return distance / sets + (set < distance % sets); }

/* Windows of `sets` bucket sets; false if that is not possible. */
bool cut_windows(msm_shape *s, u32 planes, u32 distance, u32 sets) {
    window_plan &p = s->windows;
    p.n_windows = 0;
    p.offset[0] = 0;
    for (u32 &limb : p.bias) limb = 0;
    for (u32 plane = 0; plane < planes; plane++)
        for (u32 set = 0; set < sets && p.offset[p.n_windows] < SCALAR_BITS; set++) {
            const u32 bit = p.offset[p.n_windows];
            u32 width = set_width(set, sets, distance);
            if (width > SCALAR_BITS - bit) width = SCALAR_BITS - bit;
            if (p.n_windows == MAX_WINDOWS || width < MIN_WIDTH || width > MAX_WIDTH) return false;
            const u32 top = bit + width - 1;
            p.bias[top / 32] |= 1u << (top % 32); /* half the range of the digit; the bits are distinct */
            p.offset[++p.n_windows] = bit + width;
        }
    s->planes = planes;
    s->sets = sets;
    s->width = set_width(0, sets, distance);
    return p.offset[p.n_windows] == SCALAR_BITS;
}

constexpr u32 NARROW_BITS = 3;
constexpr double NARROW_COST = 1.2;
/* The number of bucket sets that needs fewest additions, which are returned; or, if `windows` is not 0, the least
 * number with that many windows or more. */
double best_sets(u32 *best, double n, u32 planes, u32 distance, u32 windows) {
    double least = 0;
    msm_shape s;
    *best = 0;
    for (u32 sets = 1; sets * MIN_WIDTH <= distance; sets++) {
        if (!cut_windows(&s, planes, distance, sets)) continue;
        /* A last window much narrower than its set would fill few of the set's buckets, and those very much. */
        const u32 last = s.windows.n_windows - 1,
                  lacks = set_width(last % sets, sets, distance) - (SCALAR_BITS - s.windows.offset[last]);
        const double cost = msm_additions(s, n) * (lacks > NARROW_BITS ? NARROW_COST : 1);
        if (*best == 0 || windows || cost < least) {
            least = cost;
            *best = sets;
        }
        if (windows && s.windows.n_windows >= windows) break;
    }
    return least;
}

/* Additions that a bucket of joined classes stands for: three sums of one less, two joins of an addition and a
 * multiplication, two sums of lines: 1.1, and more as buckets have few points each. And the latency of the rounds that
 * join. Keys of which few are buckets make groups that are uneven. Measured, docs/measurements-cuda.md. */
constexpr double HEXAGON_BUCKET = 2, HEXAGON_LATENCY = 2e5, HEXAGON_FILL = 0.5, HEXAGON_UNEVEN = 0.4;
double hexagon_additions(const hexagons &h, double n) {
    const double buckets = (double)h.rows() * h.columns(), fill = buckets / (double)(1u << (h.key_bits() - 2));
    const double uneven = fill < HEXAGON_FILL ? HEXAGON_UNEVEN * (HEXAGON_FILL - fill) : 0;
    return h.digits * (n + HEXAGON_BUCKET * buckets) * (1 + uneven) + HEXAGON_LATENCY;
}

/* The number of digits that needs fewest additions, which are returned. */
double best_hexagons(u32 *best, double n) {
    static const struct table {
        hexagons of[MAX_HEXAGONS + 1];
        table() {
            for (u32 k = MIN_HEXAGONS; k <= MAX_HEXAGONS; k++) of[k] = hexagons_of(k);
        }
    } all;
    double least = 0;
    *best = 0;
    for (u32 digits = MIN_HEXAGONS; digits <= MAX_HEXAGONS; digits++) {
        const double cost = hexagon_additions(all.of[digits], n);
        if (*best && cost >= least) continue;
        least = cost;
        *best = digits;
    }
    return least;
}

void cut_hexagons(msm_shape *s, u32 digits) {
    s->hex = hexagons_of(digits);
    s->width = s->hex.key_bits() + 1;
    s->planes = 1;
    s->sets = s->windows.n_windows = digits;
    for (u32 w = 0; w <= digits; w++) s->windows.offset[w] = w * s->width;
    for (u32 &limb : s->windows.bias) limb = 0;
}

} // namespace

u32 msm_shape::windows_of(u32 unit) const {
    u32 count = 0;
    for (u32 w = 0; w < windows.n_windows; w++) count += w % sets / unit_sets == unit;
    return count;
}

double msm_additions(const msm_shape &s, double n) {
    if (s.is_hexagons()) return hexagon_additions(s.hex, n);
    double buckets = 0;
    for (u32 set = 0; set < s.sets; set++)
        buckets += (double)((u64)1 << (s.windows.offset[set + 1] - s.windows.offset[set] - 1));
    return s.windows.n_windows * n + buckets;
}

namespace {

/* Sets sorted together: small ones, so that launches are few; never so many that a unit of large ones results. */
constexpr u64 UNIT_ENTRIES = (u64)1 << 26;
void cut_units(msm_shape *s, size_t n) {
    const u64 together = UNIT_ENTRIES / ((u64)n * s->planes), fewest = ceil_div(s->sets, MAX_UNITS);
    s->unit_sets = together < fewest ? (u32)fewest : together > s->sets ? s->sets : (u32)together;
    while (s->unit_sets > 1 && ceil_log2(s->unit_sets) + s->width - 1 > BIN_BITS + SUB_BITS + LOW_BITS)
        s->unit_sets = (s->unit_sets + 1) / 2;
    s->units = ceil_div(s->sets, s->unit_sets);
    s->key_bits = ceil_log2(s->unit_sets) + s->width - 1;
}

/* Points in a bucket where buckets are fullest. The top digit is the least even, by r/2 against 2^254; the hexagon of
 * digits is fuller in some places of its rectangle. A narrower unit has half the buckets a group. */
constexpr double TOP_DIGIT_LOAD = 1.11, HEXAGON_LOAD = 1.37;
double fullest_bucket(const msm_shape &s, double n) {
    if (s.is_hexagons()) return HEXAGON_LOAD * n / (3.0 * s.hex.rows() * s.hex.columns());
    double load = 0;
    for (u32 set = 0; set < s.sets; set++) {
        double here = 0;
        for (u32 w = set; w < s.windows.n_windows; w += s.sets) {
            const u32 width = s.windows.offset[w + 1] - s.windows.offset[w];
            here += n / (1u << (width - 1)) * (w + 1 == s.windows.n_windows ? TOP_DIGIT_LOAD : 1);
        }
        if (s.unit_width(set / s.unit_sets) < s.width) here /= 2;
        if (here > load) load = here;
    }
    return load;
}

/* Divides a bucket number into bin, group and the rest: groups nearly always fit a block's shared memory. */
constexpr double GROUP_FILL = 0.85; /* of that memory, by the expected number of entries */
void cut_keys(msm_shape *s, size_t n) {
    const double load = fullest_bucket(*s, (double)n);
    u32 low_least = s->key_bits < MIN_WIDTH ? s->key_bits : MIN_WIDTH;
    if (s->key_bits > BIN_BITS + SUB_BITS + low_least) low_least = s->key_bits - BIN_BITS - SUB_BITS;
    s->low_bits = s->key_bits < LOW_BITS ? s->key_bits : LOW_BITS;
    while (s->low_bits > low_least && load * (double)(1u << s->low_bits) > GROUP_FILL * SORT_TILE) s->low_bits--;
    /* Two steps of about the same width, but bins enough for ranges of any size. */
    const u32 group_bits = s->key_bits - s->low_bits,
              half = (group_bits + 1) / 2 > BIN_BITS - 1 ? BIN_BITS : BIN_BITS - 1;
    s->bin_bits = group_bits <= BIN_BITS ? group_bits : half;
    if (s->is_hexagons()) { /* all classes of two rows or more in a bin */
        const u32 in_row = s->hex.column_bits + 2, most = s->key_bits - in_row - 1;
        if (s->bin_bits > most) s->bin_bits = most;
        const u32 rows = s->key_bits - s->bin_bits - in_row;
        s->hex.low_rows = rows < s->hex.row_bits ? rows : s->hex.row_bits;
    }
}

} // namespace

bool plan_shape(msm_shape *s, size_t n, u32 planes, u32 distance, u32 windows) {
    u32 sets;
    if (planes == 1) distance = SCALAR_BITS;
    const bool forced = windows > ZK_CUDA_HEXAGONS;
    if (forced && planes > 1) windows -= ZK_CUDA_HEXAGONS;
    const double signed_cost = best_sets(&sets, (double)n, planes, distance, forced && planes == 1 ? 0 : windows);
    if (n == 0 || sets == 0 || !cut_windows(s, planes, distance, sets)) return false;
    s->hex.digits = 0;
    if (planes == 1 && (forced || windows == 0)) {
        u32 digits;
        const double cost = best_hexagons(&digits, (double)n);
        if (forced) {
            digits = windows - ZK_CUDA_HEXAGONS;
            if (digits < MIN_HEXAGONS) digits = MIN_HEXAGONS;
            if (digits > MAX_HEXAGONS) digits = MAX_HEXAGONS;
        }
        if (forced || cost < signed_cost) cut_hexagons(s, digits);
    }
    cut_units(s, n);
    cut_keys(s, n);
    return true;
}

void plan_windows(window_plan *plan, u32 n_windows) {
    msm_shape s;
    (void)cut_windows(&s, 1, SCALAR_BITS, n_windows);
    *plan = s.windows;
}

namespace {

/* All ways for one size of slices: ranges a unit, lanes, and what can be done without when memory is short. Factors of
 * time are measured, docs/measurements-cuda.md. */
struct way_search {
    msm_visitor &visitor;
    const msm_limits &limits;
    const msm_shape &s;
    bool may_spread;     /* base_x helps bases as these */
    double most_entries; /* that a lane can have in a range */
    double additions;    /* of the whole MSM */
    msm_config c = {};

    static constexpr double G1_ENTRIES = 1.05 * (1u << 26), G2_ENTRIES = 1.05 * (1u << 25);
    static constexpr double UNEVEN_SHARE = 1.015, UNEVEN_ENTRIES = 2048; /* room that a range has for an uneven share */
    static constexpr double FULL_SHARE = 1.02;       /* a range has buckets for so many times its entries */
    static constexpr double LEAST_ENTRIES = 1 << 13; /* of a range of several */
    static constexpr double RANGE_LATENCY = 0.5e6;   /* of a range, in entries */
    static constexpr double ONE_BUFFER = 1.01, SPREAD = 0.99;

    /* Time with so many lanes against that with four; entries below which their latency is not worth it. */
    static double lane_factor(u32 lanes) {
        static const double factor[MAX_LANES + 1] = {0, 1.15, 1.06, 1.02, 1, 0.995, 0.99};
        return factor[lanes];
    }
    static double least_entries(u32 lanes) { return lanes > 4 ? 1 << 23 : lanes > 1 ? 1 << 19 : 0; }

    void visit(double cost) {
        for (c.buffers = s.units > 1 ? 2 : 1; c.buffers >= 1; c.buffers--)
            for (int spread = may_spread; spread >= 0; spread--) {
                c.spread_x = spread;
                visitor.visit(c, s, cost * (s.units > 1 && c.buffers == 1 ? ONE_BUFFER : 1) * (spread ? SPREAD : 1));
            }
    }
    /* Ranges of `capacity` entries, 2^parts of a unit. */
    void visit_lanes(double capacity, u32 parts) {
        for (u32 lanes : {6u, 4u, 2u, 1u}) {
            const bool without_work = lanes > s.units << parts;
            if ((without_work || capacity < least_entries(lanes)) && !limits.lanes) continue;
            c.lanes = limits.lanes == 0 ? lanes : limits.lanes < (u32)MAX_LANES ? limits.lanes : MAX_LANES;
            visit(additions * lane_factor(c.lanes) * (1 + RANGE_LATENCY / capacity));
            if (limits.lanes) break;
        }
    }
    void visit_ranges() {
        const double unit_entries = (double)s.windows_of(0) * (double)c.slice;
        /* of the rows there is room for, how many there are */
        const double fill = s.is_hexagons() ? s.hex.rows() / (double)(1u << s.hex.row_bits) : 1;
        for (u32 parts = 0; parts <= s.bin_bits; parts++) {
            const double share = 1 / fill / (1u << parts);
            double capacity = unit_entries * (share < 1 ? share : 1) * UNEVEN_SHARE + UNEVEN_ENTRIES;
            if (limits.capacity) capacity = limits.capacity;
            if (capacity > most_entries) continue;
            if (parts && capacity < LEAST_ENTRIES && !limits.capacity) break;
            c.capacity = (u32)capacity;
            c.buckets = 1u << s.key_bits;
            while (c.buckets > 1u << s.bin_shift(0) &&
                   c.buckets / 2 >= capacity / FULL_SHARE / unit_entries * fill * (double)(1u << s.key_bits))
                c.buckets /= 2;
            visit_lanes(capacity, parts);
            if (limits.capacity) break;
        }
    }
};

} // namespace

void msm_consider(msm_visitor &visitor, size_t n, u32 planes, u32 distance, size_t point_bytes,
                  const msm_limits &limits) {
    const bool g1 = point_bytes == sizeof(affine<fp>);
    msm_shape s;
    for (size_t slices = 1;; slices *= 2) {
        const size_t slice = (n + slices - 1) / slices;
        if (slices > 1 && (limits.whole || slice < LEAST_SLICE)) break;
        if (limits.slice && slice > limits.slice && slice > LEAST_SLICE) continue;
        if (!plan_shape(&s, slice, planes, distance, limits.windows)) return;
        const double additions = (double)slices * msm_additions(s, (double)slice);
        const bool may_spread = planes == 1 && g1 && slice >= SPREAD_FROM;
        way_search ways{visitor,  limits, s, may_spread, g1 ? way_search::G1_ENTRIES : way_search::G2_ENTRIES,
                        additions};
        ways.c.slice = slice;
        ways.visit_ranges();
        if (visitor.satisfied(additions)) break;
    }
}

size_t plan_ranges(msm_range *out, const msm_shape &shape, const msm_config &config, u32 unit, const u32 *bin_start) {
    size_t count = 0;
    for (u32 first = 0; first < shape.bins();) {
        /* the largest aligned power of two of bins that fits */
        u32 bins = first ? first & (~first + 1) : shape.bins();
        while (bins > 1 && (bin_start[first + bins] - bin_start[first] > config.capacity ||
                            (bins << shape.bin_shift(0)) > config.buckets)) /* unit 0 is of the widest */
            bins /= 2;
        const u32 end = bin_start[first + bins];
        for (u32 begin = bin_start[first]; begin < end;) { /* more than once if one bin is too large */
            const u32 stop = end - begin > config.capacity ? begin + config.capacity : end;
            if (out) out[count] = msm_range{unit, first, bins, begin, stop};
            count++;
            begin = stop;
        }
        first += bins;
    }
    return count;
}

} // namespace zk

extern "C" {

static size_t bytes_of_point(int group) { return group ? sizeof(zk::affine<zk::fp2>) : sizeof(zk::affine<zk::fp>); }

size_t zk_cuda_bases_bytes(const zk_cuda_bases *b) { return (b->planes - 1) * b->n * bytes_of_point(b->group); }

double zk_cuda_bases_plan(zk_cuda_bases *b, int group, size_t n, size_t bytes) {
    constexpr double SAVES = 0.003; /* of the additions, what a plane must save */
    zk::u32 sets;
    *b = zk_cuda_bases{0, 0, n, group, 1, zk::SCALAR_BITS};
    if (n == 0) return 0;
    const double one = zk::best_sets(&sets, (double)n, 1, zk::SCALAR_BITS, 0);
    double least = zk::best_hexagons(&sets, (double)n);
    if (one < least) least = one;
    size_t most = 1 + bytes / bytes_of_point(group) / n;
    if (most > zk::MAX_WINDOWS) most = zk::MAX_WINDOWS;
    for (unsigned planes = 2; planes <= most && planes * n < zk::MAX_POINTS; planes++) {
        /* with a larger distance the last plane would not be needed */
        for (unsigned d = zk::ceil_div(zk::SCALAR_BITS, planes); d * (planes - 1) < zk::SCALAR_BITS; d++) {
            const double cost = zk::best_sets(&sets, (double)n, planes, d, 0);
            const unsigned more = planes > b->planes ? planes - b->planes : 0;
            if (sets == 0 || cost > least * (1 - SAVES * more)) continue;
            least = cost;
            b->planes = planes;
            b->distance = d;
        }
    }
    return least;
}

} /* extern "C" */
