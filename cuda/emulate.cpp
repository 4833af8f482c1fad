/* The block scheduler of emulate.h. A coroutine is started by swapcontext and switched by _setjmp and _longjmp, which
 * leave the signal mask alone and so make no system call. */
#undef _FORTIFY_SOURCE /* its longjmp refuses to go from one stack to another */
#include "emulate.h"

#include <setjmp.h>

#include <ucontext.h>
#include <vector>

dim3 threadIdx, blockIdx, blockDim, gridDim;
alignas(16) char zk_emulate_shared[1 << 18];

namespace {
constexpr size_t STACK_BYTES = 128 << 10;
struct fiber {
    ucontext_t context;
    jmp_buf at;
    bool started, done;
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
    if (_setjmp(scheduler)) return;
    if (fibers[t].started) _longjmp(fibers[t].at, 1);
    fibers[t].started = true;
    setcontext(&fibers[t].context);
}
} // namespace

void __syncthreads() {
    if (!_setjmp(fibers[current].at)) _longjmp(scheduler, 1);
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
            makecontext(&fibers[t].context, entry, 0);
        }
        /* A barrier is a full turn over all threads that still run. */
        for (bool running = true; running;) {
            running = false;
            for (unsigned t = 0; t < block; t++) {
                if (fibers[t].done) continue;
                threadIdx = dim3{t, 0, 0};
                resume(t);
                running = running || !fibers[t].done;
            }
        }
    }
}
