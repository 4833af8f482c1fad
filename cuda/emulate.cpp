/* The block scheduler of emulate.h, and the faults that tests ask for.
 *
 * The threads of a block with barriers are coroutines on stacks of their own. On x86-64 a switch is a dozen
 * instructions; elsewhere ucontext does it. */
#include "emulate.h"
#include "emulate_faults.h"

extern "C" {
#include "base/alloc.h"
}

#include <atomic>
#include <mutex>
#include <new>
#include <stdio.h>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;
alignas(16) char zk_emulate_shared[1 << 18];

namespace {
constexpr size_t STACK_BYTES = (128 << 10) + 5 * 64; /* no power of two: the tops would share a set of the cache */
constexpr unsigned WARP = 32, MOST_THREADS = 1024;

/* A barrier counts who has arrived; when all that still run have, its number changes and they may go on. */
struct barrier {
    unsigned running, arrived, number;
    void release() {
        if (arrived == 0 || arrived != running) return;
        arrived = 0;
        number++;
    }
};
struct fiber {
#if defined(__x86_64__)
    void *stack_pointer;
#else
    ucontext_t context;
#endif
    bool started, done;
    const barrier *waits; /* null: for nothing */
    unsigned number;      /* of the barrier when it arrived there */
    alignas(16) char exchange[32];
    bool can_run() const { return !done && (!waits || waits->number != number); }
};
std::mutex launching; /* all state of the launch under way; there is one set of thread numbers and shared memory */
fiber fibers[MOST_THREADS];
barrier of_block, of_warp[MOST_THREADS / WARP];
char *stacks; /* [most threads of a block so far][STACK_BYTES] */
unsigned n_stacks;
unsigned current;
void (*body)(void *);
void *body_context;

[[noreturn]] void give_up(const char *why) {
    fprintf(stderr, "emulator: %s\n", why);
    abort();
}

void leave();

void entry() {
    body(body_context);
    fibers[current].done = true;
    barrier &warp = of_warp[current / WARP];
    of_block.running--;
    of_block.release();
    warp.running--;
    warp.release();
    leave();
}

#if defined(__x86_64__)

void *launcher; /* its stack pointer while the block runs */

/* Saves what a call must keep (System V ABI) and the stack pointer, goes on from the other stack. */
extern "C" void zk_emulate_switch(void **from, void *to);
asm(".text\n"
    ".type zk_emulate_switch, @function\n"
    "zk_emulate_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size zk_emulate_switch, .-zk_emulate_switch\n");

/* A stack from which the switch returns into entry, aligned as after a call. */
void prepare(unsigned t) {
    void **top = (void **)(stacks + (size_t)(t + 1) * STACK_BYTES);
    *--top = nullptr; /* where entry would return to */
    *--top = (void *)entry;
    for (int k = 0; k < 6; k++) *--top = nullptr;
    fibers[t].stack_pointer = top;
}

/* From a fiber, or (-1) the launcher, to a fiber or the launcher. */
void switch_to(int from, int to) {
    zk_emulate_switch(from < 0 ? &launcher : &fibers[from].stack_pointer, to < 0 ? launcher : fibers[to].stack_pointer);
}

#else

ucontext_t launcher;

void prepare(unsigned t) {
    getcontext(&fibers[t].context);
    fibers[t].context.uc_stack.ss_sp = stacks + (size_t)t * STACK_BYTES;
    fibers[t].context.uc_stack.ss_size = STACK_BYTES;
    fibers[t].context.uc_link = nullptr;
    makecontext(&fibers[t].context, entry, 0);
}

void switch_to(int from, int to) {
    swapcontext(from < 0 ? &launcher : &fibers[from].context, to < 0 ? &launcher : &fibers[to].context);
}

#endif

void run(int from, unsigned t) {
    current = t;
    threadIdx = dim3{t, 0, 0};
    fibers[t].waits = nullptr;
    if (!fibers[t].started) prepare(t);
    fibers[t].started = true;
    if (from != (int)t) switch_to(from, (int)t);
}

/* To the next thread that can run, or to the launcher when all are done. */
void leave() {
    const unsigned self = current, block = blockDim.x;
    for (unsigned k = 1; k <= block; k++) {
        const unsigned t = self + k < block ? self + k : self + k - block;
        if (fibers[t].can_run()) return run((int)self, t);
    }
    if (of_block.running) give_up("the threads of a block wait at different barriers");
    switch_to((int)self, -1);
}

void wait_at(barrier &b) {
    fiber &f = fibers[current];
    f.waits = &b;
    f.number = b.number;
    b.arrived++;
    b.release();
    leave();
}

void make_stacks(unsigned block) {
    if (block > MOST_THREADS) give_up("more than 1024 threads in a block");
    if (block <= n_stacks) return;
    free(stacks);
    stacks = (char *)aligned_alloc(64, (size_t)block * STACK_BYTES);
    if (!stacks) give_up("no memory for the stacks of a block");
    n_stacks = block;
}

void run_block(unsigned block) {
    of_block = barrier{block, 0, 0};
    for (unsigned t = 0; t < block; t++) {
        fibers[t].started = fibers[t].done = false;
        fibers[t].waits = nullptr;
        if (t % WARP == 0) of_warp[t / WARP] = barrier{block - t < WARP ? block - t : WARP, 0, 0};
    }
    run(-1, 0);
}
} // namespace

void __syncthreads() { wait_at(of_block); }
void __syncwarp(unsigned) { wait_at(of_warp[current / WARP]); }

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

void zk_emulate_launch(unsigned grid, unsigned block, bool barriers, void (*thread)(void *), void *context) {
    const std::lock_guard<std::mutex> guard(launching);
    gridDim = dim3{grid, 1, 1};
    blockDim = dim3{block, 1, 1};
    body = thread;
    body_context = context;
    if (barriers) make_stacks(block);
    for (unsigned b = 0; b < grid; b++) {
        blockIdx = dim3{b, 0, 0};
        if (!barriers) {
            for (unsigned t = 0; t < block; t++) {
                threadIdx = dim3{t, 0, 0};
                thread(context);
            }
            continue;
        }
        run_block(block);
    }
}

/* ---- devices and faults ---- */

thread_local int zk_emulate_device = 0;
thread_local cudaError_t zk_emulate_error = cudaSuccess;

namespace {
std::atomic<unsigned> used{0}; /* a bit a device */
std::atomic<bool> throws{false};
std::mutex faults;
uint64_t countdown; /* calls until one fails; 0: none will */
cudaError_t fault = cudaSuccess;
bool fault_lasts, fault_happened;
} // namespace

extern "C" void zk_emulate_fail_nth(uint64_t nth, zk_emulated_fault kind) {
    const std::lock_guard<std::mutex> guard(faults);
    countdown = nth;
    fault = kind == ZK_FAULT_MEMORY ? cudaErrorMemoryAllocation : cudaErrorUnknown;
    fault_lasts = kind == ZK_FAULT_LASTING;
    fault_happened = false;
}

extern "C" bool zk_emulate_failed(void) {
    const std::lock_guard<std::mutex> guard(faults);
    return fault_happened;
}

cudaError_t zk_emulate_call() {
    const std::lock_guard<std::mutex> guard(faults);
    if (fault_happened && fault_lasts) return fault;
    if (countdown == 0 || --countdown) return cudaSuccess;
    fault_happened = true;
    return fault;
}

cudaError_t zk_emulate_device_call() {
    used |= 1u << zk_emulate_device;
    return zk_emulate_call();
}

bool zk_emulate_has_code(int device) {
    const char *without = getenv("ZK_EMULATE_NO_CODE");
    return !without || !strchr(without, '0' + device);
}

extern "C" unsigned zk_emulate_used(void) { return used.exchange(0); }
extern "C" void zk_emulate_throw(bool strange) { throws = strange; }

/* C++ memory counts for the hook of base/alloc.h, as that of C does. */
void *operator new(size_t n) {
    void *p = zk_alloc_should_fail() ? nullptr : malloc(n ? n : 1);
    if (!p && throws) throw "not an exception of the standard library";
    if (!p) throw std::bad_alloc();
    return p;
}
void *operator new[](size_t n) { return operator new(n); }
void *operator new(size_t n, const std::nothrow_t &) noexcept {
    return zk_alloc_should_fail() ? nullptr : malloc(n ? n : 1);
}
void *operator new[](size_t n, const std::nothrow_t &t) noexcept { return operator new(n, t); }
void operator delete(void *p) noexcept { free(p); }
void operator delete[](void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
void operator delete[](void *p, size_t) noexcept { free(p); }
