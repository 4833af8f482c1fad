/* Which work a lane takes next, and whose CPUs it gets. */
#include <signal.h>
#include <string.h>

#include "base/span.h"
#include "engine/engine_impl.h"

/* ---- taking turns ---- */

/* Start-time fair queueing: each miner has a virtual time that advances by the service it gets; who is behind goes
 * first. A miner without work does not save up: it starts at the time of the miner that was served last. */
static engine_miner *miner_of(zk_engine *engine, uint64_t miner) {
    for (unsigned i = 0; i < engine->n_miners; i++)
        if (engine->miners[i].miner == miner) return &engine->miners[i];
    return NULL;
}

static uint64_t served_of(zk_engine *engine, uint64_t miner) {
    const engine_miner *m = miner_of(engine, miner);
    return m && m->served_ns > engine->miner_time_ns ? m->served_ns : engine->miner_time_ns;
}

void engine_served(zk_engine *engine, uint64_t miner, uint64_t ns) {
    uint64_t start = served_of(engine, miner);
    engine_miner *m = miner_of(engine, miner);
    if (!m && engine->n_miners < ENGINE_MAX_MINERS) m = &engine->miners[engine->n_miners++];
    if (!m) { /* forget the one that is furthest behind: it gets the current time again anyway */
        m = &engine->miners[0];
        for (unsigned i = 1; i < engine->n_miners; i++)
            if (engine->miners[i].served_ns < m->served_ns) m = &engine->miners[i];
    }
    *m = (engine_miner){.miner = miner, .served_ns = start + ns};
}

/* ---- the choice ---- */

typedef struct candidate {
    engine_job *job;
    engine_task_type type;
    uint32_t partition;
    zk_priority class; /* with aging */
    uint64_t waited_ns, served_ns;
} candidate;

static zk_priority aged(const zk_engine *engine, const engine_job *job, uint64_t now) {
    uint64_t steps = (now - job->accepted_ns) / (engine->options.aging_ms * 1000000);
    uint64_t room = (uint64_t)(ZK_PRIORITY_CRITICAL - job->priority);
    return (zk_priority)((uint64_t)job->priority + (steps < room ? steps : room));
}

static bool goes_before(const candidate *a, const candidate *b) {
    if (a->class != b->class) return a->class > b->class;
    return a->served_ns < b->served_ns; /* equal: the order of acceptance, which is that of the scan */
}

/* ---- promises ---- */

static bool has_promise(const engine_lane *lane, const engine_job *job, uint32_t partition) {
    for (unsigned i = 0; i < lane->n_promises; i++)
        if (lane->promises[i].job == job && lane->promises[i].partition == partition) return true;
    return false;
}

static bool promised_elsewhere(const zk_engine *engine, const engine_lane *lane, const engine_job *job,
                               uint32_t partition) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (&engine->lanes[i] != lane && has_promise(&engine->lanes[i], job, partition)) return true;
    return false;
}

static void drop_promise(engine_lane *lane, unsigned i) {
    engine_job *job = lane->promises[i].job;
    lane->promises[i] = lane->promises[--lane->n_promises];
    engine_job_drop(job);
}

void engine_promises_drop(engine_lane *lane) {
    while (lane->n_promises) drop_promise(lane, 0);
}

/* Those that nobody will come for: taken by others, or over. */
void engine_promises_prune(engine_lane *lane) {
    for (unsigned i = lane->n_promises; i-- > 0;) {
        const engine_job *job = lane->promises[i].job;
        uint32_t partition = lane->promises[i].partition;
        bool good = engine_job_is_open(job) && (partition >= job->n_partitions || !job->partitions[partition].taken) &&
                    (partition >= job->n_partitions || job->partitions[partition].state != ZK_PARTITION_DONE);
        if (!good) drop_promise(lane, i);
    }
}

/* ---- what a lane can do ---- */

/* A job that large is not read by two processes where one will do. */
#define LARGE_JOB_BYTES ((uint64_t)96 << 20)

/* Beside a device others check, unless the job is large, or may be another machine's the moment it is prepared. */
bool engine_checks_itself(const engine_lane *lane, const engine_job *job) {
    return engine_device_is_cpu(lane->on) || !lane->engine->checks_apart || job->file_bytes > LARGE_JOB_BYTES ||
           zk_journal_is_shared(lane->engine->journal);
}

/* A second lane proves what its process has keys and room for; it loads nothing. */
static bool has_prover(const engine_lane *lane, const engine_job *job) {
    if (!engine_lane_is_second(lane)) return true;
    const engine_circuit *c = engine_lane_circuit(lane->first, (zk_proof_kind)job->meta.kind, job->meta.sector_bytes);
    return lane->first->pid && lane->fd >= 0 && c && !c->loading && !c->evict_wanted && c->n_lanes > 1;
}

bool engine_lane_suits(const engine_lane *lane, const engine_job *job) {
    return lane->role != ROLE_CHECKER && lane->first->state != ZK_WORKER_RETIRED && !engine_lane_is_lost(lane) &&
           lane->min_priority <= job->priority && has_prover(lane, job) &&
           engine_device_fits(lane->on, (zk_proof_kind)job->meta.kind, job->meta.sector_bytes);
}

bool engine_another_suits(const engine_lane *lane, const engine_job *job) {
    for (unsigned i = 0; i < lane->engine->n_lanes; i++) {
        const engine_lane *other = &lane->engine->lanes[i];
        if (other->on != lane->on && other->first->n_bad < 2 && !engine_lane_is_held(other) &&
            engine_lane_suits(other, job))
            return true;
    }
    return false;
}

/* The next try of a partition is another device's, also if that is busy: a device that is broken is free soon, and
 * would use up all tries. Not for ever, though. */
static bool is_left_to_others(const engine_partition *p, const engine_lane *lane, const engine_job *job, uint64_t now) {
    const uint64_t patience_ns = 120 * ZK_SECOND_NS;
    return p->failed_on && p->failed_on == lane->on && now - p->failed_ns < patience_ns &&
           engine_another_suits(lane, job);
}

bool engine_some_lane_left(const zk_engine *engine, const engine_job *job) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine_lane_suits(&engine->lanes[i], job)) return true;
    return false;
}

static bool some_checker_left(const zk_engine *engine) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].role == ROLE_CHECKER && engine->lanes[i].state != ZK_WORKER_RETIRED &&
            !engine_lane_is_lost(&engine->lanes[i]))
            return true;
    return false;
}

/* Partitions of the job, or of all jobs, that are not past synthesis. */
static uint32_t n_synthesizing(const zk_engine *engine) {
    uint32_t n = 0;
    for (unsigned i = 0; i < engine->n_lanes; i++)
        n += engine->lanes[i].task.type == TASK_PROVE && !engine->lanes[i].synthesized;
    return n;
}

static uint32_t n_in_flight(const engine_job *job) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < job->n_partitions; i++)
        n += job->partitions[i].taken && job->partitions[i].state != ZK_PARTITION_DONE;
    return n;
}

/* ---- the next thing to do for a job ---- */

static bool next_check(candidate *c, const engine_job *job, uint64_t now) {
    c->type = TASK_CHECK;
    return job->check == CHECK_TODO && now >= job->check_not_before_ns;
}

static bool next_preparation(candidate *c, const zk_engine *engine, const engine_lane *lane, const engine_job *job,
                             uint64_t now, bool ahead) {
    c->type = TASK_PREPARE;
    if (ahead && (has_promise(lane, job, 0) || promised_elsewhere(engine, lane, job, 0))) return false;
    return now >= job->prepare_not_before_ns;
}

/* Ordinary workers of the CPU have nothing to gain from a job that an express worker is busy with. */
static bool left_to_express(const zk_engine *engine, const engine_lane *lane, const engine_job *job) {
    if (lane->role != ROLE_ORDINARY || !engine_device_is_cpu(lane->on)) return false;
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].role == ROLE_EXPRESS && engine->lanes[i].task.job == job) return true;
    return false;
}

/* The partition that was promised to this lane, else one that was promised to none, else any. ahead: only the second.
 */
static bool next_partition(candidate *c, const zk_engine *engine, const engine_lane *lane, const engine_job *job,
                           uint64_t now, bool ahead) {
    const zk_engine_options *o = &engine->options;
    unsigned best = 3;
    c->type = TASK_PROVE;
    if (left_to_express(engine, lane, job)) return false;
    if (o->max_job_in_flight && n_in_flight(job) >= o->max_job_in_flight && !ahead) return false;
    for (uint32_t k = 0; k < job->n_partitions && best; k++) {
        uint32_t i = (k + engine->first_partition % job->n_partitions) % job->n_partitions;
        const engine_partition *p = &job->partitions[i];
        if (p->taken || p->state == ZK_PARTITION_DONE || now < p->not_before_ns) continue;
        if (engine_lane_is_second(lane) && p->attempts) continue; /* those prove alone */
        if (is_left_to_others(p, lane, job, now)) continue;
        unsigned rank = has_promise(lane, job, i) ? 0 : promised_elsewhere(engine, lane, job, i) ? 2 : 1;
        if (rank >= best || (ahead && rank != 1)) continue;
        best = rank;
        c->partition = i;
        if (ahead) break;
    }
    return best < 3;
}

static bool next_step(candidate *c, const zk_engine *engine, const engine_lane *lane, engine_job *job, uint64_t now,
                      bool ahead) {
    c->job = job;
    if (now < job->not_before_ns || !engine_job_is_open(job) || (ahead && job->elsewhere)) return false;
    bool checker = lane->role == ROLE_CHECKER, shared = zk_journal_is_shared(engine->journal);
    if (job->phase == ENGINE_NEW) {
        /* in a fleet to prepare is to check: beside devices, too, if there are lanes for that */
        bool apart = shared && engine->checks_apart && some_checker_left(engine);
        if (engine_lane_is_second(lane) && job->prepare_attempts) return false; /* alone, as partitions */
        if (checker ? !apart : apart && !engine_device_is_cpu(lane->on)) return false;
        return next_preparation(c, engine, lane, job, now, ahead);
    }
    if (job->phase != ENGINE_READY) return false;
    bool checks = checker || (!some_checker_left(engine) && !engine_lane_is_second(lane));
    if (checks && next_check(c, job, now)) return true;
    if (checker) return false;
    return next_partition(c, engine, lane, job, now, ahead);
}

/* ---- which lane ---- */

static bool is_free(const engine_lane *lane) {
    return lane->task.type == TASK_NONE && lane->first->state != ZK_WORKER_RETIRED && !engine_lane_is_held(lane) &&
           lane->first->not_before_ns <= zk_now_ns();
}

/* Whether the lane would take this now. Who leaves it to others is nobody to leave it to. */
static bool would_take(const engine_lane *lane, const candidate *c, uint64_t now) {
    return is_free(lane) && engine_lane_suits(lane, c->job) &&
           !(c->type == TASK_PROVE && is_left_to_others(&c->job->partitions[c->partition], lane, c->job, now));
}

/* Whether another lane is meant for work of this priority and free for it. A device does not leave work to a CPU. */
static bool has_own_lane(const zk_engine *engine, const engine_lane *lane, const candidate *c, uint64_t now) {
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *other = &engine->lanes[i];
        if (other == lane || other->role != ROLE_EXPRESS || other->min_priority <= lane->min_priority) continue;
        if (engine_device_is_cpu(other->on) && !engine_device_is_cpu(lane->on)) continue;
        if (would_take(other, c, now)) return true;
    }
    return false;
}

/* Whether a device is free for what a CPU's express worker could do. */
static bool has_device(const zk_engine *engine, const engine_lane *lane, const candidate *c, uint64_t now) {
    if (lane->role != ROLE_EXPRESS || !engine_device_is_cpu(lane->on)) return false;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *other = &engine->lanes[i];
        if (!engine_device_is_cpu(other->on) && other->first->pid && would_take(other, c, now)) return true;
    }
    return false;
}

static bool loads_keys(const engine_lane *lane) {
    return lane->role != ROLE_CHECKER && lane->state != ZK_WORKER_RETIRED && !engine_lane_is_lost(lane);
}

/* Keys are loaded where the jobs that need them will run: on devices, else by the most special of the CPU's workers. */
bool engine_lane_for_kind(const zk_engine *engine, const engine_lane *lane, zk_proof_kind kind) {
    zk_priority urgency = engine_priority(ZK_PRIORITY_UNSPECIFIED, kind), best = ZK_PRIORITY_LOW;
    bool device = false;
    if (!loads_keys(lane)) return false;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *other = &engine->lanes[i];
        if (!loads_keys(other)) continue;
        device |= !engine_device_is_cpu(other->on);
        if (other->min_priority <= urgency && other->min_priority > best) best = other->min_priority;
    }
    return device ? !engine_device_is_cpu(lane->on) : lane->min_priority == best;
}

static bool pick_keys(engine_task *task, zk_engine *engine, engine_lane *lane) {
    for (unsigned i = 0; i < lane->n_circuits; i++) {
        engine_circuit *c = &lane->circuits[i];
        if (!c->evict_wanted || c->loading) continue;
        *task = (engine_task){.type = TASK_EVICT, .kind = c->kind, .sector_bytes = c->sector_bytes};
        return true;
    }
    uint64_t bit = (uint64_t)1 << (lane->on - engine->devices);
    for (engine_key_call *call = engine->key_calls; call; call = call->next) {
        if (call->devices & bit || call->status != CUZK_OK || !engine_lane_for_kind(engine, lane, call->kind)) continue;
        call->devices |= bit;
        call->n_running++;
        *task = (engine_task){.type = TASK_LOAD, .kind = call->kind, .sector_bytes = call->sector_bytes, .call = call};
        task->priority = ZK_PRIORITY_NORMAL;
        return true;
    }
    return false;
}

/* ---- the choice ---- */

/* How many jobs of the circuit that the lane has just proved may still go before an older one of another. */
static bool batch_goes_on(const zk_engine *engine, const engine_lane *lane, const engine_job *job) {
    uint32_t max = engine->options.max_batch;
    bool same = lane->n_batch && lane->batch_kind == (zk_proof_kind)job->meta.kind &&
                lane->batch_sector_bytes == job->meta.sector_bytes;
    if (!max || !same) return !max;
    return lane->n_batch < max || strcmp(lane->batch_job, job->meta.job_id) == 0;
}

static void count_batch(engine_lane *lane, const engine_job *job) {
    bool same = lane->n_batch && lane->batch_kind == (zk_proof_kind)job->meta.kind &&
                lane->batch_sector_bytes == job->meta.sector_bytes;
    if (!same) lane->n_batch = 1;
    if (same && strcmp(lane->batch_job, job->meta.job_id) != 0) lane->n_batch++;
    lane->batch_kind = (zk_proof_kind)job->meta.kind;
    lane->batch_sector_bytes = job->meta.sector_bytes;
    memcpy(lane->batch_job, job->meta.job_id, sizeof lane->batch_job);
}

static bool pick_job(candidate *chosen, zk_engine *engine, engine_lane *lane, bool ahead) {
    uint64_t now = zk_now_ns();
    candidate head = {0}, near = {0};
    bool full = engine->options.max_synthesizing && n_synthesizing(engine) >= engine->options.max_synthesizing;
    for (size_t i = 0; i < engine->n_jobs; i++) {
        engine_job *job = engine->jobs[i];
        candidate c = {0};
        if (lane->role != ROLE_CHECKER && !engine_lane_suits(lane, job)) continue;
        if (!next_step(&c, engine, lane, job, now, ahead)) continue;
        if (c.type == TASK_PROVE && full && !ahead) continue;
        if (c.type != TASK_CHECK && (has_own_lane(engine, lane, &c, now) || has_device(engine, lane, &c, now)))
            continue;
        c.class = lane->role == ROLE_EXPRESS ? job->priority : aged(engine, job, now);
        c.waited_ns = now - job->accepted_ns;
        c.served_ns = served_of(engine, job->meta.miner_id);
        if (!head.job || goes_before(&c, &head)) head = c;
        if (engine_lane_circuit(lane->first, (zk_proof_kind)job->meta.kind, job->meta.sector_bytes) &&
            (!near.job || goes_before(&c, &near)))
            near = c;
    }
    if (!head.job) return false;
    bool group = near.job && near.class == head.class && head.waited_ns < engine->options.group_wait_ms * 1000000 &&
                 batch_goes_on(engine, lane, near.job);
    *chosen = group ? near : head;
    return true;
}

/* A more urgent lane waits for memory: what this lane has must become evictable. */
static bool urgent_waits_memory(const zk_engine *engine, const engine_lane *lane) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].waiting_memory && engine->lanes[i].min_priority > lane->min_priority) return true;
    return false;
}

static engine_task task_of(const candidate *c) {
    return (engine_task){
        .type = c->type,
        .job = c->job,
        .partition = c->partition,
        .kind = (zk_proof_kind)c->job->meta.kind,
        .sector_bytes = c->job->meta.sector_bytes,
        .priority = c->job->priority,
    };
}

/* The process has a job open that is over, or may have. */
static bool must_forget(zk_engine *engine, const engine_lane *lane) {
    if (!lane->first->pid || lane->fd < 0 || lane->n_promises) return false;
    if (!lane->job_at_hand[0]) return lane->looked_ahead;
    const engine_job *job = engine_job_find(engine, lane->job_at_hand);
    return !job || !engine_job_is_open(job);
}

bool engine_lane_is_ending(const engine_lane *lane) {
    return lane->first->ending || engine_lane_is_held(lane) ||
           (!lane->first->pid && lane->beside && lane->beside->fd >= 0);
}

/* Of two partitions in a process that died either may be the one that killed it. From then on both prove alone, so that
 * the other is not given up for it, however often it comes. */
static bool is_suspect(const engine_job *job, engine_task_type type, uint32_t partition) {
    if (type == TASK_PREPARE) return job->prepare_attempts > 0;
    return type == TASK_PROVE && partition < job->n_partitions && job->partitions[partition].attempts > 0;
}

/* Whether the first lane proves such a partition, or one waits for it. */
static bool alone_wanted(const zk_engine *engine, const engine_lane *lane) {
    const engine_task *task = &lane->first->task;
    uint64_t now = zk_now_ns();
    if (task->job && is_suspect(task->job, task->type, task->partition)) return true;
    for (size_t i = 0; i < engine->n_jobs; i++) {
        const engine_job *job = engine->jobs[i];
        if (now < job->not_before_ns || !engine_lane_suits(lane->first, job)) continue;
        if (job->phase == ENGINE_NEW && job->prepare_attempts && now >= job->prepare_not_before_ns) return true;
        if (job->phase != ENGINE_READY) continue;
        for (uint32_t k = 0; k < job->n_partitions; k++) {
            const engine_partition *p = &job->partitions[k];
            if (p->attempts && !p->taken && p->state != ZK_PARTITION_DONE && now >= p->not_before_ns &&
                !is_left_to_others(p, lane->first, job, now))
                return true;
        }
    }
    return false;
}

/* ---- partitions that are proved together ---- */

/* Devices that can prove the job, a lane each, and which take its partitions by turns. */
static uint32_t n_devices_for(const zk_engine *engine, const engine_job *job) {
    uint32_t n = 0;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *lane = &engine->lanes[i];
        n += lane->role == ROLE_ORDINARY && !engine_lane_is_second(lane) && !engine_device_is_cpu(lane->on) &&
             engine_lane_suits(lane, job);
    }
    return n ? n : 1;
}

static void take_partition(engine_job *job, uint32_t partition, const engine_lane *lane) {
    job->partitions[partition].taken = true;
    job->partitions[partition].lane = (int)lane->id;
}

/* Further partitions of the job where the worker proves several for less than one by one. Those that were tried before
 * are tried alone; other devices keep their share. */
static void take_more(engine_task *task, zk_engine *engine, engine_lane *lane) {
    engine_job *job = task->job;
    const engine_circuit *c = engine_lane_circuit(lane, task->kind, task->sector_bytes);
    uint32_t max_flight = engine->options.max_job_in_flight, free_ones[ZK_IPC_MAX_GROUP - 1], n = 0, n_free = 0;
    if (!c || c->n_group < 2 || engine_lane_is_second(lane) || zk_journal_is_shared(engine->journal)) return;
    if (job->partitions[task->partition].attempts) return;
    uint64_t now = zk_now_ns();
    for (uint32_t k = 1; k < job->n_partitions; k++) {
        uint32_t i = (task->partition + k) % job->n_partitions;
        const engine_partition *p = &job->partitions[i];
        if (p->taken || p->state == ZK_PARTITION_DONE || p->attempts || now < p->not_before_ns) continue;
        n_free++;
        if (n < c->n_group - 1 && !promised_elsewhere(engine, lane, job, i)) free_ones[n++] = i;
    }
    uint32_t n_devices = n_devices_for(engine, job), share = (n_free + 1 + n_devices - 1) / n_devices;
    if (n > share - 1) n = share - 1;
    if (max_flight && n > max_flight - n_in_flight(job)) n = max_flight - n_in_flight(job);
    for (uint32_t k = 0; k < n; k++) {
        task->more[task->n_more++] = free_ones[k];
        take_partition(job, free_ones[k], lane);
    }
}

bool engine_should_yield(zk_engine *engine, engine_lane *lane) {
    candidate c;
    return pick_job(&c, engine, lane, false) && c.job->priority > lane->task.priority;
}

bool engine_pick(engine_task *task, zk_engine *engine, engine_lane *lane) {
    bool second = engine_lane_is_second(lane);
    if (engine->draining || engine->stopping || lane->first->state == ZK_WORKER_RETIRED) return false;
    if (lane->first->not_before_ns > zk_now_ns() || engine_lane_is_ending(lane)) return false;
    if (lane->role != ROLE_CHECKER && !second && pick_keys(task, engine, lane)) return true;
    if (urgent_waits_memory(engine, lane) || engine->fleet_lost) return false;
    candidate c;
    if ((second && alone_wanted(engine, lane)) || !pick_job(&c, engine, lane, false)) {
        *task = (engine_task){.type = TASK_FORGET};
        return must_forget(engine, lane);
    }
    if (is_suspect(c.job, c.type, c.partition) && engine_lane_is_busy(lane->beside)) return false; /* until that ends */
    engine_job *job = c.job;
    engine_job_hold(job);
    engine->miner_time_ns = c.served_ns;
    *task = task_of(&c);
    if (c.type == TASK_CHECK) {
        job->check = CHECK_TAKEN;
    } else if (c.type == TASK_PREPARE) {
        job->phase = ENGINE_PREPARING;
    } else {
        count_batch(lane, job);
        take_partition(job, c.partition, lane);
        take_more(task, engine, lane);
    }
    engine_promises_prune(lane);
    return true;
}

bool engine_peek(engine_task *task, zk_engine *engine, engine_lane *lane) {
    candidate c;
    uint32_t n = 0, max = engine->options.max_prepared;
    for (unsigned i = 0; i < engine->n_lanes; i++) n += engine->lanes[i].n_promises;
    if (engine->draining || engine->stopping || engine->fleet_lost || (max && n >= max)) return false;
    if (!pick_job(&c, engine, lane, true) || c.type == TASK_CHECK) return false;
    *task = task_of(&c);
    return true;
}

void engine_task_begins(zk_engine *engine, const engine_task *task) {
    engine_job *job = task->job;
    if (!job || job->started_ns) return;
    job->started_ns = zk_now_ns();
    engine_observe(engine, HISTOGRAM_QUEUE, job->started_ns - job->accepted_ns);
}

uint32_t engine_queue_position(zk_engine *engine, const engine_job *job) {
    if (job->started_ns) return 0;
    uint64_t now = zk_now_ns();
    candidate own = {.class = aged(engine, job, now), .served_ns = served_of(engine, job->meta.miner_id)};
    uint32_t ahead = 0;
    bool before = true; /* in the order of acceptance */
    for (size_t i = 0; i < engine->n_jobs; i++) {
        const engine_job *other = engine->jobs[i];
        if (other == job) {
            before = false;
        } else if (engine_job_is_open(other) && !other->started_ns) {
            candidate c = {.class = aged(engine, other, now), .served_ns = served_of(engine, other->meta.miner_id)};
            ahead += goes_before(&c, &own) || (before && !goes_before(&own, &c));
        }
    }
    return ahead;
}

/* ---- whose CPUs ---- */

/* While a lane for urgent work computes, less urgent work of CPU workers stands still: at once, wherever it is, and
 * without its help. A task that was stopped for very long in sum is left alone. */
void engine_balance(zk_engine *engine) {
    zk_priority urgent = ZK_PRIORITY_UNSPECIFIED;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *lane = &engine->lanes[i];
        if (lane->min_priority > ZK_PRIORITY_LOW && lane->pid && !lane->waiting_memory &&
            (lane->task.type == TASK_PROVE || lane->task.type == TASK_PREPARE) && lane->task.priority > urgent)
            urgent = lane->task.priority;
    }
    uint64_t now = zk_now_ns(), limit = 3 * engine->options.aging_ms * 1000000;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        engine_lane *lane = &engine->lanes[i];
        bool stop = lane->pid && lane->task.type != TASK_NONE && lane->task.priority < urgent && !lane->task.cancel &&
                    lane->stopped_ns < limit && strcmp(lane->device_kind, "cpu") == 0;
        if (stop && !lane->stopped) {
            kill(lane->pid, SIGSTOP);
            lane->stopped = true;
            lane->stop_start_ns = now;
            engine->n_preempted++;
        } else if (!stop && lane->stopped) {
            lane->stopped = false;
            lane->stopped_ns += now - lane->stop_start_ns;
            if (lane->pid) kill(lane->pid, SIGCONT);
        }
    }
}
