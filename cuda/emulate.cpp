/* The block scheduler of emulate.h. A coroutine is started by swapcontext and switched by _setjmp and _longjmp, which
 * leave the signal mask alone and so make no system call. */
#undef _FORTIFY_SOURCE /* its longjmp refuses to go from one stack to another */
#include "emulate.h"

#include <setjmp.h>
#include <stdio.h>

#include <ucontext.h>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;
alignas(16) char zk_emulate_shared[1 << 18];

namespace {
constexpr size_t STACK_BYTES = 128 << 10;
constexpr unsigned WARP = 32;
enum wait_for { NOTHING, BLOCK_BARRIER, WARP_BARRIER };
struct fiber {
    ucontext_t context;
    jmp_buf at;
    bool started, done;
    wait_for waiting;
    alignas(16) char exchange[32];
};
std::vector<fiber> fibers;
std::vector<char> stacks;
jmp_buf scheduler;
unsigned current;
const std::function<void()> *body;

void entry() {
    (*body)();
    fibers[current].done = true;
    _longjmp(scheduler, 1);
}

void resume(unsigned t) {
    current = t;
    threadIdx = dim3{t, 0, 0};
    if (_setjmp(scheduler)) return;
    if (fibers[t].started) _longjmp(fibers[t].at, 1);
    fibers[t].started = true;
    setcontext(&fibers[t].context);
}

void wait_at(wait_for barrier) {
    fibers[current].waiting = barrier;
    if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1);
}

/* Lets the threads [first, end) go on if all that still run wait at the barrier. */
bool release(unsigned first, unsigned end, wait_for barrier) {
    bool any = false;
    for (unsigned t = first; t < end; t++) {
        if (fibers[t].done) continue;
        if (fibers[t].waiting != barrier) return false;
        any = true;
    }
    for (unsigned t = first; t < end; t++) fibers[t].waiting = NOTHING;
    return any;
}

/* False when all threads are done. */
bool release_barriers(unsigned block) {
    bool any = false, running = false;
    for (unsigned t = 0; t < block; t += WARP) any |= release(t, t + WARP < block ? t + WARP : block, WARP_BARRIER);
    if (any) return true;
    if (release(0, block, BLOCK_BARRIER)) return true;
    for (unsigned t = 0; t < block; t++) running = running || !fibers[t].done;
    if (running) {
        fprintf(stderr, "emulator: the threads of a block wait at different barriers\n");
        abort();
    }
    return false;
}
} // namespace

void __syncthreads() { wait_at(BLOCK_BARRIER); }
void __syncwarp(unsigned) { wait_at(WARP_BARRIER); }

void zk_emulate_exchange(void *out, const void *v, size_t n, unsigned from) {
    memcpy(fibers[current].exchange, v, n);
    __syncwarp();
    memcpy(out, fibers[current / WARP * WARP + from % WARP].exchange, n);
    __syncwarp();
}

unsigned __ballot_sync(unsigned, int predicate) {
    const unsigned first = current / WARP * WARP;
    unsigned r = 0;
    fibers[current].exchange[0] = predicate != 0;
    __syncwarp();
    for (unsigned i = 0; i < WARP && first + i < blockDim.x; i++) r |= (unsigned)fibers[first + i].exchange[0] << i;
    __syncwarp();
    return r;
}

void zk_emulate_launch(unsigned grid, unsigned block, bool barriers, const std::function<void()> &thread) {
    gridDim = dim3{grid, 1, 1};
    blockDim = dim3{block, 1, 1};
    body = &thread;
    if (barriers && fibers.size() < block) {
        fibers.resize(block);
        stacks.resize((size_t)block * STACK_BYTES);
    }
    for (unsigned b = 0; b < grid; b++) {
        blockIdx = dim3{b, 0, 0};
        if (!barriers) {
            for (unsigned t = 0; t < block; t++) {
                threadIdx = dim3{t, 0, 0};
                thread();
            }
            continue;
        }
        for (unsigned t = 0; t < block; t++) {
            getcontext(&fibers[t].context);
            fibers[t].context.uc_stack.ss_sp = &stacks[(size_t)t * STACK_BYTES];
            fibers[t].context.uc_stack.ss_size = STACK_BYTES;
            fibers[t].context.uc_link = nullptr;
            fibers[t].started = fibers[t].done = false;
            fibers[t].waiting = NOTHING;
            makecontext(&fibers[t].context, entry, 0);
        }
        do {
            for (unsigned t = 0; t < block; t++)
                if (!fibers[t].done && fibers[t].waiting == NOTHING) resume(t);
        } while (release_barriers(block));
    }
}
