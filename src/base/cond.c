#include "base/cond.h"

void zk_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

bool zk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns) {
    const struct timespec until = {(time_t)(until_ns / ZK_SECOND_NS), (long)(until_ns % ZK_SECOND_NS)};
    pthread_cond_timedwait(cond, mutex, &until);
    return zk_now_ns() < until_ns;
}
