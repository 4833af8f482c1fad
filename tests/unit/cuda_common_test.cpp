/* Large sums of a device and of its queues take turns in a common workspace (zk_cuda_share): same results, nothing of
 * their own pools used, and back to these where the common one refuses. In the emulator and on a device. */
extern "C" {
#include "curve/curve.h"
}
#include "../../cuda/cuda_kernels.h"
#include "zk_test.h"

#include <thread>
#include <vector>

namespace {
#if defined(ZK_CUDA_EMULATE)
constexpr size_t N = 1100, POOL_BYTES = (size_t)1 << 30;
#else
constexpr size_t N = 200000, POOL_BYTES = (size_t)4 << 30;
#endif
constexpr size_t TABLES = (size_t)1 << 20; /* room beside the leanest workspace */

zk_cuda *device, *queue;
zk_cuda_bases bases;
zk_dptr scalars, filling;
zk_g1_affine expected;
size_t best, least;

/* Bases [1], [2], ... of the generator, scalars i^2 + r - 7. */
void make() {
    cuzk_err err = {};
    std::vector<zk_g1> points(N);
    std::vector<zk_g1_affine> affine(N);
    std::vector<zk_fr> k(N);
    zk_fr seven, sum = zk_fr_zero;
    zk_fr_from_u64(&seven, 7);
    zk_g1_from_affine(&points[0], &zk_g1_generator);
    for (size_t i = 0; i < N; i++) {
        zk_fr log, product;
        if (i) zk_g1_add_affine(&points[i], &points[i - 1], &zk_g1_generator);
        zk_fr_from_u64(&log, i + 1);
        zk_fr_from_u64(&k[i], (uint64_t)i * i);
        zk_fr_sub(&k[i], &k[i], &seven);
        zk_fr_mul(&product, &k[i], &log);
        zk_fr_add(&sum, &sum, &product);
    }
    zk_g1_batch_to_affine(affine.data(), points.data(), N);
    zk_g1 answer;
    zk_g1_from_affine(&answer, &zk_g1_generator);
    zk_g1_mul_var(&answer, &answer, &sum);
    zk_g1_to_affine(&expected, &answer);
    (void)zk_cuda_bases_plan(&bases, 0, N, 0);
    ZK_CHECK_OK(zk_cuda_alloc(&bases.points, device, N * sizeof(zk_g1_affine), "bases", &err), err);
    ZK_CHECK_OK(zk_cuda_alloc(&scalars, device, N * sizeof(zk_fr), "scalars", &err), err);
    ZK_CHECK_OK(zk_cuda_upload(device, bases.points, affine.data(), N * sizeof(zk_g1_affine), &err), err);
    ZK_CHECK_OK(zk_cuda_upload(device, scalars, k.data(), N * sizeof(zk_fr), &err), err);
}

/* A device with a queue, each with room for the leanest way alone. */
void open_both() {
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_open(&device, 0, POOL_BYTES, &err), err);
    make();
    zk_cuda_msm_bytes(&best, &least, device, &bases);
    ZK_CHECKF(least + TABLES < best, "%zu and %zu bytes", least, best);
    ZK_CHECK_OK(zk_cuda_fork(&queue, device, least + TABLES, &err), err);
}
/* What is free beside the common workspace is taken but for the same. */
void fill() {
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_alloc(&filling, device, zk_cuda_bytes_free(device) - least - TABLES, "filling", &err), err);
}
void close_both() {
    zk_cuda_free(device, filling);
    zk_cuda_free(device, bases.points);
    zk_cuda_free(device, scalars);
    zk_cuda_close(queue);
    zk_cuda_close(device);
    device = queue = nullptr;
    ZK_CHECK(zk_cuda_bytes_kept() == 0);
}

bool sum_is_right(zk_cuda *on) {
    zk_g1_affine got;
    cuzk_err err = {};
    memset(&got, 0xff, sizeof got);
    const cuzk_status status = zk_cuda_msm_g1(&got, on, bases.points, scalars, N, &err);
    if (status != CUZK_OK) fprintf(stderr, "%s\n", err.message);
    return status == CUZK_OK && memcmp(&got, &expected, sizeof got) == 0;
}

void test_turns() {
    cuzk_err err = {};
    open_both();
    ZK_CHECK_OK(zk_cuda_share(device, best, &err), err);
    fill();
    const size_t before = zk_cuda_bytes_peak(queue);
    bool right[2] = {true, true};
    std::thread other([&] {
        for (int i = 0; i < 4; i++) right[1] = sum_is_right(queue) && right[1];
    });
    for (int i = 0; i < 4; i++) right[0] = sum_is_right(device) && right[0];
    other.join();
    ZK_CHECK(right[0] && right[1]);
    ZK_CHECKF(zk_cuda_bytes_peak(queue) == before, "%zu bytes of its own", zk_cuda_bytes_peak(queue));
    /* given back: both work in what they have */
    ZK_CHECK_OK(zk_cuda_share(device, 0, &err), err);
    ZK_CHECK(zk_cuda_bytes_free(device) >= least + TABLES + best);
    ZK_CHECK(sum_is_right(queue) && zk_cuda_bytes_peak(queue) > before);
    close_both();
}

/* Refused in the common pool: its own is used, and the turn is over for others. */
void test_refused() {
    cuzk_err err = {};
    open_both();
    ZK_CHECK_OK(zk_cuda_share(device, best, &err), err);
    fill();
    zk_cuda_alloc_fail_nth(1);
    ZK_CHECK(sum_is_right(queue) && zk_cuda_alloc_failed());
    ZK_CHECK(zk_cuda_bytes_peak(queue) > 0);
    zk_cuda_alloc_fail_nth(0);
    ZK_CHECK(sum_is_right(device));
    /* no room to share so much: said, and nothing is left behind */
    ZK_CHECK(zk_cuda_share(device, 2 * POOL_BYTES, &err) == CUZK_OUT_OF_MEMORY);
    ZK_CHECK(sum_is_right(device) && sum_is_right(queue));
    close_both();
}

/* Where a queue has room enough of its own no turn is waited for. */
void test_own_room() {
    cuzk_err err = {};
    open_both();
    zk_cuda_close(queue);
    ZK_CHECK_OK(zk_cuda_fork(&queue, device, best + TABLES, &err), err);
    ZK_CHECK_OK(zk_cuda_share(device, 2 * best, &err), err);
    ZK_CHECK(sum_is_right(queue) && zk_cuda_bytes_peak(queue) > 0);
    close_both();
}
} // namespace

ZK_TEST_MAIN(ZK_CASE(test_turns), ZK_CASE(test_refused), ZK_CASE(test_own_room))
