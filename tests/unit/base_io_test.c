/* Base64, hexadecimal, JSON output, files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/json_dom.h"
#include "base/json_writer.h"
#include "base/pool.h"
#include "zk_test.h"

/* ---- base64 and hex ---- */

/* Decodes in pieces of the given length; -1 on failure, else the number of bytes. */
static long decode(uint8_t *out, const char *text, size_t piece) {
    zk_base64 state = {0};
    cuzk_err err = {0};
    size_t n = strlen(text), n_out = 0;
    for (size_t at = 0; at < n; at += piece) {
        size_t k = n - at < piece ? n - at : piece, got = 0;
        uint8_t *room = malloc(zk_base64_max_bytes(k));
        cuzk_status status = zk_base64_decode(room, &got, &state, text + at, k, &err);
        memcpy(out + n_out, room, got);
        free(room);
        if (status != CUZK_OK) {
            ZK_CHECK(status == CUZK_BAD_INPUT && strstr(err.message, "base64: character "));
            return -1;
        }
        n_out += got;
    }
    return zk_base64_finish(&state, &err) == CUZK_OK ? (long)n_out : -1;
}

static void test_base64_vectors(void) {
    /* RFC 4648 section 10, and the last digits of the alphabet */
    static const struct {
        const char *plain, *text;
    } cases[] = {{"", ""},
                 {"f", "Zg=="},
                 {"fo", "Zm8="},
                 {"foo", "Zm9v"},
                 {"foob", "Zm9vYg=="},
                 {"fooba", "Zm9vYmE="},
                 {"foobar", "Zm9vYmFy"},
                 {"\xfb\xff\xbf", "+/+/"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[32];
        uint8_t out[32];
        size_t n = strlen(cases[i].plain);
        zk_base64_encode(text, (const uint8_t *)cases[i].plain, n);
        ZK_CHECKF(strcmp(text, cases[i].text) == 0, "%s", text);
        for (size_t piece = 1; piece < 10; piece++) {
            ZK_CHECK(decode(out, text, piece) == (long)n);
            ZK_CHECK_MEM(out, cases[i].plain, n);
        }
    }
}

static void test_base64_rejects(void) {
    static const char *const bad[] = {
        "Z",     "Zg",       "Zg=",  "Zm8",        "=",     "Z===",      "====",  "Zg===",  "Zm9v=",
        "Zm8==", "Zg==Zg==", "Zg=g", "Zm8=Z",      "Zh==",  "Zm9=",      "Zm 9v", "Zm9v\n", "Zm9v YmFy",
        "Zm-v",  "Zm_v",     "Zm9*", "Zm\xc3\xa9", "Zm9vZ", "Zm9vZg=\n", "Z=9v",  "A=B="};
    uint8_t out[64];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t piece = 1; piece < 10; piece++) ZK_CHECKF(decode(out, bad[i], piece) == -1, "%s", bad[i]);
    /* exactly the 64 digits are let in */
    unsigned n_good = 0;
    for (unsigned c = 1; c < 256; c++) {
        char text[5] = {'A', 'A', (char)c, 'A', 0};
        n_good += decode(out, text, 4) == 3;
    }
    ZK_CHECK(n_good == 64);
}

static void test_base64_round_trip(void) {
    uint8_t data[300], out[300];
    char text[404];
    uint64_t seed = 11;
    for (size_t n = 0; n <= 300; n++) {
        for (size_t i = 0; i < n; i++) data[i] = (uint8_t)zk_test_rand(&seed);
        zk_base64_encode(text, data, n);
        ZK_CHECK(strlen(text) == (n + 2) / 3 * 4);
        ZK_CHECK(decode(out, text, 1 + zk_test_rand(&seed) % 50) == (long)n);
        ZK_CHECK_MEM(out, data, n);
    }
}

static void test_hex(void) {
    uint8_t data[256], out[256];
    char text[513];
    for (int i = 0; i < 256; i++) data[i] = (uint8_t)i;
    zk_hex_encode(text, data, 256);
    ZK_CHECK(strlen(text) == 512 && memcmp(text, "000102", 6) == 0 && strcmp(text + 508, "feff") == 0);
    ZK_CHECK(zk_hex_decode(out, 256, text) && memcmp(out, data, 256) == 0);
    ZK_CHECK(zk_hex_decode(out, 2, "aBCd") && out[0] == 0xab && out[1] == 0xcd);
    ZK_CHECK(!zk_hex_decode(out, 2, "abc") && !zk_hex_decode(out, 1, "g0") && !zk_hex_decode(out, 1, "0g"));
    ZK_CHECK(!zk_hex_decode(out, 1, "") && !zk_hex_decode(out, 1, " 0") && zk_hex_decode(out, 0, ""));
}

/* ---- JSON output ---- */

static void write_sample(zk_json_writer *w) {
    zk_json_begin_object(w, NULL);
    zk_json_put_u64(w, "u", UINT64_MAX);
    zk_json_put_i64(w, "i", INT64_MIN);
    zk_json_put_double(w, "d", 0.1);
    zk_json_put_double(w, "nan", NAN);
    zk_json_put_bool(w, "t", true);
    zk_json_put_string(w, "s\"", "q\"b\\n\nt\tc\x01 \xc3\xa9\x7f");
    zk_json_put_string(w, "null", NULL);
    zk_json_put_text(w, "bad", "a\xff\xc3(\xed\xa0\x80", 7);
    zk_json_put_hex(w, "h", (const uint8_t *)"\x00\xab", 2);
    zk_json_begin_array(w, "a");
    zk_json_begin_array(w, NULL);
    zk_json_end(w);
    zk_json_begin_object(w, NULL);
    zk_json_end(w);
    zk_json_put_raw(w, NULL, "[1]", 3);
    zk_json_put_bool(w, NULL, false);
    zk_json_end(w);
    zk_json_end(w);
}

static void test_json_writer(void) {
    static const char wanted[] =
        "{\"u\":18446744073709551615,\"i\":-9223372036854775808,\"d\":0.1,\"nan\":null,\"t\":true,"
        "\"s\\\"\":\"q\\\"b\\\\n\\nt\\tc\\u0001 \xc3\xa9\\u007f\",\"null\":null,"
        "\"bad\":\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\",\"h\":\"00ab\",\"a\":[[],{},[1],"
        "false]}";
    cuzk_err err = {0};
    zk_json_writer *w = zk_json_writer_create(NULL, 0);
    write_sample(w);
    ZK_CHECK_OK(zk_json_writer_finish(w, &err), err);
    size_t n;
    const char *text = zk_json_writer_text(w, &n);
    ZK_CHECKF(strcmp(text, wanted) == 0 && n == sizeof wanted - 1, "%s", text);
    zk_json_doc *doc;
    ZK_CHECK_OK(zk_json_parse(&doc, text, n, 0, &err), err);
    ZK_CHECK(zk_json_count(zk_json_root(doc)) == 10);
    zk_json_doc_destroy(doc);
    zk_json_writer_destroy(w);
    /* indented, to a stream: the same document */
    char *stream_text = NULL;
    FILE *out = open_memstream(&stream_text, &n);
    w = zk_json_writer_create(out, 2);
    write_sample(w);
    ZK_CHECK_OK(zk_json_writer_finish(w, &err), err);
    zk_json_writer_destroy(w);
    fclose(out);
    ZK_CHECK(strstr(stream_text, "{\n  \"u\": 18446744073709551615,\n") && strstr(stream_text, "    [],\n    {},\n"));
    ZK_CHECK(n > 2 && strcmp(stream_text + n - 3, "\n}\n") == 0);
    ZK_CHECK_OK(zk_json_parse(&doc, stream_text, n, 0, &err), err);
    zk_json_doc_destroy(doc);
    free(stream_text);
}

static void test_json_writer_doubles(void) {
    static const double values[] = {0,       -0.0, 1,   -1, 0.1, 1e300, 5e-324, 1.7976931348623157e308, 123456789.123,
                                    1.0 / 3, 2e15, 1e22};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        cuzk_err err = {0};
        zk_json_writer *w = zk_json_writer_create(NULL, 0);
        zk_json_put_double(w, NULL, values[i]);
        ZK_CHECK_OK(zk_json_writer_finish(w, &err), err);
        zk_json_doc *doc;
        double back = 99;
        size_t n;
        const char *text = zk_json_writer_text(w, &n);
        ZK_CHECK_OK(zk_json_parse(&doc, text, n, 0, &err), err);
        ZK_CHECK_OK(zk_json_get_double(&back, zk_json_root(doc), "d", &err), err);
        ZK_CHECKF(back == values[i], "%s", text);
        zk_json_doc_destroy(doc);
        zk_json_writer_destroy(w);
    }
}

static void test_json_writer_misuse(void) {
    for (int which = 0; which < 6; which++) {
        cuzk_err err = {0};
        zk_json_writer *w = zk_json_writer_create(NULL, 0);
        if (which == 0) zk_json_put_u64(w, "key", 1);
        if (which == 1) zk_json_begin_object(w, NULL), zk_json_put_u64(w, NULL, 1), zk_json_end(w);
        if (which == 2) zk_json_begin_array(w, NULL), zk_json_put_u64(w, "k", 1), zk_json_end(w);
        if (which == 3) zk_json_put_u64(w, NULL, 1), zk_json_put_u64(w, NULL, 2);
        if (which == 4) zk_json_begin_array(w, NULL);
        if (which == 5) zk_json_end(w);
        ZK_CHECK(zk_json_writer_finish(w, &err) == CUZK_INTERNAL && err.message[0]);
        zk_json_writer_destroy(w);
    }
    cuzk_err err = {0};
    FILE *full = fopen("/dev/full", "w");
    ZK_CHECK(full != NULL);
    zk_json_writer *w = zk_json_writer_create(full, 0);
    write_sample(w);
    ZK_CHECK(zk_json_writer_finish(w, &err) == CUZK_IO);
    zk_json_writer_destroy(w);
    fclose(full);
    zk_err_reset(&err);
    zk_alloc_fail_nth(1);
    w = zk_json_writer_create(NULL, 0);
    ZK_CHECK(w == NULL);
    write_sample(w);
    ZK_CHECK(zk_json_writer_finish(w, &err) == CUZK_OUT_OF_MEMORY);
    zk_json_writer_destroy(w);
}

/* ---- files ---- */

static char folder[64];

static const char *in_folder(const char *name) {
    static char path[8][192];
    static int which;
    which = (which + 1) % 8;
    snprintf(path[which], sizeof path[which], "%s/%s", folder, name);
    return path[which];
}

static void make_folder(void) {
    strcpy(folder, "/tmp/zk-io-XXXXXX");
    ZK_CHECK(mkdtemp(folder));
}

static size_t count_entries(void) {
    DIR *dir = opendir(folder);
    ZK_CHECK(dir != NULL);
    size_t n = 0;
    for (struct dirent *e; (e = readdir(dir));) n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(dir);
    return n;
}

static void remove_folder(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    ZK_CHECK(system(command) == 0);
}

static void check_content(const char *path, const void *data, size_t n) {
    cuzk_err err = {0};
    uint8_t *got;
    size_t n_got;
    ZK_CHECK_OK(zk_file_read(&got, &n_got, path, n, &err), err);
    bool same = n_got == n && memcmp(got, data, n) == 0 && got[n] == 0;
    free(got);
    ZK_CHECK(same);
}

static void test_writer(void) {
    make_folder();
    size_t n = 5000000;
    uint8_t *data = malloc(n);
    uint64_t seed = 5;
    for (size_t i = 0; i < n; i++) data[i] = (uint8_t)zk_test_rand(&seed);
    cuzk_err err = {0};
    zk_file_writer *w;
    ZK_CHECK_OK(zk_file_writer_create(&w, in_folder("out"), &err), err);
    for (size_t at = 0; at < n;) {
        size_t k = zk_test_rand(&seed) % 100 == 0 ? 1500000 : zk_test_rand(&seed) % 40000;
        if (k > n - at) k = n - at;
        ZK_CHECK_OK(zk_file_writer_write(w, data + at, k, &err), err);
        at += k;
        ZK_CHECK(zk_file_writer_offset(w) == at);
    }
    ZK_CHECK(access(in_folder("out"), F_OK) != 0 && count_entries() == 1);
    ZK_CHECK_OK(zk_file_writer_commit(w, &err), err);
    ZK_CHECK(count_entries() == 1);
    check_content(in_folder("out"), data, n);
    struct stat st;
    ZK_CHECK(stat(in_folder("out"), &st) == 0 && (st.st_mode & 0400));
    /* overwriting keeps the old one until commit */
    ZK_CHECK_OK(zk_file_writer_create(&w, in_folder("out"), &err), err);
    ZK_CHECK_OK(zk_file_writer_write(w, "new", 3, &err), err);
    check_content(in_folder("out"), data, n);
    zk_file_writer_abort(w);
    check_content(in_folder("out"), data, n);
    ZK_CHECK(count_entries() == 1);
    ZK_CHECK_OK(zk_file_write(in_folder("out"), "new", 3, &err), err);
    check_content(in_folder("out"), "new", 3);
    ZK_CHECK_OK(zk_file_write(in_folder("out"), "", 0, &err), err);
    check_content(in_folder("out"), "", 0);
    free(data);
    remove_folder();
}

static void test_writer_links(void) {
    make_folder();
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_write(in_folder("target"), "old", 3, &err), err);
    ZK_CHECK(symlink("target", in_folder("link")) == 0);
    ZK_CHECK_OK(zk_file_write(in_folder("link"), "new", 3, &err), err);
    struct stat st;
    ZK_CHECK(lstat(in_folder("link"), &st) == 0 && S_ISLNK(st.st_mode));
    check_content(in_folder("target"), "new", 3);
    /* relative names */
    char old[4096];
    ZK_CHECK(getcwd(old, sizeof old) && chdir(folder) == 0);
    cuzk_status status = zk_file_write("plain", "x", 1, &err);
    ZK_CHECK(chdir(old) == 0);
    ZK_CHECK_OK(status, err);
    check_content(in_folder("plain"), "x", 1);
    ZK_CHECK(count_entries() == 3);
    remove_folder();
}

static void test_writer_devices(void) {
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_write("/dev/null", "x", 1, &err), err);
    struct stat st;
    ZK_CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
    ZK_CHECK(zk_file_write("/dev/full", "xyz", 3, &err) == CUZK_IO);
    ZK_CHECKF(strstr(err.message, "/dev/full") && strstr(err.message, "byte 0") &&
                  strstr(err.message, strerror(ENOSPC)),
              "%s", err.message);
    ZK_CHECK(stat("/dev/full", &st) == 0 && S_ISCHR(st.st_mode));
}

/* Disk full in the middle, at every place where it can show: in a large write, in a flush, at commit. */
static void test_writer_disk_full(void) {
    make_folder();
    cuzk_err err = {0};
    ZK_CHECK_OK(zk_file_write(in_folder("out"), "old", 3, &err), err);
    struct rlimit saved, limit;
    ZK_CHECK(getrlimit(RLIMIT_FSIZE, &saved) == 0);
    signal(SIGXFSZ, SIG_IGN);
    limit = saved;
    limit.rlim_cur = 3000000;
    uint8_t *data = calloc(1, 4000000);
    for (int which = 0; which < 3; which++) {
        ZK_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        zk_err_reset(&err);
        zk_file_writer *w;
        cuzk_status status = zk_file_writer_create(&w, in_folder("out"), &err);
        size_t piece = which == 0 ? 4000000 : which == 1 ? 100000 : 3000001;
        if (which == 2) {
            limit.rlim_cur = 500; /* the data waits in the buffer until commit */
            setrlimit(RLIMIT_FSIZE, &limit);
            piece = 1000;
        }
        for (size_t at = 0; status == CUZK_OK && at < (which == 2 ? 1000u : 6000000u); at += piece)
            status = zk_file_writer_write(w, data, piece, &err);
        cuzk_err again = {0};
        cuzk_status write_again = status == CUZK_OK ? CUZK_IO : zk_file_writer_write(w, data, 1, &again);
        cuzk_status commit = zk_file_writer_commit(w, &again);
        setrlimit(RLIMIT_FSIZE, &saved);
        ZK_CHECKF((status == CUZK_IO) == (which < 2), "%d", which);
        ZK_CHECK(write_again == CUZK_IO && commit == CUZK_IO);
        ZK_CHECKF(strstr(again.message, strerror(EFBIG)) &&
                      strstr(again.message, which == 2 ? "byte 500" : "byte 3000000") && strstr(again.message, "/out"),
                  "%s", again.message);
        ZK_CHECK(which == 2 || strcmp(err.message, again.message) == 0);
        ZK_CHECK(count_entries() == 1);
        check_content(in_folder("out"), "old", 3);
    }
    free(data);
    signal(SIGXFSZ, SIG_DFL);
    remove_folder();
}

static void test_writer_refusals(void) {
    make_folder();
    cuzk_err err = {0};
    ZK_CHECK(zk_file_write(in_folder("none/out"), "x", 1, &err) == CUZK_NOT_FOUND && strstr(err.message, "none/out"));
    zk_err_reset(&err);
    ZK_CHECK(zk_file_write(folder, "x", 1, &err) == CUZK_BAD_INPUT && strstr(err.message, "found a folder"));
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_write(in_folder("plain"), "x", 1, &err), err);
    ZK_CHECK(zk_file_write(in_folder("plain/out"), "x", 1, &err) == CUZK_BAD_INPUT);
    ZK_CHECK(count_entries() == 1);
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    char path[400];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_write(path, "x", 1, &err), err); /* the longest name there is */
    zk_file_writer_abort(NULL);
    remove_folder();
}

static void test_writer_allocation_failures(void) {
    make_folder();
    for (uint64_t nth = 1;; nth++) {
        cuzk_err err = {0};
        zk_alloc_fail_nth(nth);
        cuzk_status status = zk_file_write(in_folder("out"), "x", 1, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECK((status == CUZK_OUT_OF_MEMORY) == failed && count_entries() == !failed);
        if (!failed) break;
        ZK_CHECK(nth < 20);
    }
    remove_folder();
}

static void test_read(void) {
    make_folder();
    cuzk_err err = {0};
    uint8_t *data;
    size_t n;
    for (size_t size = 0; size < 20000; size = size * 3 + 1) {
        char *text = malloc(size + 1);
        memset(text, 'x', size + 1);
        zk_err_reset(&err);
        ZK_CHECK_OK(zk_file_write(in_folder("f"), text, size, &err), err);
        check_content(in_folder("f"), text, size);
        free(text);
        if (size) ZK_CHECK(zk_file_read(&data, &n, in_folder("f"), size - 1, &err) == CUZK_BAD_INPUT && data == NULL);
    }
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_read(&data, &n, "/proc/self/status", 1 << 20, &err), err); /* a file without a size */
    ZK_CHECK(n > 100 && strlen((char *)data) == n);
    free(data);
    ZK_CHECK(zk_file_read(&data, &n, "/proc/self/status", 100, &err) == CUZK_BAD_INPUT &&
             strstr(err.message, "more than 100 bytes"));
    zk_err_reset(&err);
    ZK_CHECK(zk_file_read(&data, &n, in_folder("none"), 10, &err) == CUZK_NOT_FOUND && strstr(err.message, "none"));
    ZK_CHECK(zk_file_read(&data, &n, folder, 10, NULL) == CUZK_BAD_INPUT);
    zk_file_reader *reader;
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_write(in_folder("f"), "0123456789", 10, &err), err);
    ZK_CHECK_OK(zk_file_reader_create(&reader, in_folder("f"), &err), err);
    char buffer[8];
    ZK_CHECK_OK(zk_file_reader_read(&n, reader, buffer, 7, &err), err);
    ZK_CHECK(n == 7 && zk_file_reader_offset(reader) == 7 && memcmp(buffer, "0123456", 7) == 0);
    ZK_CHECK_OK(zk_file_reader_read(&n, reader, buffer, 7, &err), err);
    ZK_CHECK(n == 3 && zk_file_reader_offset(reader) == 10 && memcmp(buffer, "789", 3) == 0);
    ZK_CHECK_OK(zk_file_reader_read(&n, reader, buffer, 7, &err), err);
    ZK_CHECK(n == 0);
    zk_file_reader_destroy(reader);
    zk_file_reader_destroy(NULL);
    remove_folder();
}

static void test_map(void) {
    make_folder();
    cuzk_err err = {0};
    zk_file_map map = {0};
    zk_file_map_close(&map);
    ZK_CHECK_OK(zk_file_write(in_folder("f"), "0123456789", 10, &err), err);
    ZK_CHECK_OK(zk_file_map_open(&map, in_folder("f"), 10, 10, &err), err);
    ZK_CHECK(map.n_bytes == 10 && memcmp(map.data, "0123456789", 10) == 0);
    ZK_CHECK_OK(zk_file_map_check(&map, &err), err);
    /* replaced by rename: the mapping still shows the old file */
    ZK_CHECK_OK(zk_file_write(in_folder("f"), "x", 1, &err), err);
    ZK_CHECK_OK(zk_file_map_check(&map, &err), err);
    ZK_CHECK(memcmp(map.data, "0123456789", 10) == 0);
    zk_file_map_close(&map);
    ZK_CHECK_OK(zk_file_write(in_folder("f"), "0123456789", 10, &err), err);
    ZK_CHECK_OK(zk_file_map_open(&map, in_folder("f"), 0, 100, &err), err);
    ZK_CHECK(truncate(in_folder("f"), 5) == 0);
    ZK_CHECK(zk_file_map_check(&map, &err) == CUZK_BAD_INPUT && strstr(err.message, "found 5 bytes, expected 10"));
    zk_err_reset(&err);
    ZK_CHECK(truncate(in_folder("f"), 10) == 0);
    struct timespec times[2] = {{1, 0}, {1, 0}};
    ZK_CHECK(utimensat(AT_FDCWD, in_folder("f"), times, 0) == 0);
    ZK_CHECK(zk_file_map_check(&map, &err) == CUZK_BAD_INPUT && strstr(err.message, "modification time"));
    zk_file_map_close(&map);
    zk_err_reset(&err);
    ZK_CHECK(zk_file_map_open(&map, in_folder("f"), 11, 100, &err) == CUZK_BAD_INPUT &&
             strstr(err.message, "found 10 bytes, expected 11"));
    zk_err_reset(&err);
    ZK_CHECK(zk_file_map_open(&map, in_folder("f"), 0, 9, &err) == CUZK_BAD_INPUT && map.data == NULL);
    ZK_CHECK(zk_file_map_open(&map, in_folder("none"), 0, 9, NULL) == CUZK_NOT_FOUND);
    ZK_CHECK(zk_file_map_open(&map, folder, 0, UINT64_MAX, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_file_map_open(&map, "/dev/null", 0, 9, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    ZK_CHECK(zk_file_map_open(&map, in_folder("pipe"), 0, 9, NULL) == CUZK_BAD_INPUT);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_write(in_folder("empty"), "", 0, &err), err);
    ZK_CHECK_OK(zk_file_map_open(&map, in_folder("empty"), 0, 9, &err), err);
    ZK_CHECK(map.n_bytes == 0 && map.data != NULL);
    zk_file_map_close(&map);
    remove_folder();
}

static void read_pages(void *ctx, size_t begin, size_t end, unsigned thread) {
    const zk_file_map *map = ctx;
    (void)thread;
    for (size_t i = begin; i < end; i++) ZK_CHECK(map->data[4096 * i] == (i ? 0 : 7));
}

/* A file that shrinks while it is read shows zeros from the page that is gone, and the check names it. */
static void test_map_shrinks(void) {
    make_folder();
    cuzk_err err = {0};
    zk_file_map map = {0};
    enum { N = 5 * 4096 + 100 };
    uint8_t *bytes = malloc(N);
    memset(bytes, 7, N);
    struct sigaction before;
    ZK_CHECK(sigaction(SIGBUS, NULL, &before) == 0);
    zk_file_map_guard();
    ZK_CHECK_OK(zk_file_write(in_folder("f"), bytes, N, &err), err);
    ZK_CHECK_OK(zk_file_map_open(&map, in_folder("f"), N, N, &err), err);
    ZK_CHECK(truncate(in_folder("f"), 4096) == 0);
    ZK_CHECK(map.data[4095] == 7 && map.data[3 * 4096 + 1] == 0 && map.data[N - 1] == 0 && map.data[4096] == 0);
    ZK_CHECK(zk_file_map_check(&map, &err) == CUZK_BAD_INPUT &&
             strstr(err.message, "found 4096 bytes, expected 20580"));
    zk_file_map_close(&map);
    /* the same where the threads of a pool read */
    zk_pool *pool = NULL;
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_pool_create(&pool, 4, &err), err);
    for (unsigned round = 0; round < 20; round++) {
        ZK_CHECK_OK(zk_file_write(in_folder("f"), bytes, N, &err), err);
        ZK_CHECK_OK(zk_file_map_open(&map, in_folder("f"), N, N, &err), err);
        ZK_CHECK(truncate(in_folder("f"), 4096) == 0);
        zk_pool_for(pool, N / 4096, 1, read_pages, &map);
        zk_file_map_close(&map);
    }
    zk_pool_destroy(pool);
    sigaction(SIGBUS, &before, NULL);
    free(bytes);
    remove_folder();
}

static void test_check_writable(void) {
    make_folder();
    ZK_CHECK(zk_file_check_writable(in_folder("f"), NULL) == CUZK_OK && access(in_folder("f"), F_OK) != 0);
    ZK_CHECK(zk_file_check_writable("/dev/null", NULL) == CUZK_OK);
    ZK_CHECK(zk_file_check_writable(folder, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_file_check_writable("", NULL) != CUZK_OK);
    ZK_CHECK(zk_file_check_writable(in_folder("none/f"), NULL) == CUZK_NOT_FOUND);
    ZK_CHECK(zk_file_write(in_folder("f"), "x", 1, NULL) == CUZK_OK);
    ZK_CHECK(zk_file_check_writable(in_folder("f"), NULL) == CUZK_OK);
    ZK_CHECK(zk_file_check_writable(in_folder("f/g"), NULL) == CUZK_BAD_INPUT);
    char name[400];
    snprintf(name, sizeof name, "%s/%0300d", folder, 0);
    ZK_CHECK(zk_file_check_writable(name, NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    ZK_CHECK(zk_file_check_writable(in_folder("pipe"), NULL) == CUZK_OK); /* and does not wait for a reader */
    remove_folder();
}

/* What is no regular file is refused by its name and kind, and nobody waits for the other end of a pipe. */
static void test_kinds(void) {
    make_folder();
    cuzk_err err = {0};
    ZK_CHECK(mkfifo(in_folder("pipe"), 0600) == 0);
    ZK_CHECK(symlink(in_folder("pipe"), in_folder("link")) == 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", in_folder("socket"));
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    ZK_CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0);
    int ends[2];
    char nameless[64];
    ZK_CHECK(pipe(ends) == 0 && write(ends[1], "abc", 3) == 3 && close(ends[1]) == 0);
    snprintf(nameless, sizeof nameless, "/proc/self/fd/%d", ends[0]);
    const char *const table[][2] = {{in_folder("pipe"), "a pipe"}, {in_folder("link"), "a pipe"},
                                    {folder, "a folder"},          {in_folder("socket"), "a socket"},
                                    {"/dev/zero", "a device"},     {nameless, "a pipe"}};
    enum { N = sizeof table / sizeof table[0] };
    alarm(600); /* for a wait */
    for (size_t i = 0; i < N; i++)
        for (int way = 0; way < 6; way++) {
            const char *path = table[i][0];
            uint8_t *data = NULL;
            size_t n = 0;
            int fd = -1;
            zk_file_map map = {0};
            zk_file_reader *reader = NULL;
            cuzk_status status = CUZK_OK;
            if (i == N - 1 && way >= 4) continue; /* see below */
            zk_err_reset(&err);
            if (way == 0) status = zk_file_read(&data, &n, path, 100, &err);
            if (way == 1) status = zk_file_map_open(&map, path, 0, 100, &err);
            if (way == 2) status = zk_file_open(&fd, path, i % 2 ? O_RDWR | O_CREAT : O_RDONLY, 0600, &err);
            if (way == 3) status = zk_file_check_regular(path, &err);
            if (way == 4) status = zk_file_read_input(&data, &n, path, 100, &err);
            if (way == 5) status = zk_file_reader_create(&reader, path, &err);
            ZK_CHECKF(status == CUZK_BAD_INPUT && !data && fd == -1 && !map.data && !reader, "%s, %d", path, way);
            ZK_CHECKF(strstr(err.message, path) && strstr(err.message, table[i][1]) &&
                          strstr(err.message, "expected a regular file"),
                      "%s, %d: %s", path, way, err.message);
        }
    /* what a shell hands over is read to its end */
    uint8_t *data = NULL;
    size_t n = 0;
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_read_input(&data, &n, nameless, 100, &err), err);
    ZK_CHECK(n == 3 && memcmp(data, "abc", 3) == 0);
    free(data);
    alarm(0);
    /* regular ones, and those that are not there */
    int fd;
    char c;
    ZK_CHECK(zk_file_check_regular(in_folder("none"), &err) == CUZK_OK);
    ZK_CHECK(zk_file_open(&fd, in_folder("none"), O_RDONLY, 0, NULL) == CUZK_NOT_FOUND && fd == -1);
    ZK_CHECK_OK(zk_file_open(&fd, in_folder("made"), O_RDWR | O_CREAT, 0600, &err), err);
    ZK_CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC && write(fd, "x", 1) == 1 && pread(fd, &c, 1, 0) == 1 && c == 'x');
    close(fd);
    ZK_CHECK(symlink(in_folder("made"), in_folder("link2")) == 0);
    ZK_CHECK(zk_file_check_regular(in_folder("link2"), &err) == CUZK_OK);
    ZK_CHECK_OK(zk_file_read(&data, &n, in_folder("link2"), 1, &err), err);
    free(data);
    close(listener);
    close(ends[0]);
    remove_folder();
}

static void request_cancel(int signal_number) {
    (void)signal_number;
    zk_cancel_request(NULL);
}

/* Who waits for what comes through a pipe can be asked to stop. */
static void test_read_interrupted(void) {
    cuzk_err err = {0};
    uint8_t *data = NULL;
    size_t n = 0;
    struct sigaction action = {.sa_handler = request_cancel}, before;
    struct itimerval soon = {.it_interval = {0, 20000}, .it_value = {0, 20000}}, never = {0};
    int ends[2];
    char path[64];
    ZK_CHECK(pipe(ends) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    ZK_CHECK(sigaction(SIGALRM, &action, &before) == 0);
    ZK_CHECK(setitimer(ITIMER_REAL, &soon, NULL) == 0);
    ZK_CHECK(zk_file_read_input(&data, &n, path, 100, &err) == CUZK_CANCELLED && !data);
    setitimer(ITIMER_REAL, &never, NULL);
    zk_cancel_clear(NULL);
    close(ends[0]);
    close(ends[1]);
    sigaction(SIGALRM, &before, NULL);
}

static void test_folder_create(void) {
    make_folder();
    cuzk_err err = {0};
    struct stat st;
    ZK_CHECK_OK(zk_folder_create(in_folder("a/b//c/"), &err), err);
    ZK_CHECK(stat(in_folder("a/b/c"), &st) == 0 && S_ISDIR(st.st_mode));
    ZK_CHECK_OK(zk_folder_create(in_folder("a/b/c"), &err), err);
    ZK_CHECK_OK(zk_folder_create("/", &err), err);
    ZK_CHECK_OK(zk_file_write(in_folder("a/f"), "x", 1, &err), err);
    ZK_CHECK(zk_folder_create(in_folder("a/f"), &err) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_folder_create(in_folder("a/f/g"), NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_folder_create("", NULL) == CUZK_NOT_FOUND);
    remove_folder();
}

ZK_TEST_MAIN(ZK_CASE(test_base64_vectors), ZK_CASE(test_base64_rejects), ZK_CASE(test_base64_round_trip),
             ZK_CASE(test_hex), ZK_CASE(test_json_writer), ZK_CASE(test_json_writer_doubles),
             ZK_CASE(test_json_writer_misuse), ZK_CASE(test_writer), ZK_CASE(test_writer_links),
             ZK_CASE(test_writer_devices), ZK_CASE(test_writer_disk_full), ZK_CASE(test_writer_refusals),
             ZK_CASE(test_writer_allocation_failures), ZK_CASE(test_read), ZK_CASE(test_map), ZK_CASE(test_map_shrinks),
             ZK_CASE(test_check_writable), ZK_CASE(test_kinds), ZK_CASE(test_read_interrupted),
             ZK_CASE(test_folder_create))
