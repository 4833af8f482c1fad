/* Partitions on the lanes of a prover, with lanes and a job that are played: order, waiting, the first failure, a
 * vanilla proof that does not hold. */
#include "zk_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/bytes.h"
#include "cli/partitions.h"

/* ---- what is played ---- */

enum { N_PARTITIONS = 12, N_HINTS = 5, N_PUBLICS = 3, ANY = 1000 };

/* Who stops whom in time depends on the machine, where a thread may have to stand aside for any time: each of some
 * attempts gives twice the time of the one before, and one has to do. */
enum { N_ATTEMPTS = 10 };

static struct {
    int bad_hints, bad_proof[CLI_MAX_LANES]; /* partition that fails; -1: none */
    int hold;                                /* lane that waits for the check; -1: none */
    int bad_finish;                          /* partition of a group whose end fails; -1: none */
    bool bad_bits;
    cuzk_status proof_status[CLI_MAX_LANES], check_status;
    unsigned check_after, check_ms; /* proofs that the check waits for; its time */
    unsigned attempt;               /* what takes time takes 2^attempt times as long */
    bool meet;                      /* the first two partitions of either lane wait for the other lane's */
    atomic_uint begun[CLI_MAX_LANES];
    atomic_uint n_proved, n_hints, n_running, most_running, mixed, n_checks;
    atomic_uint proved[N_PARTITIONS], by_lane[CLI_MAX_LANES];
    atomic_bool checked;
} play;

static void nap(unsigned us) {
    struct timespec t = {.tv_nsec = us * 1000L};
    nanosleep(&t, NULL);
}

cuzk_status zk_job_hints(uint8_t (*hints)[32], size_t n_hints, const zk_job *job, uint32_t partition, cuzk_err *err) {
    (void)job;
    for (size_t i = 0; i < n_hints; i++) {
        memset(hints[i], (int)partition, 32);
        nap(20); /* so that a slot that is read too early shows */
    }
    atomic_fetch_add(&play.n_hints, 1);
    if ((int)partition == play.bad_hints) return ZK_FAIL(err, CUZK_BAD_INPUT, "hints are bad");
    return CUZK_OK;
}

void zk_job_publics(uint8_t (*publics)[32], const zk_job *job, uint32_t partition) {
    for (uint32_t i = 0; i < job->n_publics; i++) memset(publics[i], (int)partition + 100, 32);
}

cuzk_status zk_job_require(const zk_job *job, zk_pool *pool, cuzk_err *err) {
    (void)job, (void)pool;
    atomic_fetch_add(&play.n_checks, 1);
    /* or for all whose inputs are there: no more are made before the check is over */
    unsigned n = play.check_after < play.n_hints ? play.check_after : play.n_hints;
    for (unsigned k = 0; k < 500000 && atomic_load(&play.n_proved) < n; k++) nap(200);
    for (unsigned k = 0; k < 1u << play.attempt; k++) nap(play.check_ms * 1000);
    atomic_store(&play.checked, true);
    return play.check_status == CUZK_OK ? CUZK_OK
                                        : ZK_FAIL(err, play.check_status, "a label does not hold (check labels)");
}

cuzk_status cli_lane_prove(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, unsigned lane,
                           const zk_prove_request *request, const char *label, cuzk_err *err) {
    unsigned running = atomic_fetch_add(&play.n_running, 1) + 1, most = atomic_load(&play.most_running);
    while (running > most && !atomic_compare_exchange_weak(&play.most_running, &most, running)) {}
    (void)prover;
    int partition = request->hints[0][0];
    unsigned begun = atomic_fetch_add(&play.begun[lane], 1) + 1;
    for (unsigned k = 0; play.meet && begun <= 2 && atomic_load(&play.begun[1 - lane]) < begun && k < 300000; k++)
        nap(200);
    for (int pass = 0; pass < 2; pass++) { /* the inputs of one partition, and still those after a while */
        for (size_t i = 0; i < request->n_hints; i++) play.mixed += request->hints[i][7] != partition;
        for (size_t i = 0; i < request->n_publics; i++) play.mixed += request->publics[i][7] != partition + 100;
        play.mixed += request->blinding && request->blinding->r.l[0] != (uint64_t)partition;
        for (unsigned k = 0; k < 1u << play.attempt; k++) nap(300);
    }
    play.mixed += request->n_hints != N_HINTS || request->n_publics != N_PUBLICS || !label[0];
    while (play.hold == (int)lane && !atomic_load(&play.checked)) nap(200);
    memset(proof, partition + 1, ZK_PROOF_BYTES);
    atomic_fetch_sub(&play.n_running, 1);
    atomic_fetch_add(&play.n_proved, 1);
    atomic_fetch_add(&play.by_lane[lane], 1);
    atomic_fetch_add(&play.proved[partition], 1);
    if (partition == play.bad_proof[lane] || play.bad_proof[lane] == ANY)
        return ZK_FAIL(err, play.proof_status[lane], "lane %u failed", lane);
    return CUZK_OK;
}

/* A group: what cli_lane_prove does, in three parts. */
static struct {
    int partition[CLI_MAX_GROUP]; /* that a member has begun; -1: none */
    unsigned n_bits, most;        /* calls; members of one */
} group;

cuzk_status cli_group_begin(cli_prover *prover, unsigned member, const zk_prove_request *request, const char *label,
                            cuzk_err *err) {
    uint8_t proof[ZK_PROOF_BYTES];
    play.mixed += member >= prover->n_group || group.partition[member] >= 0;
    group.partition[member] = request->hints[0][0];
    return cli_lane_prove(proof, prover, 0, request, label, err);
}

cuzk_status cli_group_bits(cli_prover *prover, unsigned n, unsigned *failed, cuzk_err *err) {
    play.mixed += n == 0 || n > prover->n_group;
    group.n_bits++;
    if (n > group.most) group.most = n;
    *failed = n - 1;
    return play.bad_bits ? ZK_FAIL(err, CUZK_DEVICE, "bits failed") : CUZK_OK;
}

cuzk_status cli_group_finish(uint8_t proof[ZK_PROOF_BYTES], cli_prover *prover, unsigned member, cuzk_err *err) {
    int partition = group.partition[member];
    play.mixed += member >= prover->n_group || partition < 0;
    memset(proof, partition + 1, ZK_PROOF_BYTES);
    group.partition[member] = -1;
    return partition == play.bad_finish ? ZK_FAIL(err, CUZK_INTERNAL, "finish failed") : CUZK_OK;
}

/* ---- runs ---- */

typedef struct outcome {
    cuzk_status status;
    cuzk_err err;
    uint8_t proofs[N_PARTITIONS * ZK_PROOF_BYTES];
} outcome;

static void play_reset(void) {
    memset(&play, 0, sizeof play);
    play.bad_hints = play.hold = play.bad_finish = -1;
    memset(&group, 0, sizeof group);
    for (unsigned i = 0; i < CLI_MAX_GROUP; i++) group.partition[i] = -1;
    for (unsigned i = 0; i < CLI_MAX_LANES; i++) play.bad_proof[i] = -1;
}

static unsigned n_group; /* of the next runs */

static outcome run(unsigned n_lanes, uint32_t first, uint32_t n, bool check) {
    outcome o = {0};
    zk_program program = {.n_hints = N_HINTS};
    zk_job job = {.n_publics = N_PUBLICS, .n_partitions = N_PARTITIONS};
    cli_prover prover = {.n_lanes = n_lanes, .n_group = n_group};
    zk_blinding blinding[N_PARTITIONS] = {0};
    for (unsigned i = 0; i < N_PARTITIONS; i++) blinding[i].r.l[0] = i;
    cli_partitions work = {
        .job = &job, .program = &program, .first = first, .n = n, .blinding = blinding, .check = check};
    o.status = cli_partitions_prove(o.proofs, &prover, &work, &o.err);
    ZK_CHECK(play.mixed == 0 && play.n_running == 0);
    ZK_CHECK(play.most_running <= n_lanes);
    return o;
}

static void check_proofs(const outcome *o, uint32_t first, uint32_t n) {
    ZK_CHECK(o->status == CUZK_OK && o->err.message[0] == 0);
    for (uint32_t i = 0; i < n; i++) {
        ZK_CHECK(o->proofs[i * ZK_PROOF_BYTES] == first + i + 1 && play.proved[first + i] == 1);
        ZK_CHECK(o->proofs[(i + 1) * ZK_PROOF_BYTES - 1] == first + i + 1);
    }
    ZK_CHECK(play.n_proved == n);
}

static void test_all(void) {
    for (unsigned lanes = 1; lanes <= 2; lanes++)
        for (uint32_t n = 1; n <= N_PARTITIONS; n += n < 4 ? 1 : 4) {
            play_reset();
            play.meet = lanes == 2 && n > 8;
            uint32_t first = (N_PARTITIONS - n) / 2;
            outcome o = run(lanes, first, n, n % 2);
            check_proofs(&o, first, n);
            ZK_CHECK(play.n_hints == n && play.n_checks == n % 2);
            if (play.meet) ZK_CHECK(play.by_lane[0] > 1 && play.by_lane[1] > 1 && play.most_running == 2);
        }
}

/* Returns how many were proved until the run was at its end. */
static unsigned fail_partition(int partition, cuzk_status status, bool check, unsigned attempt) {
    char expected[64];
    play_reset();
    play.attempt = attempt;
    for (unsigned i = 0; i < CLI_MAX_LANES; i++) { /* whichever takes it */
        play.bad_proof[i] = partition;
        play.proof_status[i] = status;
    }
    outcome o = run(2, 0, N_PARTITIONS, check);
    snprintf(expected, sizeof expected, "partition %d: lane", partition);
    ZK_CHECKF(o.status == status && o.err.status == status && strstr(o.err.message, expected), "%s", o.err.message);
    return play.n_proved;
}

/* A lane that fails ends the run, with its words and partition; the other finishes what it has in hand and no more. */
static void test_lane_fails(void) {
    static const cuzk_status kinds[] = {CUZK_DEVICE, CUZK_OUT_OF_MEMORY, CUZK_BAD_WITNESS, CUZK_CANCELLED,
                                        CUZK_INTERNAL};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int partition = 0; partition < 6; partition++) {
            unsigned attempt = 0;
            while (fail_partition(partition, kinds[k], k % 2, attempt) > (unsigned)partition + 3)
                ZK_CHECKF(++attempt < N_ATTEMPTS, "%u proved, partition %d fails", play.n_proved, partition);
        }
}

/* The first of two failures is told: lane 1 ends after lane 0. */
static void test_both_fail(void) {
    outcome o;
    for (unsigned attempt = 0;; attempt++) {
        play_reset();
        play.attempt = attempt;
        play.meet = true;
        play.hold = 1; /* lane 1 waits for the check, the check for lane 0 and some more */
        play.check_after = 1;
        play.check_ms = 20;
        for (unsigned i = 0; i < CLI_MAX_LANES; i++) {
            play.bad_proof[i] = ANY;
            play.proof_status[i] = i ? CUZK_DEVICE : CUZK_INTERNAL;
        }
        o = run(2, 0, 2, true);
        ZK_CHECK(play.by_lane[0] == 1 && play.by_lane[1] == 1);
        if (o.status == CUZK_INTERNAL) break;
        ZK_CHECKF(attempt < N_ATTEMPTS, "%s", o.err.message);
    }
    ZK_CHECKF(strstr(o.err.message, "lane 0 failed"), "%s", o.err.message);
}

static void test_hints_fail(void) {
    for (int partition = 0; partition < 5; partition++) {
        char expected[64];
        play_reset();
        play.bad_hints = partition;
        outcome o = run(2, 0, N_PARTITIONS, false);
        snprintf(expected, sizeof expected, "partition %d: hints are bad", partition);
        ZK_CHECKF(o.status == CUZK_BAD_INPUT && strcmp(o.err.message, expected) == 0, "%s", o.err.message);
        ZK_CHECK(play.n_proved <= (unsigned)partition && play.n_hints == (unsigned)partition + 1);
    }
    /* of the first one before the vanilla proof was looked at: it is then, and says more */
    play_reset();
    play.bad_hints = 0;
    play.check_status = CUZK_BAD_INPUT;
    outcome o = run(2, 0, N_PARTITIONS, true);
    ZK_CHECKF(o.status == CUZK_BAD_INPUT && strstr(o.err.message, "check labels"), "%s", o.err.message);
    ZK_CHECK(play.n_checks == 1);
}

/* A vanilla proof that does not hold: seen before, while and after lanes run, it is what is told, unless the device
 * failed. */
static void test_check_fails(void) {
    for (unsigned after = 0; after <= 3; after++)
        for (unsigned lanes = 1; lanes <= 2; lanes++)
            for (unsigned attempt = 0;; attempt++) {
                play_reset();
                play.attempt = attempt;
                play.check_status = CUZK_BAD_INPUT;
                play.check_after = after;
                outcome o = run(lanes, 0, N_PARTITIONS, true);
                ZK_CHECKF(o.status == CUZK_BAD_INPUT && o.err.status == CUZK_BAD_INPUT, "%s", o.err.message);
                ZK_CHECKF(strstr(o.err.message, "does not hold (check labels)"), "%s", o.err.message);
                if (play.n_proved < N_PARTITIONS) break;
                ZK_CHECKF(attempt < N_ATTEMPTS, "%u proved", play.n_proved);
            }
    /* all proofs are there before the check says no */
    play_reset();
    play.check_status = CUZK_BAD_INPUT;
    play.check_after = 2;
    play.check_ms = 20;
    outcome o = run(2, 0, 2, true);
    ZK_CHECK(o.status == CUZK_BAD_INPUT && play.n_proved == 2);
    /* the circuit that is not satisfied follows from it; a device error does not */
    for (int k = 0; k < 2; k++) {
        play_reset();
        play.check_status = CUZK_BAD_INPUT;
        play.check_after = 1;
        for (unsigned i = 0; i < CLI_MAX_LANES; i++) {
            play.bad_proof[i] = 0;
            play.proof_status[i] = k ? CUZK_DEVICE : CUZK_BAD_WITNESS;
        }
        o = run(2, 0, N_PARTITIONS, true);
        ZK_CHECK(o.status == (k ? CUZK_DEVICE : CUZK_BAD_INPUT));
        ZK_CHECKF(strstr(o.err.message, k ? "partition 0: lane" : "check labels"), "%s", o.err.message);
    }
}

/* Groups of all sizes: each partition once, in as few rounds as can be; failures of each part. */
static void test_groups(void) {
    char expected[64];
    for (unsigned size = 2; size <= 7; size++)
        for (uint32_t n = 2; n <= N_PARTITIONS; n += 3) {
            play_reset();
            n_group = size;
            outcome o = run(1, 0, n, true);
            check_proofs(&o, 0, n);
            ZK_CHECK(group.n_bits == (n + size - 1) / size && group.most == (n < size ? n : size));
        }
    n_group = 4;
    for (int partition = 0; partition < 10; partition += 3) {
        play_reset();
        play.bad_proof[0] = partition;
        play.proof_status[0] = CUZK_BAD_WITNESS;
        outcome o = run(1, 0, N_PARTITIONS, false);
        snprintf(expected, sizeof expected, "partition %d: lane 0 failed", partition);
        ZK_CHECKF(o.status == CUZK_BAD_WITNESS && strcmp(o.err.message, expected) == 0, "%s", o.err.message);
        ZK_CHECK(play.n_proved == (unsigned)partition + 1);
        play_reset();
        play.bad_finish = partition;
        o = run(1, 0, N_PARTITIONS, false);
        snprintf(expected, sizeof expected, "partition %d: finish failed", partition);
        ZK_CHECKF(o.status == CUZK_INTERNAL && strcmp(o.err.message, expected) == 0, "%s", o.err.message);
    }
    play_reset();
    play.bad_bits = true;
    outcome o = run(1, 0, N_PARTITIONS, false);
    ZK_CHECKF(o.status == CUZK_DEVICE && strcmp(o.err.message, "partition 3: bits failed") == 0, "%s", o.err.message);
    play_reset();
    play.check_status = CUZK_BAD_INPUT;
    play.check_after = 2;
    o = run(1, 0, N_PARTITIONS, true);
    ZK_CHECK(o.status == CUZK_BAD_INPUT);
    n_group = 0;
}

ZK_TEST_MAIN(ZK_CASE(test_all), ZK_CASE(test_lane_fails), ZK_CASE(test_both_fail), ZK_CASE(test_hints_fail),
             ZK_CASE(test_check_fails), ZK_CASE(test_groups))
