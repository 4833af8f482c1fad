#include "base/rand.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

cuzk_status zk_rand_bytes(uint8_t *out, size_t n, cuzk_err *err) {
    size_t done = 0;
    while (done < n) {
        /* Up to 256 bytes come whole or not at all; more may be cut short by a signal. */
        ssize_t got = getrandom(out + done, n - done, 0);
        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            char text[128];
            int code = got == 0 ? EIO : errno;
            zk_wipe(out, n);
            return ZK_FAIL(err, CUZK_IO, "random numbers: the kernel gave %zu of %zu bytes: %s", done, n,
                           strerror_r(code, text, sizeof text));
        }
    }
    return CUZK_OK;
}

void zk_wipe(void *data, size_t n) {
    if (n == 0) return;
    memset(data, 0, n);
    /* The memory is an input of this empty instruction, so the stores before it count as used. */
    __asm__ volatile("" : : "r"(data) : "memory");
}
