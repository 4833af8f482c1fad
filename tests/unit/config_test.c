/* Settings: TOML, table of keys, sources and their order, messages. */
#include <limits.h>
#include <unistd.h>

#include "config/address.h"
#include "config/config.h"
#include "config/toml.h"
#include "base/alloc.h"
#include "zk_test.h"

static zk_toml *parse(const char *text) {
    cuzk_err err = {0};
    zk_toml *doc = NULL;
    ZK_CHECK_OK(zk_toml_parse(&doc, text, strlen(text), "t", &err), err);
    return doc;
}

static const zk_toml_value *value_at(const zk_toml *doc, const char *path) {
    for (size_t i = 0; i < zk_toml_count(doc); i++)
        if (strcmp(zk_toml_at(doc, i)->path, path) == 0) return &zk_toml_at(doc, i)->value;
    ZK_FAIL_CASE("no value at %s", path);
}

static void test_toml_values(void) {
    zk_toml *doc = parse("# comment\r\n"
                         "a = 1 # one\r\n"
                         "hex = 0xdead_BEEF\noct = 0o755\nbin = 0b101\nneg = -17\nbig = 9_223_372_036_854_775_807\n"
                         "f = 6.5e-3\ninf = -inf\nyes = true\nno = false\n"
                         "s = \"tab\\t quote\\\" \\u00e9 \\U0001F600\"\n"
                         "lit = 'C:\\dir'\n"
                         "multi = \"\"\"\nfirst\\\n    joined\nlast \"\"quoted\"\"\"\"\"\n"
                         "raw = '''\nno \\escape'''\n"
                         "list = [1, 2, # comment\n  3,\n]\n"
                         "nested = [[1], [\"a\", \"b\"], []]\n"
                         "dotted.key.\"odd name\" = 4\n"
                         "inline = { x = 1, y.z = \"w\" }\n"
                         "[table.sub]\nk = 5\n"
                         "[table]\nk = 6\n"
                         "[[array]]\nk = 7\n[[array]]\nk = 8\n[array.under]\nk = 9\n");
    ZK_CHECK(value_at(doc, "a")->i64 == 1 && value_at(doc, "a")->kind == ZK_TOML_INTEGER);
    ZK_CHECK(value_at(doc, "hex")->i64 == 0xdeadbeef && value_at(doc, "oct")->i64 == 0755);
    ZK_CHECK(value_at(doc, "bin")->i64 == 5 && value_at(doc, "neg")->i64 == -17);
    ZK_CHECK(value_at(doc, "big")->i64 == INT64_MAX);
    ZK_CHECK(value_at(doc, "f")->f64 == 6.5e-3 && value_at(doc, "inf")->f64 < -1e300);
    ZK_CHECK(value_at(doc, "yes")->b && !value_at(doc, "no")->b);
    ZK_CHECK(strcmp(value_at(doc, "s")->text, "tab\t quote\" \xc3\xa9 \xf0\x9f\x98\x80") == 0);
    ZK_CHECK(strcmp(value_at(doc, "lit")->text, "C:\\dir") == 0);
    ZK_CHECK(strcmp(value_at(doc, "multi")->text, "firstjoined\nlast \"\"quoted\"\"") == 0);
    ZK_CHECK(strcmp(value_at(doc, "raw")->text, "no \\escape") == 0);
    ZK_CHECK(value_at(doc, "list")->n == 3 && value_at(doc, "list")->items[2].i64 == 3);
    ZK_CHECK(value_at(doc, "list")->items[2].line == value_at(doc, "list")->line + 1);
    ZK_CHECK(value_at(doc, "nested")->n == 3 && strcmp(value_at(doc, "nested")->items[1].items[1].text, "b") == 0);
    ZK_CHECK(value_at(doc, "dotted.key.\"odd name\"")->i64 == 4);
    ZK_CHECK(value_at(doc, "inline.x")->i64 == 1 && strcmp(value_at(doc, "inline.y.z")->text, "w") == 0);
    ZK_CHECK(value_at(doc, "table.sub.k")->i64 == 5 && value_at(doc, "table.k")->i64 == 6);
    ZK_CHECK(value_at(doc, "array[0].k")->i64 == 7 && value_at(doc, "array[1].k")->i64 == 8);
    ZK_CHECK(value_at(doc, "array[1].under.k")->i64 == 9);
    zk_toml_destroy(doc);
    doc = parse("");
    ZK_CHECK(zk_toml_count(doc) == 0);
    zk_toml_destroy(doc);
    doc = parse("\xef\xbb\xbf");
    ZK_CHECK(zk_toml_count(doc) == 0);
    zk_toml_destroy(doc);
    doc = parse("\xef\xbb\xbf[table]\nk = 1\n");
    ZK_CHECK(zk_toml_count(doc) == 1 && value_at(doc, "table.k")->i64 == 1 && value_at(doc, "table.k")->line == 2);
    zk_toml_destroy(doc);
}

static void test_toml_refused(void) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a = 1\na = 2\n", "t:2: \"a\" is set a second time (before in line 1)"},
        {"a\n", "t:1: found the end of the line after the key \"a\", expected '='"},
        {"a = \n", "t:1: found the end of the line, expected a value"},
        {"a = text\n", "t:1: found \"text\", expected a value (text needs quotes)"},
        {"a = 01\n", "t:1: found \"01\": a number does not start with 0"},
        {"a = 1__0\n", "t:1: found \"1__0\": an underscore stands between digits"},
        {"a = 9223372036854775808\n", "does not fit 64 bits"},
        {"a = 2024-01-01\n", "dates and times have no use here"},
        {"a = 1 b = 2\n", "t:1: found 'b' after a value, expected the end of the line"},
        {"a = \"x\n", "t:1: found the end of the line in a string"},
        {"a = \"\\q\"\n", "unknown escape \\q"},
        {"a = \"\\ud800\"\n", "found escape U+D800"},
        {"a = [1, 2\n", "t:2: found the end of the file in an array"},
        {"a = [1 2]\n", "t:1: found '2' in an array"},
        {"[t]\n[t]\n", "t:2: the table [t] is defined a second time"},
        {"[t\n", "found the end of the line in a table's name"},
        {"a = 1\n[a]\n", "\"a\" already has a value in line 1, it cannot be a table"},
        {"a = 1\na.b = 2\n", "\"a\" already has a value in line 1"},
        {"a = {b = 1}\na.c = 2\n", "\"a\" is an inline table"},
        {"a = {b = 1,}\n", "found ',' before '}'"},
        {"[t]\nx.y = 1\n[t]\n", "defined a second time"},
        {"a = \"\xff\"\n", "t:1: the text is not UTF-8 (byte 0xff)"},
        {"a = 1\n\xef\xbb\xbfk = 1\n", "t:2: found byte 0xef, expected a key"},
        {"\xef\xbb\xbf\xef\xbb\xbfk = 1\n", "t:1: found byte 0xef, expected a key"},
        {"\n\n# \x01\n", "t:3: found control character 0x01 in a comment"},
        {"= 1\n", "found '=', expected a key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuzk_err err = {0};
        zk_toml *doc = NULL;
        ZK_CHECKF(zk_toml_parse(&doc, cases[i].text, strlen(cases[i].text), "t", &err) == CUZK_BAD_INPUT && !doc,
                  "case %zu", i);
        ZK_CHECKF(strstr(err.message, cases[i].message), "case %zu: %s", i, err.message);
    }
    char deep[200];
    memset(deep, '[', sizeof deep);
    memcpy(deep, "a=", 2);
    cuzk_err err = {0};
    zk_toml *doc = NULL;
    ZK_CHECK(zk_toml_parse(&doc, deep, sizeof deep, "t", &err) == CUZK_BAD_INPUT);
}

/* Every prefix of a good document is parsed or refused, never overrun (the text ends at a page's guard under ASan). */
static void test_toml_cut(void) {
    static const char text[] = "a.b = [\"x\\u0041\", 'y', \"\"\"z\n\"\"\", 1_0, {}]\n[t.\"q\"]\nk = { a = 1 }\n[[u]]\n";
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = malloc(n ? n : 1);
        memcpy(copy, text, n);
        zk_toml *doc = NULL;
        cuzk_err err = {0};
        cuzk_status status = zk_toml_parse(&doc, copy, n, "t", &err);
        ZK_CHECK(status == CUZK_OK || (status == CUZK_BAD_INPUT && err.message[0]));
        zk_toml_destroy(doc);
        free(copy);
    }
}

/* ---- keys ---- */

static char warnings[4096];
static void keep_warning(void *ctx, const char *text) {
    (void)ctx;
    strncat(warnings, text, sizeof warnings - strlen(warnings) - 2);
    strcat(warnings, "\n");
}

static zk_config *defaults(void) {
    cuzk_err err = {0};
    zk_config *c = NULL;
    warnings[0] = 0;
    ZK_CHECK_OK(zk_config_create(&c, &err), err);
    return c;
}

static cuzk_status read_text(zk_config *c, const char *text, cuzk_err *err) {
    return zk_config_read_text(c, text, strlen(text), "f.toml", keep_warning, NULL, err);
}

static void test_defaults(void) {
    cuzk_err err = {0};
    zk_config *c = defaults();
    ZK_CHECK(c->daemon.listen.n == 1 && strcmp(c->daemon.listen.items[0], "unix:///run/curio/cuzk.sock") == 0);
    ZK_CHECK(c->daemon.max_message_bytes == (uint64_t)256 << 20);
    ZK_CHECK(c->memory.total_budget_bytes == ZK_CONFIG_AUTO && c->memory.eviction_min_idle_ms == 300000);
    ZK_CHECK(c->journal.retention_ms == 86400000 && c->scheduler.sort_by_type && c->pipeline.enabled);
    ZK_CHECK(c->logging.level == 1 && c->logging.format == ZK_LOG_FORMAT_LOGFMT && c->gpus.devices.n == 0);
    ZK_CHECK_OK(zk_config_check(c, keep_warning, NULL, &err), err);
    ZK_CHECK(warnings[0] == 0);
    zk_config_destroy(c);
}

/* Keys of the public program's configuration, all at once. */
static void test_public_keys(void) {
    cuzk_err err = {0};
    zk_config *c = defaults();
    static const char text[] =
        "[daemon]\nlisten = \"0.0.0.0:9820\"\nstatus_listen = \"0.0.0.0:9821\"\n"
        "[srs]\nparam_cache = \"/data/params\"\npreload = [\"porep-32g\"]\n"
        "[memory]\ntotal_budget = \"400GiB\"\nsafety_margin = \"5GiB\"\neviction_min_idle = \"5m\"\n"
        "pinned_budget = \"50GiB\"\nworking_memory_budget = \"80GiB\"\n"
        "[gpus]\ndevices = [0, 1]\ngpu_threads = 32\ngpu_workers_per_device = 2\n"
        "[scheduler]\nmax_batch_size = 2\nmax_batch_wait_ms = 10000\nsort_by_type = false\n"
        "[synthesis]\nthreads = 64\npartition_workers = 16\n"
        "[pipeline]\nenabled = true\nsynthesis_lookahead = 2\nsynthesis_concurrency = 3\n"
        "max_parallel_synthesis = 18\nslot_size = 0\nmax_gpu_queue_depth = 8\n"
        "[logging]\nlevel = \"debug\"\nformat = \"json\"\n"
        "[other]\nkey = 1\n";
    ZK_CHECK_OK(read_text(c, text, &err), err);
    ZK_CHECK(strcmp(c->srs.param_cache, "/data/params") == 0 && c->memory.total_budget_bytes == (uint64_t)400 << 30);
    ZK_CHECK(c->gpus.devices.n == 2 && strcmp(c->gpus.devices.items[1], "1") == 0 && c->gpus.workers_per_device == 2);
    ZK_CHECK(c->scheduler.max_batch_wait_ms == 10000 && !c->scheduler.sort_by_type && c->synthesis.threads == 64);
    ZK_CHECK(c->pipeline.max_parallel_synthesis == 18 && c->logging.format == ZK_LOG_FORMAT_JSON);
    static const char *const named[] = {"srs.preload", "memory.pinned_budget", "memory.working_memory_budget",
                                        "synthesis.partition_workers"};
    for (size_t i = 0; i < 4; i++) ZK_CHECK(strstr(warnings, named[i]) && strstr(warnings, "deprecated"));
    ZK_CHECK(strstr(warnings, "f.toml:35: unknown key \"other.key\" is ignored"));
    warnings[0] = 0;
    ZK_CHECK_OK(zk_config_check(c, keep_warning, NULL, &err), err);
    ZK_CHECK(strstr(warnings, "0.0.0.0:9820 is served without TLS"));
    ZK_CHECKF(strstr(warnings, "gpus.gpu_workers_per_device = 2: each worker of a GPU loads keys"), "%s", warnings);
    static const char *const quiet[][2] = {{"gpus.devices", "cpu"}, {"gpus.lanes_per_worker", "1"}};
    for (size_t i = 0; i < 2; i++) {
        zk_config *q = defaults();
        warnings[0] = 0;
        ZK_CHECK_OK(zk_config_set(q, "gpus.gpu_workers_per_device", "2", "test", &err), err);
        ZK_CHECK_OK(zk_config_set(q, quiet[i][0], quiet[i][1], "test", &err), err);
        ZK_CHECK_OK(zk_config_check(q, keep_warning, NULL, &err), err);
        ZK_CHECKF(!warnings[0], "%s", warnings);
        zk_config_destroy(q);
    }
    static const char *const limits[][2] = {{"0", ""}, {"60", ""}, {"59", "daemon.stall_limit = 59000 ms"}};
    for (size_t i = 0; i < 3; i++) {
        warnings[0] = 0;
        ZK_CHECK_OK(zk_config_set(c, "gpus.lanes_per_worker", "1", "test", &err), err);
        ZK_CHECK_OK(zk_config_set(c, "daemon.listen", "127.0.0.1:9820", "test", &err), err);
        ZK_CHECK_OK(zk_config_set(c, "daemon.stall_limit", limits[i][0], "test", &err), err);
        ZK_CHECK_OK(zk_config_check(c, keep_warning, NULL, &err), err);
        ZK_CHECKF(*limits[i][1] ? strstr(warnings, limits[i][1]) != NULL : !warnings[0], "%s: %s", limits[i][0],
                  warnings);
    }
    zk_config_destroy(c);
}

static void check_format(const zk_config *config, size_t key, const char *expected) {
    char *text = zk_config_format(config, key);
    ZK_CHECKF(text && strcmp(text, expected) == 0, "%s: found %s, expected %s", zk_config_keys[key].name, text,
              expected);
    free(text);
}

/* What is 0 and what is automatic are two things, in all that is said of them. */
static void test_zero_and_auto(void) {
    cuzk_err err = {0};
    zk_config *auto_ = defaults(), *zero = defaults();
    size_t margin = zk_config_find("memory.safety_margin");
    ZK_CHECK_OK(read_text(zero, "memory.safety_margin = 0\n", &err), err);
    ZK_CHECK(zero->memory.safety_margin_bytes == 0 && auto_->memory.safety_margin_bytes == ZK_CONFIG_AUTO);
    check_format(zero, margin, "0");
    check_format(auto_, margin, "\"auto\"");
    ZK_CHECK(!zk_config_same(zero, auto_, margin));
    ZK_CHECK_OK(zk_config_set(zero, "memory.safety_margin", "auto", "t", &err), err);
    ZK_CHECK(zk_config_same(zero, auto_, margin));
    ZK_CHECK_OK(zk_config_set(zero, "memory.safety_margin", "0GiB", "t", &err), err);
    ZK_CHECK(zero->memory.safety_margin_bytes == 0);
    /* where nothing is no size, and the one number that stands for automatic */
    ZK_CHECK(zk_config_set(zero, "memory.total_budget", "0", "t", NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_config_set(zero, "gpus.device_memory", "0", "t", NULL) == CUZK_BAD_INPUT);
    ZK_CHECK(zk_config_set(zero, "memory.safety_margin", "18446744073709551615", "t", NULL) == CUZK_BAD_INPUT);
    ZK_CHECK_OK(zk_config_set(zero, "memory.safety_margin", "18446744073709551614", "t", &err), err);
    zk_config_destroy(auto_);
    zk_config_destroy(zero);
}

static void test_bad_values(void) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"[memory]\n\ntotal_budget = \"5 apples\"\n",
         "f.toml:3: memory.total_budget: found \"5 apples\", expected \"auto\" or a size such as \"5GiB\""},
        {"gpus.gpu_workers_per_device = 0\n", "gpus.gpu_workers_per_device: found 0, expected 1 to 64"},
        {"gpus.gpu_threads = -1\n", "gpus.gpu_threads: found -1, expected a whole number"},
        {"gpus.gpu_threads = \"4\"\n", "gpus.gpu_threads: found a string 4, expected a whole number"},
        {"daemon.listen = [true]\n", "daemon.listen: found a boolean in the list"},
        {"daemon.max_message_size = \"1KiB\"\n", "expected 4096 to 2147483647 bytes"},
        {"journal.retention = \"5x\"\n", "journal.retention: found \"5x\", expected a duration such as \"5m\""},
        {"logging.level = \"loud\"\n",
         "logging.level: found \"loud\", expected one of debug|info|warn|error|off|trace"},
        {"pipeline.enabled = 1\n", "pipeline.enabled: found an integer 1, expected true or false"},
        {"srs.param_cache = 7\n", "srs.param_cache: found an integer 7, expected a string"},
        {"memory.total_budget = \"99999999TiB\"\n", "memory.total_budget: found \"99999999TiB\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuzk_err err = {0};
        zk_config *c = defaults();
        ZK_CHECKF(read_text(c, cases[i].text, &err) == CUZK_BAD_INPUT, "case %zu", i);
        ZK_CHECKF(strstr(err.message, cases[i].message), "case %zu: %s", i, err.message);
        zk_config_destroy(c);
    }
    static const char *const contradictions[] = {
        "daemon.listen = []\n",           "daemon.listen = \"nowhere\"\n",   "daemon.listen = \"host:99999\"\n",
        "daemon.tls_key = \"k\"\n",       "daemon.tls_client_ca = \"k\"\n",  "daemon.socket_mode = \"rw\"\n",
        "gpus.devices = [\"first\"]\n",   "gpus.devices = [\"auto\", 0]\n",  "gpus.devices = \"cuda:\"\n",
        "daemon.listen = \"unix://x\"\n", "daemon.status_listen = \"80\"\n", "daemon.socket_mode = \"0000\"\n",
    };
    for (size_t i = 0; i < sizeof contradictions / sizeof contradictions[0]; i++) {
        cuzk_err err = {0};
        zk_config *c = defaults();
        ZK_CHECK_OK(read_text(c, contradictions[i], &err), err);
        ZK_CHECKF(zk_config_check(c, keep_warning, NULL, &err) == CUZK_BAD_INPUT, "case %zu", i);
        zk_config_destroy(c);
    }
}

/* A list is taken whole or not at all. */
static void test_long_list(void) {
    cuzk_err err = {0};
    char text[2 * 257];
    zk_config *c = defaults();
    for (size_t n = 256; n <= 257; n++) {
        for (size_t i = 0; i < n; i++) memcpy(text + 2 * i, "7,", 2);
        text[2 * n - 1] = 0;
        ZK_CHECK(zk_config_set(c, "gpus.devices", text, "test", &err) == (n == 256 ? CUZK_OK : CUZK_BAD_INPUT));
        ZK_CHECK(c->gpus.devices.n == 256);
    }
    ZK_CHECKF(strstr(err.message, "gpus.devices: found more than 256 items"), "%s", err.message);
    zk_config_destroy(c);
}

static void test_units(void) {
    static const struct {
        const char *text;
        uint64_t value;
    } sizes[] = {{"0", 0},         {"17", 17}, {"5GiB", (uint64_t)5 << 30}, {"5 GiB", (uint64_t)5 << 30},
                 {"3MB", 3000000}, {"1B", 1}},
      times[] = {{"5", 5000}, {"5s", 5000},    {"250ms", 250},      {"1h30m", 5400000}, {"2d", 172800000},
                 {"0", 0},    {"5 m", 300000}, {"1h 30m", 5400000}, {"60 ", 60000}};
    static const char *const
        bad_sizes[] = {"", "GiB", "5gib", "5GiBs", "-1", "1.5GiB", "18446744073709551616", "16777216TiB"},
        *const bad_times[] = {"", "5x", "30m1h", "5m5m", "1h30", "1h 30", "5 5m", " ", "-1s", "18446744073709551615s"};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint64_t v = 1;
        ZK_CHECKF(zk_config_parse_size(&v, sizes[i].text) && v == sizes[i].value, "%s", sizes[i].text);
    }
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        uint64_t v = 1;
        ZK_CHECKF(zk_config_parse_duration(&v, times[i].text) && v == times[i].value, "%s", times[i].text);
    }
    uint64_t v = 0;
    for (size_t i = 0; i < sizeof bad_sizes / sizeof bad_sizes[0]; i++)
        ZK_CHECKF(!zk_config_parse_size(&v, bad_sizes[i]), "%s", bad_sizes[i]);
    for (size_t i = 0; i < sizeof bad_times / sizeof bad_times[0]; i++)
        ZK_CHECKF(!zk_config_parse_duration(&v, bad_times[i]), "%s", bad_times[i]);
}

static void test_sources(void) {
    cuzk_err err = {0};
    zk_config *c = defaults();
    ZK_CHECK_OK(
        read_text(c, "srs.param_cache = \"/file\"\ngpus.gpu_threads = 3\ndaemon.listen = [\"a:1\", \"b:2\"]\n", &err),
        err);
    char *environment[] = {"PATH=/bin",
                           "CUZK_GPUS_GPU_THREADS=4",
                           "CUZK_DAEMON_LISTEN=c:3,d:4,e:5",
                           "CUZK_SRS_PARAM_CACHE=/own",
                           "FIL_PROOFS_PARAMETER_CACHE=/other",
                           "FILECOIN_PROOFS_PARAMETER_CACHE=/x",
                           NULL};
    ZK_CHECK_OK(zk_config_read_environment(c, environment, keep_warning, NULL, &err), err);
    ZK_CHECK(c->gpus.gpu_threads == 4 && c->daemon.listen.n == 3 && strcmp(c->daemon.listen.items[2], "e:5") == 0);
    ZK_CHECK(strcmp(c->srs.param_cache, "/own") == 0);
    ZK_CHECK(strstr(warnings, "FILECOIN_PROOFS_PARAMETER_CACHE is not read, FIL_PROOFS_PARAMETER_CACHE is"));
    ZK_CHECK_OK(zk_config_set(c, "gpus.gpu_threads", "5", "--gpus.gpu_threads", &err), err);
    ZK_CHECK(c->gpus.gpu_threads == 5);
    ZK_CHECK(strcmp(c->sources[zk_config_find("gpus.gpu_threads")], "--gpus.gpu_threads") == 0);
    ZK_CHECK(strcmp(c->sources[zk_config_find("daemon.listen")], "environment: CUZK_DAEMON_LISTEN") == 0);
    ZK_CHECK(zk_config_set(c, "gpus.gpu_thread", "5", "flag", &err) == CUZK_BAD_INPUT);
    zk_config_destroy(c);
}

/* The sample file says what the defaults are, and prints back what was set. */
static void test_sample(void) {
    cuzk_err err = {0};
    char *text = NULL;
    size_t n = 0;
    zk_config *c = defaults(), *d = defaults();
    ZK_CHECK_OK(zk_config_set(c, "daemon.listen", "x:1,y:2", "t", &err), err);
    ZK_CHECK_OK(zk_config_set(c, "srs.param_cache", "quote\" back\\ tab\t", "t", &err), err);
    ZK_CHECK_OK(zk_config_set(c, "memory.total_budget", "3GiB", "t", &err), err);
    for (unsigned set = 0; set < 2; set++) {
        FILE *out = open_memstream(&text, &n);
        zk_config_print_sample(out, set ? c : NULL);
        fclose(out);
        ZK_CHECK_OK(read_text(d, text, &err), err);
        ZK_CHECK(warnings[0] == 0);
        for (size_t k = 0; k < zk_config_n_keys; k++) {
            zk_config *want = set ? c : defaults();
            char *text_of = zk_config_format(want, k);
            check_format(d, k, text_of);
            free(text_of);
            ZK_CHECK(zk_config_same(d, want, k));
            if (!set) zk_config_destroy(want);
        }
        free(text);
    }
    zk_config_destroy(c);
    zk_config_destroy(d);
}

/* Values of any length are compared and written whole: to the last of 256 addresses, and of a path of 3000 bytes. */
static void test_long_values(void) {
    cuzk_err err = {0};
    char path[3001], list[256 * 8] = "", *text = NULL;
    size_t n = 0, listen = zk_config_find("daemon.listen"), journal = zk_config_find("journal.path");
    zk_config *a = defaults(), *b = defaults(), *back = defaults();
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    for (int i = 0; i < 256; i++) sprintf(list + strlen(list), "h%03d:1%s", i, i < 255 ? "," : "");
    for (int i = 0; i < 2; i++) {
        ZK_CHECK_OK(zk_config_set(i ? b : a, "journal.path", path, "t", &err), err);
        ZK_CHECK_OK(zk_config_set(i ? b : a, "daemon.listen", list, "t", &err), err);
    }
    ZK_CHECK(zk_config_same(a, b, journal) && zk_config_same(a, b, listen));
    FILE *out = open_memstream(&text, &n);
    zk_config_print_sample(out, a);
    fclose(out);
    ZK_CHECK_OK(read_text(back, text, &err), err);
    ZK_CHECK(zk_config_same(a, back, journal) && zk_config_same(a, back, listen));
    free(text);
    path[sizeof path - 2] = 'q';
    list[strlen(list) - 1] = '2';
    ZK_CHECK_OK(zk_config_set(b, "journal.path", path, "t", &err), err);
    ZK_CHECK_OK(zk_config_set(b, "daemon.listen", list, "t", &err), err);
    ZK_CHECK(!zk_config_same(a, b, journal) && !zk_config_same(a, b, listen));
    text = zk_config_format(b, journal);
    ZK_CHECK(text && strlen(text) == sizeof path + 1 && text[sizeof path - 1] == 'q');
    free(text);
    ZK_CHECK_OK(zk_config_set(b, "daemon.listen", "h000:1", "t", &err), err); /* the begin of the other */
    ZK_CHECK(!zk_config_same(a, b, listen) && !zk_config_same(b, a, listen));
    zk_config_destroy(a);
    zk_config_destroy(b);
    zk_config_destroy(back);
}

/* Keys of every type: what differs is seen, whatever it is. */
static void test_same(void) {
    static const char *const changed[][2] = {
        {"daemon.listen", "x:1"},
        {"daemon.status_listen", "x:1"},
        {"daemon.max_queued_jobs", "7"},
        {"daemon.max_message_size", "1MiB"},
        {"memory.total_budget", "1GiB"},
        {"fleet.lease", "9s"},
        {"srs.warm", "off"},
        {"scheduler.sort_by_type", "false"},
    };
    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++) {
        cuzk_err err = {0};
        zk_config *a = defaults(), *b = defaults();
        ZK_CHECK_OK(zk_config_set(b, changed[i][0], changed[i][1], "t", &err), err);
        for (size_t k = 0; k < zk_config_n_keys; k++)
            ZK_CHECKF(zk_config_same(a, b, k) == (k != zk_config_find(changed[i][0])), "%s: %s", changed[i][0],
                      zk_config_keys[k].name);
        zk_config_destroy(a);
        zk_config_destroy(b);
    }
}

static void test_no_memory(void) {
    static const char text[] = "a = [\"x\", 'y']\ndaemon.listen = [\"a:1\", \"b:2\"]\n[srs]\nparam_cache = \"z\"\n";
    for (uint64_t nth = 1;; nth++) {
        cuzk_err err = {0};
        zk_config *c = NULL;
        zk_alloc_fail_nth(nth);
        cuzk_status status = zk_config_create(&c, &err);
        if (status == CUZK_OK) status = read_text(c, text, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        zk_config_destroy(c);
        if (!failed) break;
        ZK_CHECKF(status == CUZK_OUT_OF_MEMORY, "allocation %llu: %s", (unsigned long long)nth, err.message);
    }
}

static void test_addresses(void) {
    static const struct {
        const char *text, *host, *port;
        bool is_unix, is_loopback;
    } cases[] = {
        {"unix:///run/x.sock", "/run/x.sock", "", true, true},   {"unix:/x", "/x", "", true, true},
        {"0.0.0.0:9820", "0.0.0.0", "9820", false, false},       {":9820", "0.0.0.0", "9820", false, false},
        {"127.0.0.1:1", "127.0.0.1", "1", false, true},          {"[::1]:80", "::1", "80", false, true},
        {"http://localhost:80", "localhost", "80", false, true}, {"tcp://h.example:5", "h.example", "5", false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cuzk_err err = {0};
        zk_address a;
        ZK_CHECK_OK(zk_address_parse(&a, cases[i].text, &err), err);
        ZK_CHECKF(strcmp(a.host, cases[i].host) == 0 && strcmp(a.port, cases[i].port) == 0, "%s", cases[i].text);
        ZK_CHECK(a.is_unix == cases[i].is_unix && a.is_loopback == cases[i].is_loopback);
    }
    static const char *const bad[] = {"", "host", "host:", ":x", "::1:80", "h:65536", "unix://rel", "a/b:1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        zk_address a;
        ZK_CHECKF(zk_address_parse(&a, bad[i], NULL) == CUZK_BAD_INPUT, "%s", bad[i]);
    }
}

/* ---- all errors ---- */

static char found[16384]; /* "LINE: text" each, or "-: text" */
static unsigned last_line;

static void keep_error(void *path, const char *text) {
    size_t n = strlen(path), at = strlen(found);
    unsigned line = 0;
    if (strncmp(text, path, n) == 0 && text[n] == ':') {
        char *rest = NULL;
        line = (unsigned)strtoul(text + n + 1, &rest, 10);
        ZK_CHECKF(line >= last_line && last_line != UINT_MAX && *rest == ':', "out of order: %s", text);
        snprintf(found + at, sizeof found - at, "%u%s\n", line, rest);
        last_line = line;
    } else {
        snprintf(found + at, sizeof found - at, "-: %s\n", text);
        last_line = UINT_MAX;
    }
}

static void ignore(void *ctx, const char *text) { (void)ctx, (void)text; }

static cuzk_status judge(size_t *n_errors, const char *path, const char *text, size_t n, char *const *environment,
                         cuzk_err *err) {
    zk_config *c = NULL;
    FILE *f = fopen(path, "w");
    ZK_CHECK(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
    found[0] = 0;
    last_line = 0;
    *n_errors = 0;
    cuzk_status status = zk_config_create(&c, err);
    if (status == CUZK_OK)
        status = zk_config_judge(n_errors, c, path, environment, ignore, keep_error, (char *)(uintptr_t)path, err);
    zk_config_destroy(c);
    return status;
}

static void test_all_errors(void) {
    static const char text[] = "[daemon]\n"
                               "listen = [\"127.0.0.1:99999\", \"unix:///x\", \"nowhere\"]\n"
                               "socket_mode = \"9\"\n"
                               "max_queued_jobs = lots\n"
                               "tls_key = 7 # and no certificate, which is not told as long as this is not known\n"
                               "\n"
                               "[memory\n"
                               "total_budget = \"much\" # of no table that is known\n"
                               "[memory]\n"
                               "safety_margin = \"3 apples\"\n"
                               "total_budget = \"much\"\n"
                               "[gpus]\n"
                               "devices = [0, 1\n"
                               "lanes_per_worker = 77\n"
                               "[scheduler]\n"
                               "aging = \"soon\n"
                               "sort_by_type = \"yes\"\n"
                               "foo bar\n"
                               "[logging]\n"
                               "level = \"loud\"\n"
                               "format = \"json\" x\n"
                               "[pipeline]\n"
                               "slot_size = [\n"
                               "  1,\n"
                               "  2 3,\n"
                               "  4\n"
                               "]\n"
                               "enabled = 3\n"
                               "[daemon]\n"
                               "job_time_limit = -1\n";
    static const char expected[] =
        "2: daemon.listen: address: found \"127.0.0.1:99999\", expected unix:///path or host:port with a port below "
        "65536\n"
        "2: daemon.listen: address: found \"nowhere\", expected unix:///path or host:port with a port below 65536\n"
        "3: daemon.socket_mode: found \"9\", expected octal digits such as 0660 that let somebody in\n"
        "4: found \"lots\", expected a value (text needs quotes)\n"
        "5: daemon.tls_key: found an integer 7, expected a string\n"
        "7: found the end of the line in a table's name, expected ']'\n"
        "10: memory.safety_margin: found \"3 apples\", expected \"auto\" or a size such as \"5GiB\"\n"
        "11: memory.total_budget: found \"much\", expected \"auto\" or a size such as \"5GiB\"\n"
        "14: found 'l' in an array, expected ',' or ']'\n"
        "14: gpus.lanes_per_worker: found 77, expected 0 to 2\n"
        "16: found the end of the line in a string, expected \"\n"
        "17: scheduler.sort_by_type: found a string yes, expected true or false\n"
        "18: found 'b' after the key \"scheduler.foo\", expected '='\n"
        "20: logging.level: found \"loud\", expected one of debug|info|warn|error|off|trace\n"
        "21: found 'x' after a value, expected the end of the line\n"
        "25: found '3' in an array, expected ',' or ']'\n"
        "28: pipeline.enabled: found an integer 3, expected true or false\n"
        "29: the table [daemon] is defined a second time\n"
        "30: daemon.job_time_limit: found -1, expected a duration such as \"5m\"\n";
    const char *tmp = getenv("TMPDIR");
    char path[512];
    size_t n = 0;
    cuzk_err err = {0};
    snprintf(path, sizeof path, "%s/cuzk-config-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(path);
    ZK_CHECK(fd >= 0 && close(fd) == 0);
    ZK_CHECK_OK(judge(&n, path, text, strlen(text), NULL, &err), err);
    ZK_CHECKF(n == 19 && strcmp(found, expected) == 0, "%zu errors:\n%s", n, found);

    /* What no line is to blame for comes last, and only where all values are known. */
    static const char tls[] = "daemon.tls_key = \"/x\"\njournal.path = \"\"\n";
    static char *const environment[] = {(char *)(uintptr_t) "CUZK_DAEMON_SOCKET_MODE=1",
                                        (char *)(uintptr_t) "CUZK_SRS_WARM=cold", NULL};
    ZK_CHECK_OK(judge(&n, path, tls, strlen(tls), NULL, &err), err);
    ZK_CHECKF(strcmp(found, "2: journal.path: found \"\", expected a path\n"
                            "-: daemon.tls_certificate and daemon.tls_key: expected both or neither\n") == 0,
              "%s", found);
    ZK_CHECK_OK(judge(&n, path, tls, strlen(tls), environment, &err), err);
    ZK_CHECKF(n == 3 && strstr(found, "2: journal.path") == found && !strstr(found, "tls") &&
                  strstr(found, "\n-: environment: CUZK_SRS_WARM: srs.warm: found \"cold\"") &&
                  strstr(found, "\n-: environment: CUZK_DAEMON_SOCKET_MODE: daemon.socket_mode: found \"1\""),
              "%s", found);

    /* Of every piece of the file, the first error is the one that a daemon would stop at; and all are few. */
    for (size_t k = 0; k <= strlen(text); k++) {
        zk_config *c = defaults();
        cuzk_err first = {0};
        ZK_CHECK_OK(judge(&n, path, text, k, NULL, &err), err);
        cuzk_status status = zk_config_read_file(c, path, NULL, NULL, &first);
        if (status == CUZK_OK) status = zk_config_check(c, NULL, NULL, &first);
        ZK_CHECKF((status == CUZK_OK) == (n == 0) && n <= 20, "%zu bytes: %zu errors:\n%s", k, n, found);
        ZK_CHECKF(status == CUZK_OK || strstr(found, first.message + strlen(path) + 1),
                  "%zu bytes: \"%s\" is not in\n%s", k, first.message, found);
        zk_config_destroy(c);
    }

    /* What follows the last value that is kept is not read: one error. */
    char *long_text = malloc(12 * (ZK_TOML_MAX_ENTRIES + 100));
    ZK_CHECK(long_text);
    size_t n_long = 0;
    for (unsigned i = 0; i < ZK_TOML_MAX_ENTRIES + 50; i++) n_long += (size_t)sprintf(long_text + n_long, "k%u=1\n", i);
    ZK_CHECK_OK(judge(&n, path, long_text, n_long, NULL, &err), err);
    ZK_CHECKF(n == 1 && strcmp(found, "4097: more than 4096 values\n") == 0, "%zu errors:\n%s", n, found);
    free(long_text);

    /* There is an end to it. */
    char many[4096] = "";
    for (unsigned i = 0; i < 200; i++) strcat(many, "x y\n");
    ZK_CHECK(judge(&n, path, many, strlen(many), NULL, &err) == CUZK_BAD_INPUT && n == 100);
    ZK_CHECKF(strstr(err.message, ":101: found 'y'"), "%s", err.message);
    zk_err_reset(&err);
    for (uint64_t nth = 1;; nth++) {
        zk_alloc_fail_nth(nth);
        cuzk_status status = judge(&n, path, text, strlen(text), environment, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECKF(status == (failed ? CUZK_OUT_OF_MEMORY : CUZK_OK), "allocation %llu: %s", (unsigned long long)nth,
                  err.message);
        zk_err_reset(&err);
        if (!failed) break;
    }
    unlink(path);
    ZK_CHECK(zk_config_judge(&n, NULL, path, NULL, ignore, keep_error, path, &err) == CUZK_NOT_FOUND && n == 0);
}

ZK_TEST_MAIN(ZK_CASE(test_toml_values), ZK_CASE(test_toml_refused), ZK_CASE(test_toml_cut), ZK_CASE(test_defaults),
             ZK_CASE(test_public_keys), ZK_CASE(test_zero_and_auto), ZK_CASE(test_bad_values), ZK_CASE(test_long_list),
             ZK_CASE(test_units), ZK_CASE(test_sources), ZK_CASE(test_sample), ZK_CASE(test_long_values),
             ZK_CASE(test_all_errors), ZK_CASE(test_same), ZK_CASE(test_no_memory), ZK_CASE(test_addresses))
