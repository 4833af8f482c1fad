/* Files that the build embeds. */
#ifndef ZK_RPC_DESCRIPTORS_H
#define ZK_RPC_DESCRIPTORS_H

#include <stddef.h>

extern const unsigned char zk_rpc_descriptors[]; /* FileDescriptorSet of all served .proto files */
extern const size_t zk_rpc_descriptors_bytes;
extern const unsigned char zk_rpc_page[]; /* the status page, HTML */
extern const size_t zk_rpc_page_bytes;

#endif
