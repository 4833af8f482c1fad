/* Work done ahead: order, waiting, taking back, ending with work left. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "filecoin/ahead.h"
#include "zk_test.h"

typedef struct note {
    const char *name;
    char *log;
    unsigned wait_ms;
    atomic_bool begun, held; /* held: it goes on when that is over */
} note;

static void write_note(void *ctx) {
    note *n = ctx;
    atomic_store(&n->begun, true);
    while (atomic_load(&n->held)) usleep(1000);
    usleep(n->wait_ms * 1000);
    strcat(n->log, n->name);
}

static zk_ahead *make(void) {
    zk_ahead *ahead = NULL;
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_ahead_create(&ahead, &err), err);
    return ahead;
}

static void test_order(void) {
    char log[16] = "";
    note notes[] = {{"a", log, 20}, {"b", log, 0}, {"c", log, 0}};
    zk_ahead_task tasks[3];
    zk_ahead *ahead = make();
    for (size_t i = 0; i < 3; i++) {
        tasks[i] = (zk_ahead_task){.run = write_note, .ctx = &notes[i]};
        zk_ahead_start(ahead, &tasks[i]);
    }
    for (size_t i = 0; i < 3; i++) zk_ahead_wait(ahead, &tasks[i]);
    ZK_CHECK(strchr(log, 'a') && strchr(log, 'b') && strchr(log, 'c') && strlen(log) == 3);
    zk_ahead_wait(ahead, &tasks[0]); /* idle: returns */
    zk_ahead_start(ahead, &tasks[1]);
    zk_ahead_wait(ahead, &tasks[1]);
    ZK_CHECK(strlen(log) == 4 && log[3] == 'b');
    zk_ahead_destroy(ahead);
}

/* What has not begun is done by whoever waits for it, before the rest; or never, when it is taken back. */
static void test_not_begun(void) {
    char log[16] = "", own[16] = "";
    note slow = {"s", log, 50, .held = true}, soon = {"x", own, 0}, never = {"n", own, 0}, last = {"z", log, 0};
    zk_ahead_task tasks[] = {{.run = write_note, .ctx = &slow},
                             {.run = write_note, .ctx = &never},
                             {.run = write_note, .ctx = &soon},
                             {.run = write_note, .ctx = &last}};
    zk_ahead *ahead = make();
    for (size_t i = 0; i < 4; i++) zk_ahead_start(ahead, &tasks[i]);
    while (!atomic_load(&slow.begun)) usleep(1000);
    zk_ahead_cancel(ahead, &tasks[1]);
    zk_ahead_wait(ahead, &tasks[2]);
    ZK_CHECK(strcmp(own, "x") == 0 && !log[0]);
    atomic_store(&slow.held, false);
    zk_ahead_cancel(ahead, &tasks[0]); /* it runs: its end is waited for */
    zk_ahead_wait(ahead, &tasks[3]);
    ZK_CHECK(strcmp(log, "sz") == 0 && strcmp(own, "x") == 0);
    zk_ahead_destroy(ahead);
}

/* What has begun when the end comes is waited for; what has not is left, unless the machine lets the first one end
 * before that: each of some attempts gives it twice the time of the one before. */
static void test_end(void) {
    char log[16] = "l";
    for (unsigned ms = 100; strcmp(log, "s") != 0; ms *= 2) {
        ZK_CHECKF(ms < 60000, "%s", log);
        log[0] = 0;
        note slow = {"s", log, ms}, left = {"l", log, 0};
        zk_ahead_task a = {.run = write_note, .ctx = &slow}, b = {.run = write_note, .ctx = &left};
        zk_ahead *ahead = make();
        zk_ahead_start(ahead, &a);
        while (!atomic_load(&slow.begun)) usleep(1000);
        zk_ahead_start(ahead, &b);
        zk_ahead_destroy(ahead);
        ZK_CHECKF(log[0] == 's', "%s", log);
    }
    zk_ahead_destroy(NULL);
}

int main(int argc, char **argv) {
    static const zk_test_case cases[] = {ZK_CASE(test_order), ZK_CASE(test_not_begun), ZK_CASE(test_end)};
    return zk_test_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
