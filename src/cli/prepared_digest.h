/* The digest at the end of a prepared key, made by a thread while the key is loaded and used: it takes half a minute
 * for the largest. */
#ifndef ZK_CLI_PREPARED_DIGEST_H
#define ZK_CLI_PREPARED_DIGEST_H

#include "base/status.h"

typedef struct cli_prepared_digest cli_prepared_digest;

/* Of the prepared key that belongs to the parameter file. NOT_FOUND: there is none; BAD_INPUT: too short. */
cuzk_status cli_prepared_digest_start(cli_prepared_digest **digest, const char *params_path, cuzk_err *err) ZK_MUST_USE;
/* Waits for it. BAD_INPUT: the file is damaged; says both digests. CANCELLED: the process was asked to stop before. */
cuzk_status cli_prepared_digest_await(cli_prepared_digest *digest, cuzk_err *err) ZK_MUST_USE;
/* Stops it if it still runs; NULL is fine. */
void cli_prepared_digest_end(cli_prepared_digest *digest);

#endif
