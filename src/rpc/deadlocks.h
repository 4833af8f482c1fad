/* gRPC locks Abseil's mutexes. Where Abseil was built without NDEBUG, as Debian's is, each lock goes into a graph that
 * is searched for deadlocks: that takes time, and memory that grows with the connections there have been. */
#ifndef ZK_RPC_DEADLOCKS_H
#define ZK_RPC_DEADLOCKS_H

#include <stdbool.h>

/* Ends that for this process; to be called before gRPC is used. false: there is no such Abseil. */
bool zk_rpc_no_deadlock_search(void);

#endif
