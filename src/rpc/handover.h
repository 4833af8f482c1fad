/* What one thread did before it gave an operation to gRPC happens before what another does after the operation's event:
 * gRPC's locks see to that, but a gRPC that was built without instrumentation does not show them to ThreadSanitizer. */
#ifndef ZK_RPC_HANDOVER_H
#define ZK_RPC_HANDOVER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ZK_RPC_TELL_TSAN 1
#endif
#elif defined(__SANITIZE_THREAD__)
#define ZK_RPC_TELL_TSAN 1
#endif

#ifdef ZK_RPC_TELL_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#define ZK_RPC_GIVE(tag) __tsan_release(tag) /* before the operation starts */
#define ZK_RPC_TAKE(tag) __tsan_acquire(tag) /* after its event */
#else
#define ZK_RPC_GIVE(tag) ((void)(tag))
#define ZK_RPC_TAKE(tag) ((void)(tag))
#endif

#endif
