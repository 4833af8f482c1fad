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

/* The next thing to do for a job. */
static bool next_step(candidate *c, engine_job *job, uint64_t now) {
    c->job = job;
    if (now < job->not_before_ns) return false;
    if (job->phase == ENGINE_NEW) {
        c->type = TASK_PREPARE;
        return now >= job->prepare_not_before_ns;
    }
    if (job->phase != ENGINE_READY) return false;
    c->type = TASK_PROVE;
    for (uint32_t i = 0; i < job->n_partitions; i++) {
        const engine_partition *p = &job->partitions[i];
        if (p->taken || p->state == ZK_PARTITION_DONE || now < p->not_before_ns) continue;
        c->partition = i;
        return true;
    }
    return false;
}

/* Whether another lane is meant for work of this priority and free for it. */
static bool has_own_lane(const zk_engine *engine, const engine_lane *lane, zk_priority priority) {
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *other = &engine->lanes[i];
        if (other != lane && other->min_priority > lane->min_priority && other->min_priority <= priority &&
            other->task.type == TASK_NONE && other->state != ZK_WORKER_RETIRED && other->not_before_ns <= zk_now_ns())
            return true;
    }
    return false;
}

static zk_priority kind_priority(zk_proof_kind kind) {
    return kind == ZK_KIND_WINNING  ? ZK_PRIORITY_CRITICAL
           : kind == ZK_KIND_WINDOW ? ZK_PRIORITY_HIGH
                                    : ZK_PRIORITY_NORMAL;
}

/* Keys are loaded where the jobs that need them will run. */
static bool lane_for_kind(const zk_engine *engine, const engine_lane *lane, zk_proof_kind kind) {
    zk_priority best = ZK_PRIORITY_LOW;
    for (unsigned i = 0; i < engine->n_lanes; i++) {
        const engine_lane *other = &engine->lanes[i];
        if (other->state != ZK_WORKER_RETIRED && other->min_priority <= kind_priority(kind) &&
            other->min_priority > best)
            best = other->min_priority;
    }
    return lane->min_priority == best;
}

static bool pick_keys(engine_task *task, zk_engine *engine, engine_lane *lane) {
    for (unsigned i = 0; i < lane->n_circuits; i++) {
        engine_circuit *c = &lane->circuits[i];
        if (!c->evict_wanted || c->loading) continue;
        *task = (engine_task){.type = TASK_EVICT, .kind = c->kind, .sector_bytes = c->sector_bytes};
        return true;
    }
    for (engine_key_call *call = engine->key_calls; call; call = call->next) {
        if (call->taken || call->done || !lane_for_kind(engine, lane, call->kind)) continue;
        call->taken = true;
        *task = (engine_task){.type = TASK_LOAD, .kind = call->kind, .sector_bytes = call->sector_bytes, .call = call};
        task->priority = ZK_PRIORITY_NORMAL;
        return true;
    }
    return false;
}

static bool pick_job(candidate *chosen, zk_engine *engine, engine_lane *lane) {
    uint64_t now = zk_now_ns();
    candidate head = {0}, near = {0};
    for (size_t i = 0; i < engine->n_jobs; i++) {
        engine_job *job = engine->jobs[i];
        candidate c = {0};
        if (job->priority < lane->min_priority || !next_step(&c, job, now)) continue;
        if (has_own_lane(engine, lane, job->priority)) continue;
        c.class = lane->min_priority > ZK_PRIORITY_LOW ? job->priority : aged(engine, job, now);
        c.waited_ns = now - job->accepted_ns;
        c.served_ns = served_of(engine, job->meta.miner_id);
        if (!head.job || goes_before(&c, &head)) head = c;
        if (engine_lane_circuit(lane, (zk_proof_kind)job->meta.kind, job->meta.sector_bytes) &&
            (!near.job || goes_before(&c, &near)))
            near = c;
    }
    if (!head.job) return false;
    bool group = near.job && near.class == head.class && head.waited_ns < engine->options.group_wait_ms * 1000000;
    *chosen = group ? near : head;
    return true;
}

/* A more urgent lane waits for memory: what this lane has must become evictable. */
static bool urgent_waits_memory(const zk_engine *engine, const engine_lane *lane) {
    for (unsigned i = 0; i < engine->n_lanes; i++)
        if (engine->lanes[i].waiting_memory && engine->lanes[i].min_priority > lane->min_priority) return true;
    return false;
}

bool engine_pick(engine_task *task, zk_engine *engine, engine_lane *lane) {
    if (engine->draining || engine->stopping || lane->state == ZK_WORKER_RETIRED) return false;
    if (lane->not_before_ns > zk_now_ns()) return false;
    if (pick_keys(task, engine, lane)) return true;
    if (urgent_waits_memory(engine, lane) || engine->fleet_lost) return false;
    candidate c;
    if (!pick_job(&c, engine, lane)) return false;
    engine_job *job = c.job;
    engine_job_hold(job);
    engine->miner_time_ns = c.served_ns;
    *task = (engine_task){
        .type = c.type,
        .job = job,
        .partition = c.partition,
        .kind = (zk_proof_kind)job->meta.kind,
        .sector_bytes = job->meta.sector_bytes,
        .priority = job->priority,
    };
    if (c.type == TASK_PREPARE) {
        job->phase = ENGINE_PREPARING;
    } else {
        job->partitions[c.partition].taken = true;
        job->partitions[c.partition].lane = (int)lane->id;
    }
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
