/* Between the reader and the structure of filecoin/c1.h. */
#ifndef ZK_FILECOIN_C1_IMPL_H
#define ZK_FILECOIN_C1_IMPL_H

#include "filecoin/c1.h"
#include "filecoin/labels.h"

/* Appends a partition with undefined contents; c1->shape must be set. */
cuzk_status zk_c1_add_partition(zk_c1 *c1, cuzk_err *err);

#endif
