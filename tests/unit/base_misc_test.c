/* Status codes, log lines, random bytes, cancel flags, UTF-8, waits with a limit. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/pool.h"
#include "base/rand.h"
#include "base/status.h"
#include "base/utf8.h"
#include "zk_test.h"

static void test_status(void) {
    ZK_CHECK(strcmp(cuzk_status_name(CUZK_BAD_INPUT), "BAD_INPUT") == 0 && cuzk_status_exit_code(CUZK_BAD_INPUT) == 3);
    ZK_CHECK(cuzk_status_exit_code(CUZK_OK) == 0 && cuzk_status_exit_code(CUZK_BAD_PROOF) == 1);
    ZK_CHECK(cuzk_status_exit_code(CUZK_USAGE) == 2 && cuzk_status_exit_code(CUZK_IO) == 4);
    ZK_CHECK(cuzk_status_exit_code(CUZK_CANCELLED) == 130 &&
             cuzk_status_classify(CUZK_CANCELLED) == CUZK_CLASS_CANCELLED);
    ZK_CHECK(cuzk_status_classify((cuzk_status)999) == CUZK_CLASS_INTERNAL);
    cuzk_err err = {0};
    ZK_CHECK(ZK_FAIL(&err, CUZK_IO, "first %d", 1) == CUZK_IO && ZK_FAIL(&err, CUZK_USAGE, "second") == CUZK_USAGE);
    ZK_CHECK(err.status == CUZK_IO && strcmp(err.message, "first 1") == 0 && err.line > 0);
    zk_err_prefix(&err, "file %s", "x");
    ZK_CHECK(strcmp(err.message, "file x: first 1") == 0);
    char longest[600];
    memset(longest, 'a', sizeof longest);
    longest[599] = 0;
    zk_err_prefix(&err, "%.400s", longest);
    zk_err_prefix(&err, "%.300s", longest);
    ZK_CHECK(strlen(err.message) == sizeof err.message - 1 && strncmp(err.message + 300, ": aaa", 5) == 0);
    zk_err_prefix(&err, "%s", longest); /* does not fit at all: the message stays */
    ZK_CHECK(strncmp(err.message + 300, ": aaa", 5) == 0);
    zk_err_reset(&err);
    zk_err_prefix(&err, "nothing");
    ZK_CHECK(err.status == CUZK_OK && err.message[0] == 0);
    ZK_FAIL(NULL, CUZK_IO, "nobody listens");
    zk_err_prefix(NULL, "x");
}

/* ---- log ---- */

static int log_file;

static void log_begin(zk_log_level level) {
    log_file = memfd_create("log", 0);
    ZK_CHECK(log_file >= 0);
    zk_log_set_fd(log_file);
    zk_log_set_level(level);
}

/* What was logged; static buffer. */
static const char *log_end(void) {
    static char text[100000];
    zk_log_set_fd(2);
    zk_log_set_level(ZK_LOG_WARN);
    ssize_t n = pread(log_file, text, sizeof text - 1, 0);
    close(log_file);
    text[n > 0 ? n : 0] = 0;
    return text;
}

static void test_log_lines(void) {
    log_begin(ZK_LOG_INFO);
    ZK_LOG_INFO("keys loaded", zk_kv_str("file", "a.params"), zk_kv_u64("bytes", 12), zk_kv_i64("delta", -3),
                zk_kv_double("s", 0.25), zk_kv_bool("ok", true), zk_kv_hex("id", (const uint8_t *)"\x01\xfe", 2));
    const char *text = log_end();
    ZK_CHECKF(strncmp(text, "level=info ts=20", 16) == 0, "%s", text);
    ZK_CHECKF(strstr(text, "Z msg=\"keys loaded\" file=a.params bytes=12 delta=-3 s=0.25 ok=true id=01fe\n"), "%s",
              text);
    log_begin(ZK_LOG_DEBUG);
    ZK_LOG_DEBUG("plain");
    ZK_LOG_ERROR("q", zk_kv_str("bad key=\"", "a b"), zk_kv_str("empty", ""), zk_kv_str("null", NULL),
                 zk_kv_str("esc", "\"\\\n\t\x01\x7f"), zk_kv_str("eq", "a=b"), zk_kv_str("utf8", "\xc3\xa9"));
    text = log_end();
    ZK_CHECKF(strstr(text, " msg=plain\nlevel=error ts="), "%s", text);
    ZK_CHECKF(strstr(text, "msg=q bad_key__=\"a b\" empty=\"\" null=\"\" esc=\"\\\"\\\\\\n\\t\\x01\\x7f\" eq=\"a=b\" "
                           "utf8=\"\xc3\xa9\"\n"),
              "%s", text);
}

static int n_evaluated;
static const char *evaluate(void) {
    n_evaluated++;
    return "value";
}

static void test_log_levels(void) {
    log_begin(ZK_LOG_WARN);
    n_evaluated = 0;
    ZK_LOG_INFO("no", zk_kv_str("k", evaluate()));
    ZK_CHECK(n_evaluated == 0);
    ZK_LOG_WARN("yes", zk_kv_str("k", evaluate()));
    ZK_CHECK(n_evaluated == 1);
    zk_log_set_level(ZK_LOG_OFF);
    ZK_LOG_ERROR("no");
    const char *text = log_end();
    ZK_CHECK(strstr(text, "msg=yes k=value\n") && !strstr(text, "no"));
    zk_log_level level = ZK_LOG_OFF;
    ZK_CHECK(zk_log_level_parse(&level, "debug") && level == ZK_LOG_DEBUG && !zk_log_level_parse(&level, "loud"));
}

static void test_log_context(void) {
    zk_log_context job = {0};
    zk_log_context_add(&job, zk_kv_u64("job", 7));
    zk_log_context_add(&job, zk_kv_str("stage", "msm h"));
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[599] = 0;
    zk_log_context_add(&job, zk_kv_str("dropped", longest));
    zk_log_context_add(&job, zk_kv_str("dev", "0"));
    log_begin(ZK_LOG_INFO);
    ZK_CHECK(zk_log_context_use(&job) == NULL);
    ZK_LOG_INFO("in", zk_kv_u64("n", 1));
    ZK_CHECK(zk_log_context_use(NULL) == &job);
    ZK_LOG_INFO("out");
    const char *text = log_end();
    ZK_CHECKF(strstr(text, "msg=in job=7 stage=\"msm h\" dev=0 n=1\n") && strstr(text, "msg=out\n"), "%s", text);
}

static void test_log_json(void) {
    zk_log_context job = {0};
    zk_log_context_add(&job, zk_kv_str("job", "a-7"));
    log_begin(ZK_LOG_INFO);
    zk_log_set_format(ZK_LOG_FORMAT_JSON);
    zk_log_context_use(&job);
    ZK_LOG_INFO("keys \"loaded\"", zk_kv_u64("n", 12), zk_kv_i64("d", -3), zk_kv_double("s", 0.25),
                zk_kv_bool("ok", true), zk_kv_str("esc", "\"\\\n\t\x01 \xff"), zk_kv_str("id", "007"),
                zk_kv_str("empty", ""), zk_kv_double("e", 1e30));
    zk_log_context_use(NULL);
    char longest[9000];
    memset(longest, '\x01', sizeof longest - 1);
    longest[8999] = 0;
    ZK_LOG_INFO("long", zk_kv_u64("n", 1), zk_kv_str("cut", longest));
    zk_log_set_format(ZK_LOG_FORMAT_LOGFMT);
    const char *text = log_end();
    ZK_CHECKF(strncmp(text, "{\"level\":\"info\",\"ts\":\"20", 24) == 0, "%s", text);
    ZK_CHECKF(strstr(text,
                     "\"msg\":\"keys \\\"loaded\\\"\",\"job\":\"a-7\",\"n\":12,\"d\":-3,\"s\":0.25,\"ok\":true,"
                     "\"esc\":\"\\\"\\\\\\n\\t\\u0001 \xef\xbf\xbd\",\"id\":\"007\",\"empty\":\"\",\"e\":1e+30}\n"),
              "%s", text);
    ZK_CHECKF(strstr(text, "\"msg\":\"long\",\"n\":1}\n"), "%s", text);
}

static void test_log_long(void) {
    char longest[9000];
    memset(longest, 'y', sizeof longest - 1);
    longest[8999] = 0;
    log_begin(ZK_LOG_INFO);
    ZK_LOG_INFO("before", zk_kv_u64("kept", 1), zk_kv_str("long", longest));
    ZK_LOG_INFO(longest, zk_kv_u64("n", 1));
    ZK_LOG_INFO("after");
    const char *text = log_end();
    ZK_CHECK(strstr(text, "msg=before kept=1 ...\n") && strstr(text, "yyyy ...\n") && strstr(text, "msg=after\n"));
}

static void *log_thread(void *arg) {
    for (int i = 0; i < 200; i++)
        ZK_LOG_INFO("thread", zk_kv_u64("id", (uint64_t)(uintptr_t)arg), zk_kv_u64("i", (uint64_t)i));
    return NULL;
}

static void test_log_threads(void) {
    log_begin(ZK_LOG_INFO);
    pthread_t threads[4];
    for (uintptr_t i = 0; i < 4; i++) ZK_CHECK(pthread_create(&threads[i], NULL, log_thread, (void *)i) == 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    const char *text = log_end();
    int n = 0, next[4] = {0};
    for (const char *p = text; *p; p = strchr(p, '\n') + 1, n++) {
        unsigned id, i;
        ZK_CHECK(sscanf(p, "level=info ts=%*s msg=thread id=%u i=%u\n", &id, &i) == 2 && id < 4 &&
                 (int)i == next[id]++);
    }
    ZK_CHECK(n == 800);
}

/* ---- the small ones ---- */

static void test_rand(void) {
    uint8_t a[3000] = {0}, b[3000] = {0};
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_rand_bytes(a, sizeof a, &err), err);
    ZK_CHECK_OK(zk_rand_bytes(b, sizeof b, &err), err);
    ZK_CHECK_OK(zk_rand_bytes(NULL, 0, &err), err);
    int counts[256] = {0}, equal = 0;
    for (size_t i = 0; i < sizeof a; i++) counts[a[i]]++, equal += a[i] == b[i];
    /* 3000 uniform bytes: each value about 12 times, about 12 equal places; the bounds fail once in 10^9 runs */
    for (int i = 0; i < 256; i++) ZK_CHECK(counts[i] < 60);
    ZK_CHECK(equal < 60);
    zk_wipe(a + 1, sizeof a - 2);
    for (size_t i = 1; i < sizeof a - 1; i++) ZK_CHECK(a[i] == 0);
    a[0] = a[sizeof a - 1] = 9;
    zk_wipe(a, 0);
    ZK_CHECK(a[0] == 9);
    zk_wipe(NULL, 0);
}

static void on_signal(int number) {
    (void)number;
    zk_cancel_request(NULL);
}

static void test_cancel(void) {
    zk_cancel one = {0}, two = {0};
    cuzk_err err = {0};
    ZK_CHECK(!zk_cancel_requested(NULL) && !zk_cancel_requested(&one));
    ZK_CHECK_OK(zk_cancel_check(&one, "msm", &err), err);
    zk_cancel_request(&one);
    ZK_CHECK(zk_cancel_requested(&one) && !zk_cancel_requested(&two) && !zk_cancel_requested(NULL));
    ZK_CHECK(zk_cancel_check(&one, "msm", &err) == CUZK_CANCELLED && strcmp(err.message, "cancelled during msm") == 0);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    ZK_CHECK(zk_cancel_requested(&two) && zk_cancel_requested(NULL));
    zk_cancel_clear(NULL);
    signal(SIGUSR1, SIG_DFL);
    ZK_CHECK(!zk_cancel_requested(&two) && zk_cancel_requested(&one));
    zk_cancel_clear(&one);
    ZK_CHECK(!zk_cancel_requested(&one));
}

/* ---- UTF-8 ---- */

/* By the definition: the bits of the bytes make a number, which must have needed that many, and be a character's. */
static size_t utf8_by_definition(const uint8_t *p, size_t n) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned n_ones = 0;
    while (n_ones < 8 && *p >> (7 - n_ones) & 1) n_ones++;
    size_t length = n_ones ? n_ones : 1;
    if (n_ones == 1 || n_ones > 4 || length > n) return 0;
    uint32_t code = n_ones ? *p & (0x7fu >> n_ones) : *p;
    for (size_t i = 1; i < length; i++) {
        if (p[i] >> 6 != 2) return 0;
        code = code << 6 | (p[i] & 0x3f);
    }
    bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < least[length] || code > 0x10ffff || surrogate ? 0 : length;
}

static void test_utf8_length(void) {
    size_t n_good[5] = {0};
    for (uint32_t three = 0; three < 1u << 24; three++) { /* every three bytes, behind them the edges of a fourth */
        static const uint8_t fourths[] = {0x7f, 0x80, 0xbf, 0xc0};
        uint8_t p[4] = {(uint8_t)(three >> 16), (uint8_t)(three >> 8), (uint8_t)three, fourths[three % 4]};
        size_t length = zk_utf8_length(p, 4);
        if (length != utf8_by_definition(p, 4)) ZK_FAIL_CASE("%02x %02x %02x %02x", p[0], p[1], p[2], p[3]);
        n_good[length]++;
    }
    for (int i = 0; i < 5; i++) ZK_CHECK(n_good[i] > 0);
    const uint8_t *clef = (const uint8_t *)"\xf0\x9d\x84\x9e";
    for (size_t n = 0; n < 4; n++) ZK_CHECK(zk_utf8_length(clef, n) == 0); /* cut off */
    ZK_CHECK(zk_utf8_length(clef, 4) == 4 && zk_utf8_length(clef, 5) == 4);
}

static void test_utf8_valid_bytes(void) {
    ZK_CHECK(zk_utf8_valid_bytes("", 0) == 0 && zk_utf8_valid_bytes("abc", 3) == 3);
    ZK_CHECK(zk_utf8_valid_bytes("a\xc3\xa9", 3) == 3 && zk_utf8_valid_bytes("a\xc3\xa9", 2) == 1);
    ZK_CHECK(zk_utf8_valid_bytes("a\xff"
                                 "b",
                                 3) == 1 &&
             zk_utf8_valid_bytes("\xa9", 1) == 0);
}

/* ---- waits with a limit ---- */

typedef struct waiting {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool told;
} waiting;

static void *tell(void *ctx) {
    waiting *w = ctx;
    pthread_mutex_lock(&w->mutex);
    w->told = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void test_cond_wait_until(void) {
    waiting w = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    zk_cond_init(&w.cond);
    pthread_mutex_lock(&w.mutex);
    uint64_t until = zk_now_ns() + 20 * ZK_MS_NS;
    unsigned n_early = 0; /* by another clock the time would be over at once, again and again */
    while (zk_cond_wait_until(&w.cond, &w.mutex, until)) n_early++;
    ZK_CHECKF(zk_now_ns() >= until && n_early < 100, "%u returns before the time", n_early);
    ZK_CHECK(!zk_cond_wait_until(&w.cond, &w.mutex, 0)); /* long ago */
    ZK_CHECK(pthread_create(&thread, NULL, tell, &w) == 0);
    until = zk_now_ns() + 600 * ZK_SECOND_NS;
    bool in_time = true;
    while (!w.told && in_time) in_time = zk_cond_wait_until(&w.cond, &w.mutex, until);
    pthread_mutex_unlock(&w.mutex);
    pthread_join(thread, NULL);
    pthread_cond_destroy(&w.cond);
    ZK_CHECK(w.told && in_time);
}

ZK_TEST_MAIN(ZK_CASE(test_status), ZK_CASE(test_log_lines), ZK_CASE(test_log_levels), ZK_CASE(test_log_context),
             ZK_CASE(test_log_json), ZK_CASE(test_log_long), ZK_CASE(test_log_threads), ZK_CASE(test_rand),
             ZK_CASE(test_cancel), ZK_CASE(test_utf8_length), ZK_CASE(test_utf8_valid_bytes),
             ZK_CASE(test_cond_wait_until))
