/* JSON: tokenizer and document reader. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_dom.h"
#include "zk_test.h"

#define LIT(text) text, sizeof text - 1

typedef struct text_case {
    const char *text;
    size_t n;
} text_case;

/* Many of the cases are those of the public JSON parsing test suite (N. Seriot, JSONTestSuite, MIT licence). */
// clang-format off
static const text_case accepted[] = {
    {LIT("[]")}, {LIT("{}")}, {LIT("[[]   ]")}, {LIT("[\"\"]")}, {LIT("[\"a\"]")}, {LIT("[false]")},
    {LIT("[null, 1, \"1\", {}]")}, {LIT("[null]")}, {LIT("[1\n]")}, {LIT(" [1]")}, {LIT("[1,null,null,null,2]")},
    {LIT("[2] ")}, {LIT("[123e65]")}, {LIT("[0e+1]")}, {LIT("[0e1]")}, {LIT("[ 4]")},
    {LIT("[-0.000000000000000000000000000000000000000000000000000001]")}, {LIT("[20e1]")}, {LIT("[-0]")},
    {LIT("[-123]")}, {LIT("[-1]")}, {LIT("[1E22]")}, {LIT("[1E-2]")}, {LIT("[1E+2]")}, {LIT("[123e45]")},
    {LIT("[123.456e78]")}, {LIT("[1e-2]")}, {LIT("[1e+2]")}, {LIT("[123]")}, {LIT("[123.456789]")},
    {LIT("{\"asd\":\"sdf\", \"dfg\":\"fgh\"}")}, {LIT("{\"asd\":\"sdf\"}")}, {LIT("{\"\":0}")},
    {LIT("{\"foo\\u0000bar\": 42}")}, {LIT("{ \"min\": -1.0e+28, \"max\": 1.0e+28 }")}, {LIT("{\"a\":[]}")},
    {LIT("{\n\"a\": \"b\"\n}")}, {LIT("[\"\\u0060\\u012a\\u12AB\"]")}, {LIT("[\"\\uD801\\udc37\"]")},
    {LIT("[\"\\ud83d\\ude39\\ud83d\\udc8d\"]")}, {LIT("[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]")}, {LIT("[\"\\\\u0000\"]")},
    {LIT("[\"\\\"\"]")}, {LIT("[\"a/*b*/c/*d//e\"]")}, {LIT("[\"\\\\a\"]")}, {LIT("[\"\\\\n\"]")},
    {LIT("[\"\\u0012\"]")}, {LIT("[\"\\uFFFF\"]")}, {LIT("[\"asd\"]")}, {LIT("[ \"asd\"]")},
    {LIT("[\"\\uDBFF\\uDFFF\"]")}, {LIT("[\"new\\u00A0line\"]")}, {LIT("[\"\xf4\x8f\xbf\xbf\"]")},
    {LIT("[\"\xef\xbf\xbf\"]")}, {LIT("[\"\\u0000\"]")}, {LIT("[\",\"]")}, {LIT("[\"\xcf\x80\"]")},
    {LIT("[\"\xf0\x9b\xbf\xbf\"]")}, {LIT("[\"asd \"]")}, {LIT("\" \"")},
    {LIT("[\"\xe2\x82\xac\xf0\x9d\x84\x9e" "b\"]")}, {LIT("[\"\xe2\x80\xa8\"]")}, {LIT("[\"\x7f\"]")},
    {LIT("[\"\\u0061\\u30af\\u30EA\\u30b9\"]")}, {LIT("false")}, {LIT("42")}, {LIT("-0.1")}, {LIT("null")},
    {LIT("\"asd\"")}, {LIT("true")}, {LIT("\"\"")}, {LIT("[\"a\"]\n")}, {LIT("[true]")}, {LIT(" [] ")}, {LIT("0")},
    {LIT("[0 ]")}, {LIT("[\"\xed\x9f\xbf\"]")}, {LIT("\t\r\n {\t\"a\"\r:\n0 }\n")}, {LIT("1e5")},
    {LIT("[\"\xee\x80\x80\xe0\xa0\x80\xc2\x80\xf0\x90\x80\x80\"]")},
};

static const text_case rejected[] = {
    {LIT("")}, {LIT(" ")}, {LIT("[1 true]")}, {LIT("[a\xe5]")}, {LIT("[\"\": 1]")}, {LIT("[\"\"],")}, {LIT("[,1]")},
    {LIT("[1,,2]")}, {LIT("[\"x\",,]")}, {LIT("[\"x\"]]")}, {LIT("[\"\",]")}, {LIT("[\"x\"")}, {LIT("[x")},
    {LIT("[3[4]]")}, {LIT("[\xff]")}, {LIT("[1:2]")}, {LIT("[,]")}, {LIT("[-]")}, {LIT("[   , \"\"]")},
    {LIT("[\"a\",\n4\n,1,")}, {LIT("[1,]")}, {LIT("[1,1")}, {LIT("[\"a\f\"]")}, {LIT("[*]")}, {LIT("[\"\"")},
    {LIT("[1,")}, {LIT("[{}")}, {LIT("[fals]")}, {LIT("[nul]")}, {LIT("[tru]")}, {LIT("[truee]")}, {LIT("[nulll]")},
    {LIT("[++1234]")}, {LIT("[+1]")}, {LIT("[+Inf]")}, {LIT("[-01]")}, {LIT("[-1.0.]")}, {LIT("[-2.]")},
    {LIT("[-NaN]")}, {LIT("[.-1]")}, {LIT("[.2e-3]")}, {LIT("[0.1.2]")}, {LIT("[0.3e+]")}, {LIT("[0.3e]")},
    {LIT("[0.e1]")}, {LIT("[0E+]")}, {LIT("[0E]")}, {LIT("[0e]")}, {LIT("[1.0e+]")}, {LIT("[1.0e-]")},
    {LIT("[1.0e]")}, {LIT("[1 000.0]")}, {LIT("[1eE2]")}, {LIT("[2.e+3]")}, {LIT("[2.e3]")}, {LIT("[9.e+]")},
    {LIT("[Inf]")}, {LIT("[NaN]")}, {LIT("[\xef\xbc\x91]")}, {LIT("[1+2]")}, {LIT("[0x1]")}, {LIT("[Infinity]")},
    {LIT("[-Infinity]")}, {LIT("[-foo]")}, {LIT("[- 1]")}, {LIT("[-012]")}, {LIT("[-.123]")}, {LIT("[-1x]")},
    {LIT("[1ea]")}, {LIT("[1e\xe5]")}, {LIT("[1.]")}, {LIT("[.123]")}, {LIT("[1.2a-3]")},
    {LIT("[1.8011670033376514H-308]")}, {LIT("[012]")}, {LIT("[00]")}, {LIT("01")}, {LIT("-")}, {LIT("1.")},
    {LIT("1e")}, {LIT("[\"x\", truth]")}, {LIT("{[: \"x\"}\n")}, {LIT("{\"x\", null}")}, {LIT("{\"x\"::\"b\"}")},
    {LIT("{\"a\":\"a\" 123}")}, {LIT("{key: 'value'}")}, {LIT("{\"a\" b}")}, {LIT("{:\"b\"}")},
    {LIT("{\"a\" \"b\"}")}, {LIT("{\"a\":")}, {LIT("{\"a\"")}, {LIT("{1:1}")}, {LIT("{null:null,null:null}")},
    {LIT("{\"id\":0,,,,,}")}, {LIT("{'a':0}")}, {LIT("{\"id\":0,}")}, {LIT("{\"a\":\"b\"}/**/")},
    {LIT("{\"a\":\"b\"}#")}, {LIT("{\"a\":\"b\",,\"c\":\"d\"}")}, {LIT("{a: \"b\"}")}, {LIT("{\"a\":\"a")},
    {LIT("{ \"foo\" : \"bar\", \"a\" }")}, {LIT("{\"a\":\"b\"}x")}, {LIT("[\"\\uD800\\\"]")},
    {LIT("[\"\\uD800\\u\"]")}, {LIT("[\"\\uD800\\u1\"]")}, {LIT("[\"\\uD800\\u1x\"]")}, {LIT("[\xc3\xa9]")},
    {LIT("[\"\\x00\"]")}, {LIT("[\"\\\\\\\"]")}, {LIT("[\"\\\t\"]")}, {LIT("[\"\\\xf0\x9f\x8c\x80\"]")},
    {LIT("[\"\\\"]")}, {LIT("[\"\\u00A\"]")}, {LIT("[\"\\uD834\\uDd\"]")}, {LIT("[\"\\uD800\\uD800\\x\"]")},
    {LIT("[\"\\u\xe5\"]")}, {LIT("[\"\\a\"]")}, {LIT("[\"\\uqqqq\"]")}, {LIT("[\"\\\xe5\"]")},
    {LIT("[\\u0020\"asd\"]")}, {LIT("[\\n]")}, {LIT("\"")}, {LIT("['single']")}, {LIT("abc")}, {LIT("[\"\\")},
    {LIT("[\"a\0a\"]")}, {LIT("[\"new\nline\"]")}, {LIT("[\"\t\"]")}, {LIT("\"\\UA66D\"")}, {LIT("\"\"x")},
    {LIT("<.>")}, {LIT("[<null>]")}, {LIT("[1]x")}, {LIT("[1]]")}, {LIT("[True]")}, {LIT("1]")},
    {LIT("{\"x\": true,")}, {LIT("[][]")}, {LIT("]")}, {LIT("[")}, {LIT("{")}, {LIT("\xef\xbb\xbf{}")},
    {LIT("\xc3\xa5")}, {LIT("[\"a")}, {LIT("2@")}, {LIT("{}}")}, {LIT("{\"\":")}, {LIT("{]")}, {LIT("[}")},
    {LIT("[{]}")}, {LIT("{\"a\":/*comment*/\"b\"}")}, {LIT("[\f]")}, {LIT("[\xe2\x81\xa0]")}, {LIT("123\0")},
    {LIT("\0")}, {LIT("[1]\0")},
    /* not UTF-8: lone continuation, overlong, surrogate, beyond U+10FFFF, cut short */
    {LIT("[\"\x80\"]")}, {LIT("[\"\xc0\xaf\"]")}, {LIT("[\"\xc1\xbf\"]")}, {LIT("[\"\xe0\x80\xaf\"]")},
    {LIT("[\"\xf0\x80\x80\xaf\"]")}, {LIT("[\"\xed\xa0\x80\"]")}, {LIT("[\"\xed\xbf\xbf\"]")},
    {LIT("[\"\xf4\x90\x80\x80\"]")}, {LIT("[\"\xf5\x80\x80\x80\"]")}, {LIT("[\"\xff\"]")}, {LIT("[\"\xe2\x82\"]")},
    {LIT("[\"\xf0\x9d\x84\"]")}, {LIT("[\"\xc2\"]")}, {LIT("{\"\xff\":0}")},
    /* lone surrogates */
    {LIT("[\"\\uDADA\"]")}, {LIT("[\"\\uDFAA\"]")}, {LIT("[\"\\uDd1ea\"]")}, {LIT("[\"\\uD800\\n\"]")},
    {LIT("[\"\\uD888\\u1234\"]")}, {LIT("[\"\\uD800abc\"]")}, {LIT("[\"\\uDC00\\uD800\"]")}, {LIT("{\"\\uD800\":0}")},
};
// clang-format on

/* Events as text, string fragments joined; the same for every way to cut the document. */
typedef struct record {
    char *text;
    size_t n;
    FILE *out;
} record;

static void record_event(FILE *out, const zk_json_event *e) {
    if (e->kind == ZK_JSON_STRING && !e->first) {
        fwrite(e->text, 1, e->n_text, out);
        if (e->last) fputs("|\n", out);
        return;
    }
    fprintf(out, "%d depth %u at %llu", e->kind, e->depth, (unsigned long long)e->offset);
    if (e->kind == ZK_JSON_NUMBER) fprintf(out, " %d %llu", e->is_u64, (unsigned long long)e->u64);
    if (e->kind == ZK_JSON_KEY || e->kind == ZK_JSON_STRING || e->kind == ZK_JSON_NUMBER) {
        fputs(" |", out);
        fwrite(e->text, 1, e->n_text, out);
        if (e->kind == ZK_JSON_STRING && !e->last) return;
        fputc('|', out);
    }
    fputc('\n', out);
}

/* Feeds text in pieces that end at the given cuts (ascending). Each piece is its own heap block of exact size, so that
 * reading beyond it is seen by the address sanitizer. */
static char *run_pieces(const char *text, size_t n, const size_t *cuts, size_t n_cuts, zk_json *json) {
    char *recorded = NULL;
    size_t n_recorded = 0, at = 0;
    FILE *out = open_memstream(&recorded, &n_recorded);
    cuzk_err err = {0};
    zk_json_reset(json);
    for (size_t i = 0; i <= n_cuts; i++) {
        size_t end = i < n_cuts ? cuts[i] : n;
        char *piece = malloc(end - at + (end == at));
        memcpy(piece, text + at, end - at);
        zk_json_feed(json, piece, end - at, i == n_cuts);
        zk_json_event e = {0};
        cuzk_status status;
        while ((status = zk_json_next(json, &e, &err)) == CUZK_OK && e.kind != ZK_JSON_MORE && e.kind != ZK_JSON_DONE)
            record_event(out, &e);
        bool right_end = status != CUZK_OK || e.kind == (i == n_cuts ? ZK_JSON_DONE : ZK_JSON_MORE);
        free(piece);
        ZK_CHECKF(right_end, "piece %zu of %.*s", i, (int)n, text);
        at = end;
        if (status != CUZK_OK) {
            ZK_CHECK(status == CUZK_BAD_INPUT && err.message[0]);
            fprintf(out, "\nfail: %s\n", err.message);
            break;
        }
    }
    fclose(out);
    return recorded;
}

static zk_json *new_json(const zk_json_limits *limits) {
    cuzk_err err = {0};
    zk_json *json;
    ZK_CHECK_OK(zk_json_create(&json, limits, &err), err);
    return json;
}

/* The part that must not depend on the cuts: all of a good document, the failure of a bad one (before which fragments
 * of an unfinished string may or may not have come). */
static const char *essence(const char *recorded) {
    const char *failure = strstr(recorded, "\nfail: ");
    return failure ? failure : recorded;
}

static void check_all_splits(const char *text, size_t n, bool accept) {
    zk_json *json = new_json(NULL);
    char *whole = run_pieces(text, n, NULL, 0, json);
    ZK_CHECKF((strstr(whole, "\nfail: ") == NULL) == accept, "%.*s gives\n%s", (int)n, text, whole);
    for (size_t cut = 0; cut <= n; cut++) {
        char *parts = run_pieces(text, n, &cut, 1, json);
        ZK_CHECKF(strcmp(essence(whole), essence(parts)) == 0, "cut at %zu: %.*s\n%s\n%s", cut, (int)n, text, whole,
                  parts);
        free(parts);
    }
    size_t *each = malloc((n + 1) * sizeof *each);
    for (size_t i = 0; i < n; i++) each[i] = i + 1;
    char *bytes = run_pieces(text, n, each, n, json);
    ZK_CHECKF(strcmp(essence(whole), essence(bytes)) == 0, "byte by byte: %.*s\n%s\n%s", (int)n, text, whole, bytes);
    free(bytes);
    free(each);
    free(whole);
    zk_json_destroy(json);
}

static void test_accepts(void) {
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++)
        check_all_splits(accepted[i].text, accepted[i].n, true);
}

static void test_rejects(void) {
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++)
        check_all_splits(rejected[i].text, rejected[i].n, false);
}

static const char rich[] =
    "{\"name\\u00e9\\n\": [1, 22,333,4444 ,18446744073709551615, 18446744073709551616, -5, 1.5e-7, 0],\r\n"
    " \"nested\": {\"a\": {\"b\": [[], [[]], {}]}, \"t\": true, \"f\": false, \"n\": null},"
    " \"text\": \"plain text that is long enough for the fast path, then \\\"quotes\\\" and \\ud83d\\ude00 and more "
    "plain text\","
    " \"utf8\": \"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e and so on and so forth\", \"\": \"\"}";

static void test_events(void) {
    zk_json *json = new_json(NULL);
    const char *doc = "{\"k\\u00e9\":[1,-2.5],\"s\":\"a\\nb\\ud83d\\ude00\"}";
    char *text = run_pieces(doc, strlen(doc), NULL, 0, json);
    const char *wanted =
        "2 depth 0 at 0\n6 depth 1 at 1 |k\xc3\xa9|\n4 depth 1 at 11\n8 depth 2 at 12 1 1 |1|\n"
        "8 depth 2 at 14 0 0 |-2.5|\n5 depth 1 at 18\n6 depth 1 at 20 |s|\n7 depth 1 at 24 |a\nb\xf0\x9f\x98\x80|\n"
        "3 depth 0 at 42\n";
    ZK_CHECKF(strcmp(text, wanted) == 0, "%s", text);
    free(text);
    zk_json_destroy(json);
}

static void test_all_splits_of_rich(void) {
    size_t n = sizeof rich - 1;
    check_all_splits(rich, n, true);
    zk_json *json = new_json(NULL);
    char *whole = run_pieces(rich, n, NULL, 0, json);
    uint64_t seed = 7;
    for (int round = 0; round < 500; round++) {
        size_t cuts[3];
        for (int i = 0; i < 3; i++) cuts[i] = zk_test_rand(&seed) % (n + 1);
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < 2; k++)
                if (cuts[k] > cuts[k + 1]) {
                    size_t t = cuts[k];
                    cuts[k] = cuts[k + 1];
                    cuts[k + 1] = t;
                }
        char *parts = run_pieces(rich, n, cuts, 3, json);
        ZK_CHECKF(strcmp(whole, parts) == 0, "cuts %zu %zu %zu", cuts[0], cuts[1], cuts[2]);
        free(parts);
    }
    /* every prefix is incomplete, and says so */
    for (size_t k = 0; k < n; k++) {
        char *cut_short = run_pieces(rich, k, NULL, 0, json);
        ZK_CHECK(strstr(cut_short, "fail: json: byte ") && strstr(cut_short, "found end of text"));
        free(cut_short);
    }
    free(whole);
    zk_json_destroy(json);
}

static void test_limits(void) {
    cuzk_err err = {0};
    zk_json *json;
    ZK_CHECK(zk_json_create(&json, &(zk_json_limits){.max_depth = 1025}, &err) == CUZK_USAGE);
    char deep[2100];
    for (unsigned limit = 1; limit <= 1024; limit = limit < 4 ? limit + 1 : limit * 2) {
        json = new_json(&(zk_json_limits){.max_depth = limit});
        for (unsigned depth = limit; depth <= limit + 1; depth++) {
            memset(deep, '[', depth);
            memset(deep + depth, ']', depth);
            char *text = run_pieces(deep, 2 * depth, NULL, 0, json);
            ZK_CHECK((strstr(text, "fail") == NULL) == (depth == limit));
            ZK_CHECK(depth == limit || strstr(text, "nested too deeply"));
            free(text);
        }
        zk_json_destroy(json);
    }
    json = new_json(&(zk_json_limits){.max_key_bytes = 5, .max_number_bytes = 4});
    static const struct {
        const char *text;
        bool ok;
    } cases[] = {
        {"{\"12345\":0}", true},
        {"{\"123456\":0}", false},
        {"{\"1234567890123\":0}", false},
        {"{\"1234\\n\":0}", true},
        {"{\"12345\\n\":0}", false},
        {"{\"\\ud83d\\ude00a\":0}", true},
        {"{\"\\ud83d\\ude00ab\":0}", false},
        {"[1234]", true},
        {"[12345]", false},
        {"[-123]", true},
        {"[-1234]", false},
        {"1234", true},
        {"12345", false},
        {"[1.25]", true},
        {"[1.255]", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = strlen(cases[i].text);
        for (size_t cut = 0; cut <= n; cut++) {
            char *text = run_pieces(cases[i].text, n, &cut, 1, json);
            ZK_CHECKF((strstr(text, "fail") == NULL) == cases[i].ok, "%s cut %zu: %s", cases[i].text, cut, text);
            free(text);
        }
    }
    zk_json_destroy(json);
}

static void test_failure_is_final(void) {
    zk_json *json = new_json(NULL);
    cuzk_err err = {0};
    zk_json_event e;
    zk_json_feed(json, "[1,}", 4, true);
    ZK_CHECK_OK(zk_json_next(json, &e, &err), err);
    ZK_CHECK_OK(zk_json_next(json, &e, &err), err);
    ZK_CHECK(zk_json_next(json, &e, &err) == CUZK_BAD_INPUT);
    ZK_CHECKF(strcmp(err.message, "json: byte 3: found '}', expected a value") == 0, "%s", err.message);
    ZK_CHECK(zk_json_next(json, &e, &err) == CUZK_BAD_INPUT);
    zk_json_destroy(json);
}

static void test_long_strings(void) {
    /* A string of megabytes in fragments: with and without escapes, small and large pieces. */
    size_t n = 3000000;
    char *doc = malloc(n + 2), *got = malloc(n), *wanted = malloc(n);
    uint64_t seed = 3;
    size_t n_wanted = 0, n_doc = 0;
    doc[n_doc++] = '"';
    while (n_doc < n - 20) {
        uint64_t r = zk_test_rand(&seed);
        if (r % 1000 == 0) {
            memcpy(doc + n_doc, "\\u20ac", 6);
            memcpy(wanted + n_wanted, "\xe2\x82\xac", 3);
            n_doc += 6, n_wanted += 3;
        } else {
            doc[n_doc++] = wanted[n_wanted++] = (char)('a' + r % 26);
        }
    }
    doc[n_doc++] = '"';
    zk_json *json = new_json(NULL);
    for (size_t piece = 1; piece < 2 * n; piece = piece * 37 + 1) {
        size_t n_got = 0, at = 0;
        cuzk_err err = {0};
        zk_json_event e = {0};
        bool ended = false;
        zk_json_reset(json);
        do {
            size_t k = n_doc - at < piece ? n_doc - at : piece;
            zk_json_feed(json, doc + at, k, at + k == n_doc);
            at += k;
            for (;;) {
                ZK_CHECK_OK(zk_json_next(json, &e, &err), err);
                if (e.kind != ZK_JSON_STRING) break;
                ZK_CHECK(!ended && e.first == (n_got == 0) && n_got + e.n_text <= n_wanted);
                memcpy(got + n_got, e.text, e.n_text);
                n_got += e.n_text;
                ended = e.last;
            }
        } while (e.kind == ZK_JSON_MORE);
        ZK_CHECK(e.kind == ZK_JSON_DONE && ended && n_got == n_wanted && zk_json_offset(json) == n_doc);
        ZK_CHECK_MEM(got, wanted, n_wanted);
    }
    zk_json_destroy(json);
    free(doc);
    free(got);
    free(wanted);
}

/* Reads {"a": BYTES...} in two pieces with a request for n bytes at each array start; result in out or a failure. */
static cuzk_status read_bytes(uint8_t *out, size_t n_want, const char *text, size_t cut, zk_json_kind *kind) {
    zk_json *json = new_json(NULL);
    size_t n = strlen(text);
    cuzk_err err = {0};
    cuzk_status status = CUZK_OK;
    *kind = ZK_JSON_DONE;
    zk_json_event e = {0};
    char *piece[2] = {malloc(cut + !cut), malloc(n - cut + (cut == n))};
    memcpy(piece[0], text, cut);
    memcpy(piece[1], text + cut, n - cut);
    zk_json_want_bytes(json, out, n_want);
    for (int i = 0; i < 2 && status == CUZK_OK; i++) {
        zk_json_feed(json, piece[i], i ? n - cut : cut, i == 1);
        while ((status = zk_json_next(json, &e, &err)) == CUZK_OK && e.kind != ZK_JSON_MORE && e.kind != ZK_JSON_DONE) {
            if (*kind == ZK_JSON_DONE) *kind = e.kind;
            if (e.kind == ZK_JSON_BYTES && (e.n_text != n_want || e.text != (char *)out || e.depth != 0))
                status = CUZK_INTERNAL;
        }
    }
    free(piece[0]);
    free(piece[1]);
    zk_json_destroy(json);
    return status;
}

static void test_bytes(void) {
    char text[2000], *p = text;
    uint8_t wanted[256], out[256];
    *p++ = '[';
    for (int i = 0; i < 256; i++) {
        wanted[i] = (uint8_t)(i * 167 + 13);
        p += sprintf(p, "%d,", wanted[i]);
    }
    p[-1] = ']';
    *p = 0;
    zk_json_kind kind;
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        memset(out, 0xee, sizeof out);
        ZK_CHECKF(read_bytes(out, 256, text, cut, &kind) == CUZK_OK && kind == ZK_JSON_BYTES, "cut %zu", cut);
        ZK_CHECK_MEM(out, wanted, 256);
    }
    static const struct {
        const char *text;
        size_t n;
        bool ok;
    } cases[] = {
        {"[]", 0, true},         {"[ ]", 0, true},        {"[1]", 1, true},          {"[ 1 , 2\n,\t3\r]", 3, true},
        {"[0,0,255]", 3, true},  {"[1,2,3]", 2, false},   {"[1,2,3,4,5]", 2, false}, {"[1,2,3]", 4, false},
        {"[]", 1, false},        {"[1]", 0, false},       {"[256,1,1]", 3, false},   {"[1,1,256]", 3, false},
        {"[999,1]", 2, false},   {"[1000,1]", 2, false},  {"[00,1,1]", 3, false},    {"[01,1,1]", 3, false},
        {"[001,1]", 2, false},   {"[1,007,1]", 3, false}, {"[1,1,07]", 3, false},    {"[-1,1,1]", 3, false},
        {"[1,,1,1]", 3, false},  {"[1,1,]", 2, false},    {"[,1,1]", 2, false},      {"[1 1,1]", 2, false},
        {"[1,1", 2, false},      {"[1,1,", 2, false},     {"[", 0, false},           {"[1,1}", 2, false},
        {"[1.0,1]", 2, false},   {"[1e0,1]", 2, false},   {"[1,[1]]", 2, false},     {"[1,null]", 2, false},
        {"[\"1\",1]", 2, false}, {"[1,1]]", 2, false},    {"[1,1] 1", 2, false},     {"[1,1:1]", 3, false},
        {"[1,2/3]", 3, false},   {"[1,2,;,3]", 4, false}, {"[1234567,1]", 2, false}, {"[12\xb1,1]", 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t cut = 0; cut <= strlen(cases[i].text); cut++)
            ZK_CHECKF((read_bytes(out, cases[i].n, cases[i].text, cut, &kind) == CUZK_OK) == cases[i].ok, "%s cut %zu",
                      cases[i].text, cut);
    /* other kinds come as usual, and drop the request */
    static const struct {
        const char *text;
        zk_json_kind kind;
    } others[] = {{"1", ZK_JSON_NUMBER},
                  {"\"1\"", ZK_JSON_STRING},
                  {"null", ZK_JSON_NULL},
                  {"{\"a\":[300]}", ZK_JSON_OBJECT_BEGIN}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ZK_CHECK(read_bytes(out, 3, others[i].text, 0, &kind) == CUZK_OK && kind == others[i].kind);
}

static void test_bytes_in_arrays(void) {
    static const char doc[] = "[[1,2,3],[4,5,6], [7,8,9 ] ,[10,11,12]]";
    zk_json *json = new_json(NULL);
    cuzk_err err = {0};
    zk_json_event e;
    uint8_t out[4][3];
    size_t n = 0;
    zk_json_feed(json, doc, sizeof doc - 1, true);
    ZK_CHECK_OK(zk_json_next(json, &e, &err), err);
    ZK_CHECK(e.kind == ZK_JSON_ARRAY_BEGIN);
    for (;; n++) {
        zk_json_want_bytes(json, out[n % 4], 3);
        ZK_CHECK_OK(zk_json_next(json, &e, &err), err);
        if (e.kind != ZK_JSON_BYTES) break;
        ZK_CHECK(e.depth == 1 && n < 4);
    }
    ZK_CHECK(e.kind == ZK_JSON_ARRAY_END && e.depth == 0 && n == 4);
    for (int i = 0; i < 12; i++) ZK_CHECK(out[i / 3][i % 3] == i + 1);
    ZK_CHECK_OK(zk_json_next(json, &e, &err), err);
    ZK_CHECK(e.kind == ZK_JSON_DONE);
    zk_json_destroy(json);
}

/* ---- documents ---- */

static zk_json_doc *parse(const char *text) {
    cuzk_err err = {0};
    zk_json_doc *doc;
    ZK_CHECK_OK(zk_json_parse(&doc, text, strlen(text), 0, &err), err);
    return doc;
}

static void test_dom(void) {
    zk_json_doc *doc = parse("{\"list\":[1,\"two\",[3,{\"four\":4}],-5.25,true,null],\"empty\":{},\"none\":[],"
                             "\"hex\":\"00ffA0\",\"bytes\":[0,128,255],\"big\":18446744073709551616,\"huge\":-1e309,"
                             "\"o\":{\"p\":{\"q\":\"r\"},\"s\":1}}");
    const zk_json_value *root = zk_json_root(doc), *list = zk_json_member_of(root, "list"), *v;
    cuzk_err err = {0};
    uint64_t u = 0;
    double d = 0;
    bool b = false;
    const char *s = NULL;
    uint8_t bytes[3];
    ZK_CHECK(zk_json_count(root) == 8 && zk_json_count(list) == 6);
    ZK_CHECK_OK(zk_json_get_u64(&u, zk_json_element_of(list, 0), 1, "one", &err), err);
    ZK_CHECK(u == 1);
    ZK_CHECK_OK(zk_json_get_string(&s, zk_json_element_of(list, 1), "two", &err), err);
    ZK_CHECK(strcmp(s, "two") == 0);
    v = zk_json_member_of(zk_json_element_of(zk_json_element_of(list, 2), 1), "four");
    ZK_CHECK_OK(zk_json_get_u64(&u, v, 100, "four", &err), err);
    ZK_CHECK(u == 4);
    ZK_CHECK_OK(zk_json_get_double(&d, zk_json_element_of(list, 3), "d", &err), err);
    ZK_CHECK(d == -5.25);
    ZK_CHECK_OK(zk_json_get_bool(&b, zk_json_element_of(list, 4), "b", &err), err);
    ZK_CHECK(b && zk_json_is(zk_json_element_of(list, 5), ZK_JSON_NULL));
    ZK_CHECK(zk_json_element_of(list, 6) == NULL && zk_json_member_of(root, "lis") == NULL &&
             zk_json_member_of(list, "x") == NULL);
    ZK_CHECK(zk_json_count(zk_json_member_of(root, "empty")) == 0 &&
             zk_json_is(zk_json_member_of(root, "none"), ZK_JSON_ARRAY_BEGIN));
    ZK_CHECK_OK(zk_json_get_hex(bytes, 3, zk_json_member_of(root, "hex"), "hex", &err), err);
    ZK_CHECK_MEM(bytes, "\x00\xff\xa0", 3);
    ZK_CHECK_OK(zk_json_get_bytes(bytes, 3, zk_json_member_of(root, "bytes"), "bytes", &err), err);
    ZK_CHECK_MEM(bytes, "\x00\x80\xff", 3);
    v = zk_json_member_of(zk_json_member_of(zk_json_member_of(root, "o"), "p"), "q");
    ZK_CHECK_OK(zk_json_get_string(&s, v, "q", &err), err);
    ZK_CHECK(*s == 'r');
    ZK_CHECK_OK(zk_json_get_member(&v, root, "o", ZK_JSON_OBJECT_BEGIN, &err), err);
    ZK_CHECK_OK(zk_json_get_member(&v, v, "s", ZK_JSON_DONE, &err), err);
    ZK_CHECK_OK(zk_json_get_double(&d, zk_json_member_of(root, "big"), "big", &err), err);
    ZK_CHECK(d == 18446744073709551616.0);

#define CHECK_BAD(expr, fragment)                                                                                      \
    do {                                                                                                               \
        zk_err_reset(&err);                                                                                            \
        ZK_CHECK((expr) == CUZK_BAD_INPUT);                                                                            \
        ZK_CHECKF(strstr(err.message, fragment), "%s", err.message);                                                   \
    } while (0)
    CHECK_BAD(zk_json_get_u64(&u, zk_json_member_of(root, "big"), 5, "big", &err), "big (byte ");
    CHECK_BAD(zk_json_get_u64(&u, zk_json_element_of(list, 0), 0, "one", &err),
              "found 1, expected an integer from 0 to 0");
    CHECK_BAD(zk_json_get_u64(&u, list, 5, "list", &err), "found an array, expected an integer");
    CHECK_BAD(zk_json_get_u64(&u, NULL, 5, "gone", &err), "gone: missing");
    CHECK_BAD(zk_json_get_hex(bytes, 2, zk_json_member_of(root, "hex"), "hex", &err), "expected 4 hex");
    CHECK_BAD(zk_json_get_hex(bytes, 4, zk_json_member_of(root, "hex"), "hex", &err), "expected 8 hex");
    CHECK_BAD(zk_json_get_bytes(bytes, 2, zk_json_member_of(root, "bytes"), "bytes", &err), "expected 2 bytes");
    CHECK_BAD(zk_json_get_bytes(bytes, 3, zk_json_member_of(root, "hex"), "hex", &err), "found a string");
    CHECK_BAD(zk_json_get_double(&d, zk_json_member_of(root, "huge"), "huge", &err), "found -1e309, expected a number");
    CHECK_BAD(zk_json_get_bool(&b, zk_json_element_of(list, 5), "b", &err), "found null");
    CHECK_BAD(zk_json_get_string(&s, list, "list", &err), "expected a string");
    CHECK_BAD(zk_json_get_member(&v, root, "o", ZK_JSON_STRING, &err), "o (byte ");
    CHECK_BAD(zk_json_get_member(&v, root, "zz", ZK_JSON_DONE, &err), "zz: missing");
    CHECK_BAD(zk_json_get_member(&v, list, "zz", ZK_JSON_DONE, &err), "expected an object");
    zk_json_doc_destroy(doc);
    doc = parse("\"a\\u0000b\"");
    CHECK_BAD(zk_json_get_string(&s, zk_json_root(doc), "zero", &err), "zero byte");
    ZK_CHECK(zk_json_root(doc)->n == 3);
    zk_json_doc_destroy(doc);
}

static void test_dom_accepts_and_rejects(void) {
    cuzk_err err = {0};
    zk_json_doc *doc;
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        ZK_CHECK_OK(zk_json_parse(&doc, accepted[i].text, accepted[i].n, 0, &err), err);
        zk_json_doc_destroy(doc);
    }
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        zk_err_reset(&err);
        ZK_CHECK(zk_json_parse(&doc, rejected[i].text, rejected[i].n, 0, &err) == CUZK_BAD_INPUT && doc == NULL);
    }
    CHECK_BAD(zk_json_parse(&doc, "{\"a\":1,\"b\":2,\"a\":3}", 19, 0, &err), "second member \"a\"");
    CHECK_BAD(zk_json_parse(&doc, "[{\"\":1,\"\":2}]", 13, 0, &err), "second member \"\"");
    zk_json_doc_destroy(parse("{\"a\":1,\"ab\":2,\"b\":3,\"\":4}"));
}

static void test_dom_memory_limit(void) {
    char text[4001];
    size_t n = 0;
    text[n++] = '[';
    while (n < 3998) text[n++] = '0', text[n++] = ',';
    text[n - 1] = ']';
    cuzk_err err = {0};
    zk_json_doc *doc;
    ZK_CHECK(zk_json_parse(&doc, text, n, 10000, &err) == CUZK_OUT_OF_MEMORY && doc == NULL);
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_json_parse(&doc, text, n, 1000000, &err), err);
    ZK_CHECK(zk_json_count(zk_json_root(doc)) == 1999);
    zk_json_doc_destroy(doc);
}

static void test_dom_allocation_failures(void) {
    size_t n_failed = 0;
    for (uint64_t nth = 1;; nth++) {
        cuzk_err err = {0};
        zk_json_doc *doc = NULL;
        zk_alloc_fail_nth(nth);
        cuzk_status status = zk_json_parse(&doc, rich, sizeof rich - 1, 0, &err);
        bool failed = zk_alloc_failed();
        zk_alloc_fail_nth(0);
        ZK_CHECKF((status == CUZK_OUT_OF_MEMORY) == failed && (doc == NULL) == failed, "allocation %llu",
                  (unsigned long long)nth);
        zk_json_doc_destroy(doc);
        if (!failed) break;
        n_failed++;
    }
    ZK_CHECK(n_failed >= 5);
}

static void test_dom_file(void) {
    char path[] = "/tmp/zk-json-XXXXXX";
    int fd = mkstemp(path);
    ZK_CHECK(fd >= 0 && write(fd, "{\"a\":[1,2}", 10) == 10);
    close(fd);
    cuzk_err err = {0};
    zk_json_doc *doc;
    CHECK_BAD(zk_json_parse_file(&doc, path, 100, &err), "/tmp/zk-json-");
    ZK_CHECK(strstr(err.message, "byte 9: found '}', expected ',' or ']'"));
    CHECK_BAD(zk_json_parse_file(&doc, path, 9, &err), "more than 9 bytes");
    zk_err_reset(&err);
    ZK_CHECK_OK(zk_file_write(path, LIT("{\"a\":[1,2]}"), &err), err);
    ZK_CHECK_OK(zk_json_parse_file(&doc, path, 100, &err), err);
    ZK_CHECK(zk_json_count(zk_json_member_of(zk_json_root(doc), "a")) == 2);
    zk_json_doc_destroy(doc);
    unlink(path);
    zk_err_reset(&err);
    ZK_CHECK(zk_json_parse_file(&doc, path, 100, &err) == CUZK_NOT_FOUND);
}

ZK_TEST_MAIN(ZK_CASE(test_accepts), ZK_CASE(test_rejects), ZK_CASE(test_events), ZK_CASE(test_all_splits_of_rich),
             ZK_CASE(test_limits), ZK_CASE(test_failure_is_final), ZK_CASE(test_long_strings), ZK_CASE(test_bytes),
             ZK_CASE(test_bytes_in_arrays), ZK_CASE(test_dom), ZK_CASE(test_dom_accepts_and_rejects),
             ZK_CASE(test_dom_memory_limit), ZK_CASE(test_dom_allocation_failures), ZK_CASE(test_dom_file))
