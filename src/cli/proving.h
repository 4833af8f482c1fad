/* The run of one circuit's proofs on a device: what `prove`, `prove r1cs` and `bench prove` share. */
#ifndef ZK_CLI_PROVING_H
#define ZK_CLI_PROVING_H

#include "cli/prepared_digest.h"
#include "cli/session.h"
#include "groth16/prove.h"

enum { CLI_MAX_LANES = 2, CLI_MAX_GROUP = ZK_MAX_MASKS };

typedef struct cli_prover {
    zk_backend *backend;
    zk_resident_program *program;
    zk_proving_key *key;
    cli_prepared_digest *digest;          /* of a prepared key's file that is to be checked; NULL: none */
    zk_prover *prover;                    /* of the first lane */
    zk_prover *lanes[CLI_MAX_LANES];      /* [n_lanes] provers that can work side by side */
    zk_trace *lane_traces[CLI_MAX_LANES]; /* [0] is `trace` */
    unsigned n_lanes;
    zk_prover *group[CLI_MAX_GROUP]; /* [n_group] provers that make their sums over bits together; [0] is `prover` */
    unsigned n_group;                /* 0: none */
    zk_pool *pool;
    zk_trace *trace;
} cli_prover;

/* Where keys come from: options common to commands that prove. */
typedef struct cli_key_args {
    const char *params_dir, *toxic_path;
    bool prepared;
} cli_key_args;
#define CLI_KEY_OPTIONS(keys)                                                                                          \
    {"params", "DIR", CLI_STRING, &(keys).params_dir, "folder of the key files"},                                      \
        {"test-toxic", "FILE", CLI_STRING, &(keys).toxic_path,                                                         \
         "instead of --params: test keys made on the device, for this run"},                                           \
    {                                                                                                                  \
        "prepared", NULL, CLI_FLAG, &(keys).prepared,                                                                  \
            "use the prepared key (cuzk params prepare); the proof is the same"                                        \
    }
/* USAGE unless exactly one of them is given. */
cuzk_status cli_key_args_check(const cli_key_args *args, cuzk_err *err) ZK_MUST_USE;

/* A proving key that is to be loaded from a file or made on the device. */
typedef struct cli_key {
    char *params_path; /* NULL: from toxic waste */
    bool prepared;
    bool check_digest; /* of a prepared one's file, see cli_prover_settle */
    zk_toxic_waste toxic;
} cli_key;
/* The key of the Filecoin circuit `identifier`, or (NULL) of the explicit circuit in `file`. Clear it also after a
 * failure. */
cuzk_status cli_key_find(cli_key *key, const cli_key_args *args, const char *identifier, const char *file,
                         cuzk_err *err) ZK_MUST_USE;
void cli_key_clear(cli_key *key); /* zeroed is fine */

/* Opens the device, loads the program, loads or makes its key. All is borrowed, `key` for this call alone; destroy with
 * cli_prover_close, also after a failure. */
cuzk_status cli_prover_open(cli_prover *prover, const zk_program *program, const cli_key *key, const cli_work *work,
                            zk_pool *pool, zk_trace *trace, cuzk_err *err) ZK_MUST_USE;
/* At the end of the work, with its status: whether the file of the prepared key is undamaged, where this is to be
 * checked. Waited for only if it matters: before proofs are given out, and when one does not hold, which damage
 * explains. */
cuzk_status cli_prover_settle(cli_prover *prover, cuzk_status status, cuzk_err *err) ZK_MUST_USE;
/* For n proofs: adds a lane where the device has room for one, so that its work fills the gaps of the others; where it
 * has not and streams the key, a group of up to n. Later proofs of cli_prover_prove still use the first. */
cuzk_status cli_prover_widen(cli_prover *prover, uint32_t n, cuzk_err *err) ZK_MUST_USE;
/* One proof, stage by stage; stops between stages when the user asked to. `label` goes into progress messages. */
cuzk_status cli_prover_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, const zk_prove_request *request,
                             const char *label, cuzk_err *err) ZK_MUST_USE;
/* The same on one of the lanes; each is driven by one thread at a time. */
cuzk_status cli_lane_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, unsigned lane,
                           const zk_prove_request *request, const char *label, cuzk_err *err) ZK_MUST_USE;
/* A proof of the group, up to its sums over bits (the request is done with then), those of the first n of the group,
 * and the rest; zk_prove_bits says who is to blame. */
cuzk_status cli_group_begin(cli_prover *prover, unsigned member, const zk_prove_request *request, const char *label,
                            cuzk_err *err) ZK_MUST_USE;
cuzk_status cli_group_bits(cli_prover *prover, unsigned n, unsigned *failed, cuzk_err *err) ZK_MUST_USE;
cuzk_status cli_group_finish(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, unsigned member,
                             cuzk_err *err) ZK_MUST_USE;
void cli_prover_close(cli_prover *prover);
/* The timing trees of the lanes beside the first, on stderr. */
void cli_prover_print_lanes(const cli_prover *prover);

/* The timing tree on stderr, and as JSON into a file (NULL: not). Closes the trace's root. */
cuzk_status cli_trace_report(zk_trace *trace, bool print, const char *json_path, cuzk_err *err) ZK_MUST_USE;

#endif
