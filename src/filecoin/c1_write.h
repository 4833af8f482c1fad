/* A C1 as JSON, exactly as the reference's API writes it, and in Curio's envelope. */
#ifndef ZK_FILECOIN_C1_WRITE_H
#define ZK_FILECOIN_C1_WRITE_H

#include "filecoin/c1.h"

/* The API form. free() the text; *n without the final zero byte. */
cuzk_status zk_c1_write_json(char **text, size_t *n, const zk_c1 *c1, cuzk_err *err) ZK_MUST_USE;
/* {"SectorNum", "Phase1Out", "SectorSize"}, the API form in base64; the sector number is c1's. */
cuzk_status zk_c1_write_envelope(char **text, size_t *n, const zk_c1 *c1, cuzk_err *err) ZK_MUST_USE;

#endif
