#include "base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * ZK_SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t zk_now_ns(void) { return read_ns(CLOCK_MONOTONIC); }
uint64_t zk_wall_ms(void) { return read_ns(CLOCK_REALTIME) / ZK_MS_NS; }
