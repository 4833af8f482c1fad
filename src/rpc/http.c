#include "rpc/http.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "config/address.h"
#include "rpc/descriptors.h"
#include "rpc/metrics.h"
#include "rpc/status_json.h"

#define MAX_CONNECTIONS 64
#define IDLE_SECONDS 30

struct zk_http {
    struct MHD_Daemon *mhd;
    zk_engine *engine;
    const zk_rpc_server *server;
    int port;
};

/* What an answer has beside its body. */
typedef enum extra {
    PLAIN,
    IS_STATIC = 1, /* the body is not to be freed */
    ANY_ORIGIN = 2 /* pages of other origins may read it, as they may the public engine's /status */
} extra;

/* A body of our own memory; answers the request. */
static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, const char *type, const void *body, size_t n,
                              unsigned extras) {
    bool is_static = extras & IS_STATIC;
    struct MHD_Response *r = MHD_create_response_from_buffer(
        n, (void *)(uintptr_t)body, is_static ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_FREE);
    if (!r) {
        if (!is_static) free((void *)(uintptr_t)body);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", type);
    MHD_add_response_header(r, "Cache-Control", "no-store");
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    /* The page needs its own inline script and style and this server, nothing else. */
    MHD_add_response_header(r, "Content-Security-Policy",
                            "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
                            "connect-src 'self'; img-src data:; frame-ancestors 'none'");
    if (extras & ANY_ORIGIN) MHD_add_response_header(r, "Access-Control-Allow-Origin", "*");
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(c, code, r);
    MHD_destroy_response(r);
    return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *c, unsigned code, const char *text, unsigned extras) {
    char *copy = zk_strdup(text);
    return copy ? answer(c, code, "text/plain; charset=utf-8", copy, strlen(copy), extras) : MHD_NO;
}

static enum MHD_Result answer_error(struct MHD_Connection *c, cuzk_status status, const cuzk_err *err,
                                    unsigned extras) {
    unsigned code = status == CUZK_NOT_FOUND                              ? MHD_HTTP_NOT_FOUND
                    : cuzk_status_classify(status) == CUZK_CLASS_INPUT    ? MHD_HTTP_BAD_REQUEST
                    : cuzk_status_classify(status) == CUZK_CLASS_RESOURCE ? MHD_HTTP_SERVICE_UNAVAILABLE
                                                                          : MHD_HTTP_INTERNAL_SERVER_ERROR;
    return answer_text(c, code, err->message, extras);
}

static cuzk_status trace_text(char **text, size_t *n, zk_engine *engine, const char *job_id, cuzk_err *err) {
    *text = NULL;
    FILE *out = open_memstream(text, n);
    if (!out) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a trace");
    cuzk_status status = zk_engine_trace(engine, job_id, out, err);
    if (fclose(out) != 0 && status == CUZK_OK) status = ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for a trace");
    if (status != CUZK_OK) {
        free(*text);
        *text = NULL;
    }
    return status;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *c, const char *url, const char *method,
                              const char *version, const char *upload, size_t *n_upload, void **state) {
    (void)version, (void)upload;
    static int seen;
    zk_http *h = ctx;
    char *text = NULL;
    size_t n = 0;
    cuzk_err err = {0};
    if (!*state) { /* headers only; the answer comes when the request is complete */
        *state = &seen;
        return MHD_YES;
    }
    if (*n_upload) {
        *n_upload = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer_text(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is served\n", PLAIN);
    cuzk_status status = CUZK_OK;
    unsigned extras = PLAIN;
    const char *type = "application/json";
    if (strcmp(url, "/") == 0)
        return answer(c, MHD_HTTP_OK, "text/html; charset=utf-8", zk_rpc_page, zk_rpc_page_bytes, IS_STATIC);
    if (strcmp(url, "/health") == 0) return answer_text(c, MHD_HTTP_OK, "ok\n", PLAIN);
    if (strcmp(url, "/metrics") == 0) {
        type = "text/plain; version=0.0.4; charset=utf-8";
        status = zk_rpc_metrics_text(&text, &n, h->engine, h->server, &err);
    } else if (strcmp(url, "/status") == 0) {
        extras = ANY_ORIGIN;
        status = zk_rpc_status_json(&text, &n, h->engine, h->server, &err);
    } else if (strcmp(url, "/trace") == 0) {
        status = trace_text(&text, &n, h->engine, MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "job"), &err);
    } else {
        return answer_text(c, MHD_HTTP_NOT_FOUND, "here are /, /status, /metrics, /trace and /health\n", PLAIN);
    }
    if (status != CUZK_OK) return answer_error(c, status, &err, extras);
    return answer(c, MHD_HTTP_OK, type, text, n, extras);
}

static cuzk_status listen_on(int *fd, int *port, const char *address, cuzk_err *err) {
    zk_address a;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found = NULL;
    ZK_TRY(zk_address_parse(&a, address, err));
    if (a.is_unix) return ZK_FAIL(err, CUZK_BAD_INPUT, "status_listen: found %s, expected host:port", address);
    int failed = getaddrinfo(a.host, a.port, &hints, &found);
    if (failed) return ZK_FAIL(err, CUZK_BAD_INPUT, "status_listen: %s: %s", address, gai_strerror(failed));
    int s = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    bool good = s >= 0 && setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                bind(s, found->ai_addr, found->ai_addrlen) == 0 && listen(s, 64) == 0;
    struct sockaddr_storage bound;
    socklen_t n_bound = sizeof bound;
    good = good && getsockname(s, (struct sockaddr *)&bound, &n_bound) == 0;
    char service[NI_MAXSERV] = "0";
    if (good) getnameinfo((struct sockaddr *)&bound, n_bound, NULL, 0, service, sizeof service, NI_NUMERICSERV);
    int saved = errno;
    freeaddrinfo(found);
    if (!good) {
        if (s >= 0) close(s);
        return ZK_FAIL(err, CUZK_BAD_INPUT, "status_listen: %s: %s", address, strerror(saved));
    }
    *fd = s;
    *port = atoi(service);
    return CUZK_OK;
}

cuzk_status zk_http_create(zk_http **http, const char *address, zk_engine *engine, const zk_rpc_server *server,
                           cuzk_err *err) {
    *http = NULL;
    zk_http *h = zk_calloc(1, sizeof *h);
    if (!h) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "no memory for the status page");
    h->engine = engine;
    h->server = server;
    int fd = -1;
    cuzk_status status = listen_on(&fd, &h->port, address, err);
    if (status == CUZK_OK) {
        h->mhd = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, h, MHD_OPTION_LISTEN_SOCKET, fd,
                                  MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                                  (unsigned)IDLE_SECONDS, MHD_OPTION_END);
        if (!h->mhd) {
            close(fd);
            status = ZK_FAIL(err, CUZK_EXHAUSTED, "status_listen: %s: the server cannot be started", address);
        }
    }
    if (status != CUZK_OK) {
        free(h);
        return status;
    }
    ZK_LOG_INFO("serving the status page", zk_kv_str("address", address), zk_kv_u64("port", (uint64_t)h->port));
    *http = h;
    return CUZK_OK;
}

void zk_http_destroy(zk_http *h) {
    if (!h) return;
    MHD_stop_daemon(h->mhd);
    free(h);
}

int zk_http_port(const zk_http *h) { return h->port; }
