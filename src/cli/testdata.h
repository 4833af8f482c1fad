/* Files with values that only tests fix: toxic waste and blinding. */
#ifndef ZK_CLI_TESTDATA_H
#define ZK_CLI_TESTDATA_H

#include "groth16/prove.h"
#include "groth16/setup.h"

/* {"alpha": hex, "beta", "gamma", "delta", "tau"}: 32 bytes LE each, other members are ignored. */
cuzk_status cli_read_toxic(zk_toxic_waste *toxic, const char *path, cuzk_err *err) ZK_MUST_USE;

/* [{"r": hex, "s": hex}, ...]: entry k for partition k; more are ignored, fewer than n refused. free() the result. */
cuzk_status cli_read_blinding(zk_blinding **blinding, size_t n, const char *path, cuzk_err *err) ZK_MUST_USE;

#endif
