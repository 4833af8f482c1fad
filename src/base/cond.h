/* Condition variables with a time limit, by the monotonic clock: a wait is as long as it should be whoever sets the
 * other one. */
#ifndef ZK_BASE_COND_H
#define ZK_BASE_COND_H

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

/* For zk_cond_wait_until; pthread_cond_destroy ends it. */
void zk_cond_init(pthread_cond_t *cond);
/* pthread_cond_wait, at most until the time of zk_now_ns. False: that time is reached. As ever it may return early. */
bool zk_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns);

#endif
