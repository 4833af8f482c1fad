/* The clocks, and their units. */
#ifndef ZK_BASE_CLOCK_H
#define ZK_BASE_CLOCK_H

#include <stdint.h>

#define ZK_MS_NS UINT64_C(1000000)
#define ZK_SECOND_NS UINT64_C(1000000000)

uint64_t zk_now_ns(void);  /* CLOCK_MONOTONIC: for durations and deadlines */
uint64_t zk_wall_ms(void); /* CLOCK_REALTIME, since 1970: for what is kept or shown; somebody may set it */

#endif
