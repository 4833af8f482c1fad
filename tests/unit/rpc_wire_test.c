/* What clients and dashboards of the public engine rely on, written down by hand and compared with what is served:
 * names and numbers of messages, the shape of /status, names and types of metrics. */
#include <cuzk.pb-c.h>

#include "base/json_dom.h"
#include "rpc/metrics.h"
#include "rpc/status_json.h"
#include "rpc_fake_engine.h"
#include "zk_test.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- messages ---- */

typedef struct wire_field {
    const char *name;
    uint32_t number;
    const char *type; /* "u64", "u32", "string", "bytes", "bool", or the name of a message or enum; "[]": repeated */
} wire_field;

typedef struct wire_message {
    const ProtobufCMessageDescriptor *descriptor;
    const char *name;
    wire_field fields[24]; /* by number */
} wire_message;

#define MESSAGE(name) &cuzk__v1__##name##__descriptor
static const wire_message messages[] = {
    {MESSAGE(submit_proof_request),
     "SubmitProofRequest",
     {{"request_id", 1, "string"},
      {"proof_kind", 2, "ProofKind"},
      {"sector_size", 3, "u64"},
      {"registered_proof", 4, "u64"},
      {"priority", 5, "Priority"},
      {"vanilla_proof", 10, "bytes"},
      {"vanilla_proofs", 11, "bytes[]"},
      {"sector_number", 20, "u64"},
      {"miner_id", 21, "u64"},
      {"randomness", 22, "bytes"},
      {"partition_index", 23, "u32"},
      {"comm_r_old", 30, "bytes"},
      {"comm_r_new", 31, "bytes"},
      {"comm_d_new", 32, "bytes"}}},
    {MESSAGE(submit_proof_response),
     "SubmitProofResponse",
     {{"job_id", 1, "string"}, {"queue_position", 2, "u32"}, {"assigned_gpu", 3, "string"}}},
    {MESSAGE(await_proof_request), "AwaitProofRequest", {{"job_id", 1, "string"}, {"timeout_ms", 2, "u64"}}},
    {MESSAGE(await_proof_response),
     "AwaitProofResponse",
     {{"job_id", 1, "string"},
      {"status", 2, "AwaitProofResponse.Status"},
      {"proof", 3, "bytes"},
      {"error_message", 4, "string"},
      {"queue_wait_ms", 10, "u64"},
      {"srs_load_ms", 11, "u64"},
      {"synthesis_ms", 12, "u64"},
      {"gpu_compute_ms", 13, "u64"},
      {"total_ms", 14, "u64"}}},
    {MESSAGE(prove_request), "ProveRequest", {{"submit", 1, "SubmitProofRequest"}}},
    {MESSAGE(prove_response), "ProveResponse", {{"result", 1, "AwaitProofResponse"}}},
    {MESSAGE(cancel_proof_request), "CancelProofRequest", {{"job_id", 1, "string"}}},
    {MESSAGE(cancel_proof_response), "CancelProofResponse", {{"was_running", 1, "bool"}}},
    {MESSAGE(get_status_request), "GetStatusRequest", {{0}}},
    {MESSAGE(get_status_response),
     "GetStatusResponse",
     {{"gpus", 1, "GPUStatus[]"},
      {"loaded_srs", 2, "SRSStatus[]"},
      {"queues", 3, "QueueStatus[]"},
      {"total_proofs_completed", 4, "u64"},
      {"total_proofs_failed", 5, "u64"},
      {"uptime_seconds", 6, "u64"},
      {"pinned_memory_bytes", 7, "u64"},
      {"pinned_memory_limit_bytes", 8, "u64"}}},
    {MESSAGE(gpustatus),
     "GPUStatus",
     {{"ordinal", 1, "u32"},
      {"name", 2, "string"},
      {"vram_total_bytes", 3, "u64"},
      {"vram_free_bytes", 4, "u64"},
      {"current_job_id", 5, "string"},
      {"current_proof_kind", 6, "string"}}},
    {MESSAGE(srsstatus),
     "SRSStatus",
     {{"circuit_id", 1, "string"}, {"tier", 2, "SRSStatus.Tier"}, {"size_bytes", 3, "u64"}, {"ref_count", 4, "u32"}}},
    {MESSAGE(queue_status),
     "QueueStatus",
     {{"proof_kind", 1, "string"}, {"pending", 2, "u32"}, {"in_progress", 3, "u32"}}},
    {MESSAGE(preload_srs_request), "PreloadSrsRequest", {{"circuit_id", 1, "string"}}},
    {MESSAGE(preload_srs_response), "PreloadSrsResponse", {{"already_loaded", 1, "bool"}, {"load_time_ms", 2, "u64"}}},
    {MESSAGE(evict_srs_request), "EvictSrsRequest", {{"circuit_id", 1, "string"}}},
    {MESSAGE(evict_srs_response), "EvictSrsResponse", {{"was_loaded", 1, "bool"}, {"freed_bytes", 2, "u64"}}},
    {MESSAGE(get_metrics_request), "GetMetricsRequest", {{0}}},
    {MESSAGE(get_metrics_response), "GetMetricsResponse", {{"prometheus_text", 1, "string"}}},
};

static void type_of(char text[80], const ProtobufCFieldDescriptor *f) {
    const char *name = "?";
    switch (f->type) {
    case PROTOBUF_C_TYPE_UINT64:
        name = "u64";
        break;
    case PROTOBUF_C_TYPE_UINT32:
        name = "u32";
        break;
    case PROTOBUF_C_TYPE_STRING:
        name = "string";
        break;
    case PROTOBUF_C_TYPE_BYTES:
        name = "bytes";
        break;
    case PROTOBUF_C_TYPE_BOOL:
        name = "bool";
        break;
    case PROTOBUF_C_TYPE_MESSAGE:
        name = ((const ProtobufCMessageDescriptor *)f->descriptor)->name;
        break;
    case PROTOBUF_C_TYPE_ENUM:
        name = ((const ProtobufCEnumDescriptor *)f->descriptor)->name;
        break;
    default:
        break;
    }
    if (strncmp(name, "cuzk.v1.", 8) == 0) name += 8;
    snprintf(text, 80, "%s%s", name, f->label == PROTOBUF_C_LABEL_REPEATED ? "[]" : "");
}

static void test_messages(void) {
    for (size_t i = 0; i < COUNT(messages); i++) {
        const wire_message *m = &messages[i];
        unsigned n = 0;
        ZK_CHECKF(strcmp(m->descriptor->package_name, "cuzk.v1") == 0 &&
                      strcmp(m->descriptor->short_name, m->name) == 0,
                  "%s", m->name);
        for (; n < COUNT(m->fields) && m->fields[n].name; n++) {
            const ProtobufCFieldDescriptor *f =
                protobuf_c_message_descriptor_get_field_by_name(m->descriptor, m->fields[n].name);
            ZK_CHECKF(f && f->id == m->fields[n].number, "%s.%s", m->name, m->fields[n].name);
            char type[80];
            type_of(type, f);
            ZK_CHECKF(strcmp(type, m->fields[n].type) == 0, "%s.%s: %s", m->name, f->name, type);
        }
        ZK_CHECKF(m->descriptor->n_fields == n, "%s: %u fields", m->name, m->descriptor->n_fields);
    }
}

static void test_enums(void) {
    static const struct {
        const ProtobufCEnumDescriptor *descriptor;
        const char *names[6]; /* by value, from 0 */
    } enums[] = {
        {&cuzk__v1__proof_kind__descriptor,
         {"PROOF_KIND_UNSPECIFIED", "POREP_SEAL_COMMIT", "SNAP_DEALS_UPDATE", "WINDOW_POST_PARTITION", "WINNING_POST"}},
        {&cuzk__v1__priority__descriptor, {"PRIORITY_UNSPECIFIED", "LOW", "NORMAL", "HIGH", "CRITICAL"}},
        {&cuzk__v1__await_proof_response__status__descriptor,
         {"UNKNOWN", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT"}},
        {&cuzk__v1__srsstatus__tier__descriptor, {"HOT", "WARM", "COLD"}},
    };
    for (size_t i = 0; i < COUNT(enums); i++) {
        unsigned n = 0;
        for (; enums[i].names[n]; n++) {
            const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(enums[i].descriptor, (int)n);
            ZK_CHECKF(v && strcmp(v->name, enums[i].names[n]) == 0, "%s", enums[i].names[n]);
        }
        ZK_CHECK(enums[i].descriptor->n_values == n);
    }
}

static void test_calls(void) {
    static const char *const calls[][2] = {
        {"SubmitProof", "SubmitProof"}, {"AwaitProof", "AwaitProof"}, {"Prove", "Prove"},
        {"CancelProof", "CancelProof"}, {"GetStatus", "GetStatus"},   {"GetMetrics", "GetMetrics"},
        {"PreloadSRS", "PreloadSrs"},   {"EvictSRS", "EvictSrs"}};
    const ProtobufCServiceDescriptor *s = &cuzk__v1__proving_engine__descriptor;
    ZK_CHECK(strcmp(s->name, "cuzk.v1.ProvingEngine") == 0 && s->n_methods == COUNT(calls));
    for (size_t i = 0; i < COUNT(calls); i++) {
        const ProtobufCMethodDescriptor *m = protobuf_c_service_descriptor_get_method_by_name(s, calls[i][0]);
        char request[80], response[80];
        snprintf(request, sizeof request, "%sRequest", calls[i][1]);
        snprintf(response, sizeof response, "%sResponse", calls[i][1]);
        ZK_CHECKF(m && strcmp(m->input->short_name, request) == 0 && strcmp(m->output->short_name, response) == 0, "%s",
                  calls[i][0]);
    }
}

/* ---- /status ---- */

/* In the types: n number (f: may have a fraction), s string, b boolean, 0 null; values of a string after a colon. */
static const char *const shape[][2] = {
    {"uptime_secs", "f"},
    {"memory.total_bytes", "n"},
    {"memory.used_bytes", "n"},
    {"memory.available_bytes", "n"},
    {"synthesis.max_concurrent", "n"},
    {"synthesis.active", "n"},
    {"pipelines[].job_id", "s"},
    {"pipelines[].proof_kind", "s:porep-c2,snap-update,window-post,winning-post"},
    {"pipelines[].started_secs_ago", "f"},
    {"pipelines[].total_partitions", "n"},
    {"pipelines[].partitions_done", "n"},
    {"pipelines[].partitions[].index", "n"},
    {"pipelines[].partitions[].state", "s:pending,synthesizing,synth_done,gpu,done,failed"},
    {"pipelines[].partitions[].synth_ms", "n0"},
    {"pipelines[].partitions[].gpu_ms", "n0"},
    {"gpu_workers[].worker_id", "n"},
    {"gpu_workers[].gpu_ordinal", "n"},
    {"gpu_workers[].state", "s:idle,proving"},
    {"gpu_workers[].current_job", "s0"},
    {"gpu_workers[].current_partition", "n0"},
    {"gpu_workers[].busy_secs", "f0"},
    {"allocations.srs[].circuit_id", "s"},
    {"allocations.srs[].bytes", "n"},
    {"allocations.srs[].last_used_secs_ago", "f"},
    {"allocations.srs[].evictable", "b"},
    {"allocations.pce", "[]"},
    {"counters.total_completed", "n"},
    {"counters.total_failed", "n"},
    {"counters.completed_by_kind.porep-c2", "n"},
    {"counters.failed_by_kind.winning-post", "n"},
    {"counters.queue_depth", "n"},
    {"buffers.synth_in_flight", "n"},
    {"buffers.provers_in_flight", "n"},
    {"buffers.aux_in_flight", "n"},
    {"buffers.shells_in_flight", "n"},
    {"buffers.pending_handles", "n"},
};

static bool has_type(const zk_json_value *v, const char *type) {
    if (strcmp(type, "[]") == 0) return zk_json_is(v, ZK_JSON_ARRAY_BEGIN);
    size_t n = strcspn(type, ":");
    if (zk_json_is(v, ZK_JSON_NULL)) return memchr(type, '0', n);
    if (zk_json_is(v, ZK_JSON_NUMBER)) return type[0] == 'f' || (type[0] == 'n' && v->is_u64);
    if (zk_json_is(v, ZK_JSON_TRUE) || zk_json_is(v, ZK_JSON_FALSE)) return type[0] == 'b';
    if (!zk_json_is(v, ZK_JSON_STRING) || type[0] != 's') return false;
    bool found = type[n] == 0;
    for (const char *value = type + n; *value && !found; value += strcspn(value, ",")) {
        value++;
        found = strcspn(value, ",") == v->n && memcmp(value, v->text, v->n) == 0;
    }
    return found;
}

/* How many values are at the path, all of which must have the type. */
static size_t check_path(const zk_json_value *v, const char *path, const char *type) {
    if (!*path) {
        ZK_CHECKF(has_type(v, type), "kind %d, expected %s", (int)v->kind, type);
        return 1;
    }
    if (strncmp(path, "[]", 2) == 0) {
        size_t n = 0;
        ZK_CHECKF(zk_json_is(v, ZK_JSON_ARRAY_BEGIN), "%s", path);
        for (size_t i = 0; i < zk_json_count(v); i++)
            n += check_path(zk_json_element_of(v, i), path + 2 + (path[2] == '.'), type);
        return n;
    }
    char name[64];
    size_t n = strcspn(path, ".[");
    snprintf(name, sizeof name, "%.*s", (int)n, path);
    const zk_json_value *member = zk_json_member_of(v, name);
    ZK_CHECKF(member, "no %s", path);
    return check_path(member, path + n + (path[n] == '.'), type);
}

static void test_status(void) {
    zk_engine *engine = fake_create();
    zk_json_doc *doc = NULL;
    cuzk_err err = {0};
    char *text = NULL;
    size_t n = 0;
    ZK_CHECK_OK(zk_rpc_status_json(&text, &n, engine, NULL, &err), err);
    ZK_CHECK_OK(zk_json_parse(&doc, text, n, 0, &err), err);
    for (size_t i = 0; i < COUNT(shape); i++)
        ZK_CHECKF(check_path(zk_json_root(doc), shape[i][0], shape[i][1]) > 0, "%s", shape[i][0]);
    zk_json_doc_destroy(doc);
    free(text);
    fake_destroy(engine);
}

/* ---- metrics ---- */

static void test_metrics(void) {
    static const char *const names[][2] = {{"cuzk_uptime_seconds", "gauge"},
                                           {"cuzk_queue_depth", "gauge"},
                                           {"cuzk_running_jobs", "gauge"},
                                           {"cuzk_gpu_workers", "gauge"},
                                           {"cuzk_proofs_completed_total", "counter"},
                                           {"cuzk_proofs_failed_total", "counter"},
                                           {"cuzk_proofs_completed", "counter"},
                                           {"cuzk_proofs_failed", "counter"},
                                           {"cuzk_proof_duration_seconds", "summary"}};
    static const char *const kinds[] = {"porep_c2", "snap_update", "window_post", "winning_post"};
    static const char *const by_kind[] = {"cuzk_proofs_completed", "cuzk_proofs_failed",
                                          "cuzk_proof_duration_seconds_sum", "cuzk_proof_duration_seconds_count"};
    zk_engine *engine = fake_create();
    cuzk_err err = {0};
    char *text = NULL, line[160];
    size_t n = 0;
    ZK_CHECK_OK(zk_rpc_metrics_text(&text, &n, engine, NULL, &err), err);
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(line, sizeof line, "\n# TYPE %s %s\n", names[i][0], names[i][1]);
        ZK_CHECKF(strstr(text, line), "%s", line);
        if (i >= 6) continue;
        snprintf(line, sizeof line, "\n%s ", names[i][0]); /* without labels */
        ZK_CHECKF(strstr(text, line), "%s", line);
    }
    for (size_t i = 0; i < COUNT(by_kind) * COUNT(kinds); i++) {
        snprintf(line, sizeof line, "\n%s{proof_kind=\"%s\"} ", by_kind[i / COUNT(kinds)], kinds[i % COUNT(kinds)]);
        ZK_CHECKF(strstr(text, line), "%s", line);
    }
    free(text);
    fake_destroy(engine);
}

ZK_TEST_MAIN(ZK_CASE(test_messages), ZK_CASE(test_enums), ZK_CASE(test_calls), ZK_CASE(test_status),
             ZK_CASE(test_metrics))
