/* What the MSM needs and does not depend on the group: its plan, and small kernels. */
#include "block_scan.cuh"
#include "msm_plan.cuh"

#include <cmath>

namespace zk {

__global__ void __launch_bounds__(256) spread_x(uint4 *base_x, const affine<fp> *bases, u32 n) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x; /* a 16-byte piece */
    const u32 point = i / 4, piece = i % 4;
    if (point < n && piece < 3) base_x[i] = ((const uint4 *)&bases[point])[piece];
}

__global__ void __launch_bounds__(256) prepare_scalars(u32 *planes, const fr *scalars, u32 n, window_plan plan) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const fr s = from_mont(load(&scalars[i]));
    u32 borrow;
    fr m;
#pragma unroll
    for (int k = 0; k < 8; k++) m.l[k] = fr_params::mod(k);
    const fr other = sub_borrow(borrow, m, s); /* r - s; s is the larger one if r - s < s */
    (void)sub_borrow(borrow, other, s);
    fr a, bias;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        a.l[k] = borrow ? other.l[k] : s.l[k];
        bias.l[k] = plan.bias[k];
    }
    a = add_raw(a, bias);
    a.l[7] |= borrow & 0x80000000u;
#pragma unroll
    for (int k = 0; k < 8; k++) planes[(size_t)k * n + i] = a.l[k];
}

__global__ void __launch_bounds__(256) scan_sums(u64 *sums, u32 n) {
    __shared__ u64 shared[256];
    u64 carry = 0, total;
    for (u32 base = 0; base < n; base += 256) {
        const u32 i = base + threadIdx.x;
        const u64 v = i < n ? sums[i] : 0, e = block_scan(shared, v, &total);
        if (i < n) sums[i] = carry + e;
        carry += total;
    }
}

ZK_HD u64 mask_word(const u64 *bits, u32 word, u32 n) {
    if ((u64)word * 64 >= n) return 0;
    u64 v = bits[word];
    const u32 left = n - word * 64;
    return left < 64 ? v & (((u64)1 << left) - 1) : v;
}

__global__ void __launch_bounds__(256) mask_count(u64 *sums, const u64 *bits, u32 n) {
    __shared__ u64 shared[256];
    u64 v = 0, total;
    for (u32 j = 0; j < MASK_WORDS / 256; j++)
        v += (u64)__popcll(mask_word(bits, blockIdx.x * MASK_WORDS + j * 256 + threadIdx.x, n));
    (void)block_scan(shared, v, &total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void __launch_bounds__(256) mask_refs(u32 *refs, const u64 *sums, const u64 *bits, u32 n) {
    __shared__ u64 shared[256];
    u64 carry = sums[blockIdx.x], total;
    for (u32 j = 0; j < MASK_WORDS / 256; j++) {
        const u32 word = blockIdx.x * MASK_WORDS + j * 256 + threadIdx.x;
        u64 v = mask_word(bits, word, n);
        u64 at = carry + block_scan(shared, (u64)__popcll(v), &total);
        for (u32 bit = 0; v; bit++, v >>= 1)
            if (v & 1) refs[at++] = word * 64 + bit;
        carry += total;
    }
}

__global__ void __launch_bounds__(256) line_pairs(uint2 *pairs, const u32 *grid, line_shape shape) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x, n = shape.buckets();
    if (i >= n) return;
    const uint2 places = line_round(0, n, 0).get(i);
    const auto ref = [&](u32 at) {
        u32 window, row, column;
        shape.place(at & REF_INDEX, &window, &row, &column);
        return grid[(window * shape.rows + row) * shape.columns + column];
    };
    pairs[i] = make_uint2(ref(places.x), ref(places.y));
}

__global__ void __launch_bounds__(256)
    join_pairs(uint2 *pairs, const u32 *grid, hexagons h, line_shape shape, bool last, u32 joined) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= shape.buckets()) return;
    u32 window, row, column;
    shape.place(i, &window, &row, &column);
    grid += (size_t)window << h.key_bits();
    pairs[i] = last ? make_uint2(grid[h.key(row, column, 0)], REF_POOL | (joined + i))
                    : make_uint2(grid[h.key(row, column, 1)], grid[h.key(row, column, 2)]);
}

/* ---- plan ---- */

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
        const double cost = msm_additions(s, n) * (lacks > 3 ? 1.2 : 1);
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
    sets = s->sets;
    /* Sets sorted together: small ones, so that launches are few; never so many that a unit of large ones results. */
    const u64 together = ((u64)1 << 26) / ((u64)n * planes), fewest = ceil_div(sets, MAX_UNITS);
    s->unit_sets = together < fewest ? (u32)fewest : together > sets ? sets : (u32)together;
    while (s->unit_sets > 1 && ceil_log2(s->unit_sets) + s->width - 1 > BIN_BITS + SUB_BITS + LOW_BITS)
        s->unit_sets = (s->unit_sets + 1) / 2;
    s->units = ceil_div(sets, s->unit_sets);
    s->key_bits = ceil_log2(s->unit_sets) + s->width - 1;
    /* Groups that leave room in a block's shared memory where buckets are fullest; the top digit is the least even, by
     * r/2 against 2^254. A narrower unit has half the buckets a group. */
    double load = s->is_hexagons() ? 1.37 * (double)n / (3.0 * s->hex.rows() * s->hex.columns()) : 0;
    for (u32 set = 0; set < sets && !s->is_hexagons(); set++) {
        double here = 0;
        for (u32 w = set; w < s->windows.n_windows; w += sets) {
            const u32 width = s->windows.offset[w + 1] - s->windows.offset[w];
            here += (double)n / (1u << (width - 1)) * (w + 1 == s->windows.n_windows ? 1.11 : 1);
        }
        if (s->unit_width(set / s->unit_sets) < s->width) here /= 2;
        if (here > load) load = here;
    }
    u32 low_least = s->key_bits < MIN_WIDTH ? s->key_bits : MIN_WIDTH;
    if (s->key_bits > BIN_BITS + SUB_BITS + low_least) low_least = s->key_bits - BIN_BITS - SUB_BITS;
    s->low_bits = s->key_bits < LOW_BITS ? s->key_bits : LOW_BITS;
    while (s->low_bits > low_least && load * (double)(1u << s->low_bits) > 0.85 * SORT_TILE) s->low_bits--;
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
    return true;
}

void plan_windows(window_plan *plan, u32 n_windows) {
    msm_shape s;
    (void)cut_windows(&s, 1, SCALAR_BITS, n_windows);
    *plan = s.windows;
}

void msm_consider(msm_visitor &visitor, size_t n, u32 planes, u32 distance, size_t point_bytes,
                  const msm_limits &limits) {
    /* time against that with four lanes, measured (docs/measurements-cuda.md) */
    static const double lane_factor[MAX_LANES + 1] = {0, 1.15, 1.06, 1.02, 1, 0.995, 0.99};
    constexpr u32 usual_lanes[] = {6, 4, 2, 1};
    const double most_capacity = point_bytes == sizeof(affine<fp>) ? 1.05 * (1u << 26) : 1.05 * (1u << 25);
    msm_config c;
    msm_shape s;
    for (size_t slices = 1;; slices *= 2) {
        c.slice = (n + slices - 1) / slices;
        if (slices > 1 && (limits.whole || c.slice < LEAST_SLICE)) break;
        if (limits.slice && c.slice > limits.slice && c.slice > LEAST_SLICE) continue;
        if (!plan_shape(&s, c.slice, planes, distance, limits.windows)) return;
        const double additions = (double)slices * msm_additions(s, (double)c.slice);
        const double unit_entries = (double)s.windows_of(0) * (double)c.slice;
        /* of the rows there is room for, how many there are */
        const double fill = s.is_hexagons() ? s.hex.rows() / (double)(1u << s.hex.row_bits) : 1;
        for (u32 parts = 0; parts <= s.bin_bits; parts++) { /* 2^parts ranges a unit, with room for what is uneven */
            const double share = 1 / fill / (1u << parts);
            double capacity = unit_entries * (share < 1 ? share : 1) * 1.015 + 2048;
            if (limits.capacity) capacity = limits.capacity;
            if (capacity > most_capacity) continue;
            if (parts && capacity < 1 << 13 && !limits.capacity) break;
            c.capacity = (u32)capacity;
            c.buckets = 1u << s.key_bits;
            while (c.buckets > 1u << s.bin_shift(0) &&
                   c.buckets / 2 >= capacity / 1.02 / unit_entries * fill * (double)(1u << s.key_bits))
                c.buckets /= 2;
            for (u32 lanes : usual_lanes) {
                /* no lane without work, and none with too little to be worth its latency */
                const double least = lanes > 4 ? 1 << 23 : lanes > 1 ? 1 << 19 : 0;
                if ((lanes > s.units << parts || capacity < least) && !limits.lanes) continue;
                c.lanes = limits.lanes == 0 ? lanes : limits.lanes < (u32)MAX_LANES ? limits.lanes : MAX_LANES;
                const double cost = additions * lane_factor[c.lanes] * (1 + 0.5e6 / capacity);
                for (c.buffers = s.units > 1 ? 2 : 1; c.buffers >= 1; c.buffers--)
                    for (int spread = planes == 1 && point_bytes == sizeof(affine<fp>) && c.slice >= SPREAD_FROM;
                         spread >= 0; spread--) {
                        c.spread_x = spread;
                        visitor.visit(c, s, cost * (s.units > 1 && c.buffers == 1 ? 1.01 : 1) * (spread ? 0.99 : 1));
                    }
                if (limits.lanes) break;
            }
            if (limits.capacity) break;
        }
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

cuzk_status zk_cuda_bases_prepare(const zk_cuda_bases *bases, zk_cuda *d, cuzk_err *err) {
    return zk::guarded(err, "multiples of points", [&] {
        return bases->group ? zk::bases_prepare<zk::fp2>(bases, d, err) : zk::bases_prepare<zk::fp>(bases, d, err);
    });
}

void zk_cuda_msm_bytes(size_t *best, size_t *least, const zk_cuda *d, const zk_cuda_bases *bases) {
    if (bases->group)
        zk::msm_bytes<zk::fp2>(best, least, d, *bases);
    else
        zk::msm_bytes<zk::fp>(best, least, d, *bases);
}

void zk_cuda_msm_way_of(zk_cuda_msm_way *way, const zk_cuda *d, const zk_cuda_bases *bases) {
    if (bases->group)
        zk::msm_way<zk::fp2>(way, d, *bases);
    else
        zk::msm_way<zk::fp>(way, d, *bases);
}

void zk_cuda_msm_prefer(zk_cuda *d, int group, unsigned log2_n, zk_cuda_msm_way way) {
    if (log2_n < zk::MAX_LOG2_POINTS) d->preferred[group != 0][log2_n] = way;
}

void zk_cuda_streamed_bytes(size_t *best, size_t *least, const zk_cuda *d, int group, int kind, size_t n) {
    if (group)
        zk::streamed_bytes<zk::fp2>(best, least, d, kind, n);
    else
        zk::streamed_bytes<zk::fp>(best, least, d, kind, n);
}

cuzk_status zk_cuda_host_alloc(void **memory, zk_cuda *d, size_t bytes, const char *name, cuzk_err *err) {
    *memory = nullptr;
    ZK_CUDA_TRY(cudaSetDevice(d->ordinal));
    const cudaError_t error = cudaMallocHost(memory, bytes ? bytes : 1);
    if (error == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "%s: %zu bytes of pinned host memory", name, bytes);
    }
    ZK_CUDA_TRY(error);
    return CUZK_OK;
}

void zk_cuda_host_free(zk_cuda *d, void *memory) {
    if (!memory) return;
    (void)cudaSetDevice(d->ordinal);
    (void)cudaFreeHost(memory);
}

void zk_cuda_masked_sum_bytes(size_t *best, size_t *least, const zk_cuda *d, int group, size_t n) {
    if (group)
        zk::masked_sum_bytes<zk::fp2>(best, least, d, n);
    else
        zk::masked_sum_bytes<zk::fp>(best, least, d, n);
}

} /* extern "C" */
