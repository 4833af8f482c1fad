/* What our client says of servers that are not there, are something else, or go away. */
#include <arpa/inet.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/time.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "rpc_common.h"

/* One call of GetStatus; how it ended, and what was said. */
static cuzk_status ask_at(zk_client_reach *reach, cuzk_err *err, const char *address, uint64_t timeout_ms) {
    zk_client *client = NULL;
    uint8_t *response = NULL;
    size_t n = 0;
    *err = (cuzk_err){0};
    ZK_CHECK_OK(zk_client_create(&client, address, NULL, err), *err);
    cuzk_status status =
        zk_client_call_sync(&response, &n, client, &(zk_client_query){"GetStatus", "", 0, timeout_ms}, NULL, NULL, err);
    *reach = zk_client_last_reach(client);
    free(response);
    zk_client_destroy(client);
    return status;
}

static void answered(const char *method, cuzk_status want, const char *message) {
    uint8_t *response = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    cuzk_status status = call(method, "\x10\x01", 2, &response, &n, &err);
    free(response);
    ZK_CHECKF(status == want && strstr(err.message, message), "%s: %s", method, err.message);
    ZK_CHECKF(zk_client_last_reach(fx.client) == ZK_CLIENT_ANSWERED, "%s: %s", method, err.message);
}

/* The daemon's own UNAVAILABLE is not taken for a failure of the connection, whatever the words. */
static void test_answers(void) {
    static const char *const texts[] = {"the spool: No space left on device", "No such file or directory",
                                        "write: Broken pipe", "failed to connect to all addresses"};
    start();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char message[128];
        snprintf(message, sizeof message, "%s: UNAVAILABLE: %s", fx.address, texts[i]);
        fake_fail_submit(fx.engine, CUZK_IO, texts[i]);
        answered("SubmitProof", CUZK_IO, message);
    }
    fake_fail_submit(fx.engine, CUZK_NOT_FOUND, "keys");
    answered("SubmitProof", CUZK_NOT_FOUND, "NOT_FOUND: keys");
    answered("/another.Service/Call", CUZK_UNSUPPORTED, "UNIMPLEMENTED");
    zk_rpc_server_drain(fx.server);
    answered("SubmitProof", CUZK_IO, "UNAVAILABLE: the daemon is about to end");
    stop();
}

/* A port of ours: listening, or with `backlog` < 0 not. */
static int own_port(char address[64], int backlog) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ZK_CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 && getsockname(fd, (struct sockaddr *)&a, &n) == 0);
    ZK_CHECK(backlog < 0 || listen(fd, backlog) == 0);
    snprintf(address, 64, "127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
    return fd;
}

static void test_nobody(void) {
    char address[64], want[128];
    zk_client_reach reach;
    cuzk_err err;
    int fd = own_port(address, -1);
    ZK_CHECK(ask_at(&reach, &err, address, ZK_TEST_HANG_S * 1000) == CUZK_IO && reach == ZK_CLIENT_UNREACHED);
    snprintf(want, sizeof want, "%s: UNAVAILABLE: ", address);
    ZK_CHECKF(strncmp(err.message, want, strlen(want)) == 0 && strstr(err.message, ": Connection refused"), "%s",
              err.message);
    ZK_CHECKF(!strstr(err.message, "all addresses"), "%s", err.message); /* the core's own words are left out */
    close(fd);
    ZK_CHECK(ask_at(&reach, &err, "unix:///nowhere/cuzk.sock", ZK_TEST_HANG_S * 1000) == CUZK_IO &&
             reach == ZK_CLIENT_UNREACHED);
    ZK_CHECKF(strcmp(err.message, "unix:///nowhere/cuzk.sock: UNAVAILABLE: No such file or directory") == 0, "%s",
              err.message);
    fd = own_port(address, 4); /* somebody who says nothing */
    ZK_CHECK(ask_at(&reach, &err, address, 300) == CUZK_EXHAUSTED && reach == ZK_CLIENT_UNREACHED);
    ZK_CHECKF(strstr(err.message, "DEADLINE_EXCEEDED"), "%s", err.message);
    close(fd);
}

/* Speaks HTTP/2 as far as it takes to be a connection, waits for a request, and is gone. RFC 9113: 3.4, 4.1, 6.2. */
static void *vanish(void *ctx) {
    static const char settings[9] = {0, 0, 0, 4}; /* an empty frame */
    enum { PREFACE_BYTES = 24, FRAME_BYTES = 9, HEADERS = 1 };
    uint8_t bytes[1 << 16];
    int fd = accept(*(int *)ctx, NULL, NULL);
    bool good = fd >= 0 && send(fd, settings, sizeof settings, MSG_NOSIGNAL) == sizeof settings &&
                recv(fd, bytes, PREFACE_BYTES, MSG_WAITALL) == PREFACE_BYTES;
    for (bool over = false; good && !over;) {
        good = recv(fd, bytes, FRAME_BYTES, MSG_WAITALL) == FRAME_BYTES;
        size_t n = (size_t)bytes[0] << 16 | (size_t)bytes[1] << 8 | bytes[2];
        over = good && bytes[3] == HEADERS;
        good = good && n <= sizeof bytes && (n == 0 || recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n);
    }
    if (fd >= 0) close(fd);
    return good ? NULL : ctx;
}

/* A server of the core alone: takes one call and drops it, or cancels all, as happens to those that come at its end. */
typedef struct ending {
    bool cancels;
    grpc_server *server;
    grpc_completion_queue *cq;
} ending;

static void ending_create(ending *e, char address[64]) {
    grpc_server_credentials *plain = grpc_insecure_server_credentials_create();
    grpc_init();
    e->cq = grpc_completion_queue_create_for_next(NULL);
    e->server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(e->server, e->cq, NULL);
    int port = grpc_server_add_http2_port(e->server, "127.0.0.1:0", plain);
    grpc_server_credentials_release(plain);
    ZK_CHECK(port > 0);
    snprintf(address, 64, "127.0.0.1:%d", port);
    grpc_server_start(e->server);
}

static void *ending_serve(void *ctx) {
    ending *e = ctx;
    grpc_call *call = NULL;
    grpc_call_details details;
    grpc_metadata_array metadata;
    gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    grpc_call_details_init(&details);
    grpc_metadata_array_init(&metadata);
    bool asked = grpc_server_request_call(e->server, &call, &details, &metadata, e->cq, e->cq, e) == GRPC_CALL_OK;
    if (asked) (void)grpc_completion_queue_next(e->cq, never, NULL);
    if (call && !e->cancels) grpc_call_unref(call);
    grpc_server_shutdown_and_notify(e->server, e->cq, NULL);
    if (e->cancels) grpc_server_cancel_all_calls(e->server);
    if (call && e->cancels) grpc_call_unref(call);
    (void)grpc_completion_queue_next(e->cq, never, NULL); /* of the shutdown */
    grpc_call_details_destroy(&details);
    grpc_metadata_array_destroy(&metadata);
    return NULL;
}

static void ending_destroy(ending *e) {
    grpc_server_destroy(e->server);
    grpc_completion_queue_shutdown(e->cq);
    while (grpc_completion_queue_next(e->cq, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type != GRPC_QUEUE_SHUTDOWN) {}
    grpc_completion_queue_destroy(e->cq);
    grpc_shutdown_blocking();
}

static void test_lost(void) {
    char address[64];
    zk_client_reach reach;
    cuzk_err err;
    pthread_t thread;
    int fd = own_port(address, 4);
    ZK_CHECK(pthread_create(&thread, NULL, vanish, &fd) == 0);
    cuzk_status status = ask_at(&reach, &err, address, ZK_TEST_HANG_S * 1000);
    void *failed;
    pthread_join(thread, &failed);
    close(fd);
    ZK_CHECK(!failed);
    ZK_CHECKF(status == CUZK_IO && reach == ZK_CLIENT_LOST, "%s", err.message);
    ZK_CHECKF(strstr(err.message, "UNAVAILABLE: "), "%s", err.message);
}

/* A server that is given up with a call that it has not answered. */
static void test_server_ends(void) {
    for (int cancels = 0; cancels < 2; cancels++) {
        char address[64];
        zk_client_reach reach;
        cuzk_err err;
        ending server = {.cancels = cancels};
        pthread_t thread;
        ending_create(&server, address);
        ZK_CHECK(pthread_create(&thread, NULL, ending_serve, &server) == 0);
        cuzk_status status = ask_at(&reach, &err, address, ZK_TEST_HANG_S * 1000);
        pthread_join(thread, NULL);
        ending_destroy(&server);
        ZK_CHECKF(status == CUZK_IO && reach == ZK_CLIENT_LOST, "%d: %d %s", cancels, (int)reach, err.message);
        ZK_CHECKF(strstr(err.message, "UNAVAILABLE: "), "%s", err.message);
    }
}

/* Files that are no certificate or key are named before anything is tried. */
static void test_tls_files(void) {
    char path[64];
    cuzk_err err = {0};
    snprintf(path, sizeof path, "/tmp/cuzk-client-%d.pem", (int)getpid());
    static const struct {
        const char *text, *what;
        int member;
    } cases[] = {{"", "CERTIFICATE", 0},
                 {"-----BEGIN PRIVATE KEY-----\n", "CERTIFICATE", 0},
                 {"-----BEGIN PRIVATE KEY-----\n", "CERTIFICATE", 1},
                 {"-----BEGIN CERTIFICATE-----\n", "PRIVATE KEY", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char good[80], want[160];
        zk_client *client = NULL;
        zk_client_options o = {0};
        snprintf(good, sizeof good, "%s.good", path);
        ZK_CHECK_OK(zk_file_write(path, (const uint8_t *)cases[i].text, strlen(cases[i].text), &err), err);
        ZK_CHECK_OK(zk_file_write(good, (const uint8_t *)"CERTIFICATE PRIVATE KEY", 23, &err), err);
        const char **members[] = {&o.tls_ca, &o.tls_certificate, &o.tls_key};
        for (int k = 0; k < 3; k++) *members[k] = k == cases[i].member ? path : good;
        cuzk_status status = zk_client_create(&client, "127.0.0.1:1", &o, &err);
        unlink(path);
        unlink(good);
        snprintf(want, sizeof want, "%s: found no PEM block of a %s", path, cases[i].what);
        ZK_CHECKF(status == CUZK_BAD_INPUT && !client && strcmp(err.message, want) == 0, "case %zu: %s", i,
                  err.message);
        err = (cuzk_err){0};
    }
}

ZK_TEST_MAIN(ZK_CASE(test_answers), ZK_CASE(test_nobody), ZK_CASE(test_lost), ZK_CASE(test_server_ends),
             ZK_CASE(test_tls_files))
