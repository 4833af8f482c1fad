/* The pool of device memory, on the emulator or a device: pieces, failures, several threads at once. */
#include "../../cuda/cuda_kernels.h"
#include "zk_test.h"

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#if defined(ZK_CUDA_EMULATE)
#include "../../cuda/emulate_faults.h"
#endif

static zk_cuda *open_device(size_t bytes) {
    zk_cuda *d;
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_open(&d, 0, bytes, &err), err);
    return d;
}

static zk_dptr take(zk_cuda *d, size_t bytes) {
    zk_dptr p;
    cuzk_err err = {};
    ZK_CHECK_OK(zk_cuda_alloc(&p, d, bytes, "piece", &err), err);
    return p;
}

static bool refuses(zk_cuda *d, size_t bytes, size_t keep) {
    zk_dptr p;
    cuzk_err err = {};
    const cuzk_status status = zk_cuda_alloc_beside(&p, d, bytes, keep, "piece", &err);
    if (status == CUZK_OK) zk_cuda_free(d, p);
    ZK_CHECK(status == CUZK_OK || (status == CUZK_OUT_OF_MEMORY && strstr(err.message, "piece") && p == 0));
    return status != CUZK_OK;
}

static void close_device(zk_cuda *d, size_t kept) {
    zk_cuda_close(d);
    ZK_CHECK(zk_cuda_bytes_kept() == kept);
}

constexpr size_t K = 1024;

static void test_pieces() {
    zk_cuda *d = open_device(64 * K);
    ZK_CHECK(zk_cuda_bytes_limit(d) == 64 * K && zk_cuda_bytes_free(d) == 64 * K);
    ZK_CHECK(zk_cuda_bytes_in_a_row(d) == 64 * K);
    zk_dptr a = take(d, 16 * K), b = take(d, 16 * K), c = take(d, 16 * K), e = take(d, 1);
    ZK_CHECK(a % 512 == 0 && b == a + 16 * K && c == b + 16 * K && e == c + 16 * K);
    ZK_CHECK(zk_cuda_alloc_bytes(0) == 512 && zk_cuda_alloc_bytes(512) == 512 && zk_cuda_alloc_bytes(513) == 1024);
    ZK_CHECK(zk_cuda_bytes_free(d) == 16 * K - 512 && zk_cuda_bytes_in_a_row(d) == 16 * K - 512);
    ZK_CHECK(refuses(d, 16 * K, 0) && !refuses(d, 16 * K - 512, 0));
    zk_cuda_free(d, b);
    zk_cuda_free(d, 0);
    ZK_CHECK(zk_cuda_bytes_free(d) == 32 * K - 512 && zk_cuda_bytes_in_a_row(d) == 16 * K);
    /* the smallest that fits: b's place for 16 KiB, the end for less */
    zk_dptr f = take(d, 16 * K);
    ZK_CHECK(f == b);
    zk_cuda_free(d, f);
    f = take(d, 8 * K);
    ZK_CHECK(f == e + 512);
    zk_cuda_free(d, f);
    /* neighbours merge, in any order */
    zk_cuda_free(d, c);
    ZK_CHECK(zk_cuda_bytes_in_a_row(d) == 32 * K);
    zk_cuda_free(d, a);
    ZK_CHECK(zk_cuda_bytes_in_a_row(d) == 48 * K);
    zk_cuda_free(d, e);
    ZK_CHECK(zk_cuda_bytes_in_a_row(d) == 64 * K && zk_cuda_bytes_free(d) == 64 * K);
    ZK_CHECK(zk_cuda_bytes_peak(d) == 64 * K);
    close_device(d, 0);
    d = open_device(64 * K);
    (void)take(d, 600);
    close_device(d, 1024); /* kept */
}

static void test_beside() {
    zk_cuda *d = open_device(64 * K);
    zk_dptr a = take(d, 8 * K), b = take(d, 8 * K); /* 8 K, 8 K, 48 K free */
    ZK_CHECK(refuses(d, 8 * K, 41 * K) && !refuses(d, 8 * K, 40 * K) && refuses(d, 64 * K, 0));
    zk_cuda_free(d, a); /* a hole of 8 K: what fits it leaves the rest alone */
    ZK_CHECK(!refuses(d, 8 * K, 48 * K) && refuses(d, 8 * K + 1, 48 * K) && refuses(d, 1, 48 * K + 1));
    zk_cuda_free(d, b);
    close_device(d, 0);
}

static void test_failures() {
    zk_cuda *d = open_device(64 * K), *queue;
    zk_dptr p;
    cuzk_err err = {};
    zk_cuda_alloc_fail_nth(2);
    p = take(d, K);
    ZK_CHECK(!zk_cuda_alloc_failed() && refuses(d, K, 0) && zk_cuda_alloc_failed() && !refuses(d, K, 0));
    zk_cuda_alloc_fail_nth(0);
    zk_cuda_free(d, p);
    ZK_CHECK(zk_cuda_fork(&queue, d, 65 * K, &err) == CUZK_OUT_OF_MEMORY && !queue);
    ZK_CHECK(zk_cuda_bytes_free(d) == 64 * K);
    err = cuzk_err{};
    ZK_CHECK_OK(zk_cuda_fork(&queue, d, 32 * K, &err), err);
    ZK_CHECK(zk_cuda_bytes_free(d) == 32 * K && zk_cuda_bytes_free(queue) == 32 * K);
    ZK_CHECK(refuses(queue, 33 * K, 0) && !refuses(queue, 32 * K, 0));
    zk_cuda_close(queue);
    ZK_CHECK(zk_cuda_bytes_free(d) == 64 * K);
    close_device(d, 0);
}

/* Whatever is taken was not as left; the pool is whole after it. */
static void test_poison() {
    uint8_t bytes[1024];
    cuzk_err err = {};
    setenv("CUZK_POISON_DEVICE", "1", 1);
    zk_cuda *d = open_device(64 * K);
    unsetenv("CUZK_POISON_DEVICE");
    ZK_CHECK(zk_cuda_is_poisoned(d));
    zk_dptr p = take(d, sizeof bytes);
    memset(bytes, 1, sizeof bytes);
    ZK_CHECK_OK(zk_cuda_upload(d, p, bytes, sizeof bytes, &err), err);
    zk_cuda_free(d, p);
    ZK_CHECK_OK(zk_cuda_download(d, bytes, p, sizeof bytes, &err), err);
    for (uint8_t b : bytes) ZK_CHECK(b == 0x5a);
    ZK_CHECK(take(d, sizeof bytes) == p);
    ZK_CHECK_OK(zk_cuda_download(d, bytes, p, sizeof bytes, &err), err);
    for (uint8_t b : bytes) ZK_CHECK(b == 0xa5);
    zk_cuda_free(d, p);
    close_device(d, 0);
    d = open_device(64 * K);
    ZK_CHECK(!zk_cuda_is_poisoned(d));
    close_device(d, 0);
}

/* Threads on a device and on a queue beside it, each with pieces that nobody else may touch. */
struct worker {
    zk_cuda *own, *device;
    uint32_t seed;
    unsigned wrong = 0, refused = 0;
};

static void work(worker *w, std::atomic<bool> *over_limit) {
    struct piece {
        zk_cuda *from;
        zk_dptr at;
        uint8_t mark;
    };
    std::vector<piece> pieces;
    uint32_t x = w->seed;
    cuzk_err err = {};
    const auto drop = [&](size_t i) {
        uint8_t bytes[64];
        if (zk_cuda_download(pieces[i].from, bytes, pieces[i].at, sizeof bytes, &err) != CUZK_OK) w->wrong++;
        for (uint8_t b : bytes) w->wrong += b != pieces[i].mark;
        zk_cuda_free(pieces[i].from, pieces[i].at);
        pieces[i] = pieces.back();
        pieces.pop_back();
    };
    for (unsigned round = 0; round < 2000; round++) {
        x = x * 1664525u + 1013904223u;
        if (!pieces.empty() && x >> 30 == 0) drop((x >> 8) % pieces.size());
        piece p = {x & 256 ? w->device : w->own, 0, (uint8_t)(x >> 16)};
        uint8_t bytes[64];
        memset(bytes, p.mark, sizeof bytes);
        if (zk_cuda_bytes_free(p.from) > zk_cuda_bytes_limit(p.from)) *over_limit = true;
        if (zk_cuda_alloc(&p.at, p.from, 64 + (x >> 20), "piece", nullptr) != CUZK_OK) {
            w->refused++;
            while (pieces.size() > 2) drop(0);
            continue;
        }
        if (zk_cuda_upload(p.from, p.at, bytes, sizeof bytes, &err) != CUZK_OK) w->wrong++;
        pieces.push_back(p);
    }
    while (!pieces.empty()) drop(0);
}

static void test_threads() {
    constexpr unsigned N = 4;
    zk_cuda *d = open_device(512 * K), *queues[N];
    worker workers[N];
    std::vector<std::thread> threads;
    std::atomic<bool> over_limit{false};
    cuzk_err err = {};
    unsigned refused = 0;
    for (unsigned i = 0; i < N; i++) {
        ZK_CHECK_OK(zk_cuda_fork(&queues[i], d, 64 * K, &err), err);
        workers[i] = worker{queues[i], d, i + 1};
    }
    for (worker &w : workers) threads.emplace_back(work, &w, &over_limit);
    for (unsigned i = 0; i < 1000; i++)
        if (zk_cuda_bytes_peak(d) > zk_cuda_bytes_limit(d) || zk_cuda_bytes_in_a_row(d) > 512 * K) over_limit = true;
    for (std::thread &t : threads) t.join();
    for (const worker &w : workers) {
        ZK_CHECK(w.wrong == 0);
        refused += w.refused;
    }
    ZK_CHECK(!over_limit && refused > 0);
    for (zk_cuda *q : queues) {
        ZK_CHECK(zk_cuda_bytes_free(q) == 64 * K);
        zk_cuda_close(q);
    }
    ZK_CHECK(zk_cuda_bytes_free(d) == 512 * K && zk_cuda_bytes_in_a_row(d) == 512 * K);
    close_device(d, 0);
}

#if defined(ZK_CUDA_EMULATE)
extern "C" {
#include "base/alloc.h"
}

/* Opening a device and a queue while each CUDA call, or each piece of host memory, fails in turn. */
static cuzk_status open_and_use(cuzk_err *err) {
    zk_cuda *d = nullptr, *queue = nullptr;
    zk_dptr p = 0;
    cuzk_status status = zk_cuda_open(&d, 0, 64 * K, err);
    if (status == CUZK_OK) status = zk_cuda_alloc(&p, d, K, "piece", err);
    if (status == CUZK_OK) status = zk_cuda_upload(d, p, "mark", 4, err);
    if (status == CUZK_OK) status = zk_cuda_fork(&queue, d, 8 * K, err);
    if (status == CUZK_OK) status = zk_cuda_sync(queue, err);
    zk_cuda_close(queue);
    if (d) zk_cuda_free(d, p);
    zk_cuda_close(d);
    return status;
}

static void test_faults() {
    for (const auto kind : {ZK_FAULT_ONCE, ZK_FAULT_LASTING, ZK_FAULT_MEMORY}) {
        unsigned n = 0;
        for (bool failed = true; failed; n++) {
            cuzk_err err = {};
            zk_emulate_fail_nth(n + 1, kind);
            const cuzk_status status = open_and_use(&err);
            failed = zk_emulate_failed();
            zk_emulate_fail_nth(0, kind);
            ZK_CHECK(zk_cuda_bytes_kept() == 0);
            if (status == CUZK_OK) continue; /* calls that clean up may fail */
            ZK_CHECK(failed && status == (kind == ZK_FAULT_MEMORY ? CUZK_OUT_OF_MEMORY : CUZK_DEVICE));
            ZK_CHECKF(strstr(err.message, "cuda") && strstr(err.message, "cudaError"), "%s", err.message);
        }
        ZK_CHECK(n > 40);
    }
    uint64_t n = 0;
    for (bool failed = true; failed;) {
        cuzk_err err = {};
        zk_alloc_fail_nth(++n);
        const cuzk_status status = open_and_use(&err);
        failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECK(zk_cuda_bytes_kept() == 0 && status == (failed ? CUZK_OUT_OF_MEMORY : CUZK_OK));
        ZK_CHECK(!failed || err.message[0]);
    }
    ZK_CHECK(n > 6);
}

ZK_TEST_MAIN(ZK_CASE(test_pieces), ZK_CASE(test_beside), ZK_CASE(test_failures), ZK_CASE(test_poison),
             ZK_CASE(test_threads), ZK_CASE(test_faults))
#else
ZK_TEST_MAIN(ZK_CASE(test_pieces), ZK_CASE(test_beside), ZK_CASE(test_failures), ZK_CASE(test_poison),
             ZK_CASE(test_threads))
#endif
