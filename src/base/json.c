#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/utf8.h"

#define MAX_DEPTH 1024

typedef enum expect {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* after [ */
    EXPECT_KEY,          /* after a comma in an object */
    EXPECT_KEY_OR_END,   /* after { */
    EXPECT_COLON,
    EXPECT_COMMA_OR_END,
    EXPECT_NOTHING, /* after the document's value */
} expect;

static const char *const expect_texts[] = {
    "a value",      "a value or ']'", "a quoted name", "a quoted name or '}'", "':'", "',' or the end of the container",
    "nothing more",
};

/* The token that the last buffer cut in two, if any. */
typedef enum token { TOKEN_NONE, TOKEN_STRING, TOKEN_NUMBER, TOKEN_LITERAL, TOKEN_BYTES } token;

typedef enum string_state {
    STRING_TEXT,
    STRING_ESCAPE,     /* after a backslash */
    STRING_HEX,        /* in the digits of \u */
    STRING_LOW_ESCAPE, /* after a high surrogate: backslash */
    STRING_LOW_U,      /* and u */
} string_state;

typedef enum number_state {
    NUMBER_START,
    NUMBER_MINUS,
    NUMBER_ZERO,
    NUMBER_DIGITS,
    NUMBER_POINT,
    NUMBER_FRACTION,
    NUMBER_E,
    NUMBER_E_SIGN,
    NUMBER_E_DIGITS,
    NUMBER_END, /* the byte is not part of the number, which is complete */
    NUMBER_BAD,
} number_state;

typedef enum bytes_state {
    BYTES_FIRST, /* after [ */
    BYTES_NEXT,  /* after a comma */
    BYTES_DIGITS,
    BYTES_AFTER, /* after a number */
} bytes_state;

struct zk_json {
    const uint8_t *p, *end, *start; /* the buffer; offset of *start is start_offset */
    uint64_t start_offset;
    bool last;
    bool failed;
    expect expect;
    token token;
    uint64_t token_offset;
    unsigned depth;
    uint64_t is_object[MAX_DEPTH / 64]; /* bit d: container at depth d is an object */

    bool is_key, first_fragment;
    string_state string;
    uint32_t code, high;        /* code point in the making, high surrogate before it */
    unsigned n_hex;             /* digits of it so far */
    unsigned utf8_left;         /* continuation bytes still due */
    uint8_t utf8_min, utf8_max; /* bounds of the next one */
    bool scratch_given;         /* the scratch was handed out with the last event */
    number_state number;
    const char *literal; /* rest of true, false, null */
    zk_json_kind literal_kind;

    uint8_t *want; /* NULL: nothing asked for */
    size_t n_want, n_got;
    bytes_state bytes;
    unsigned byte_value, n_byte_digits;

    zk_json_limits limits;
    size_t n_scratch, scratch_bytes;
    char scratch[]; /* [scratch_bytes] decoded key, escaped string piece, cut number */
};

typedef enum step { STEP_EVENT, STEP_MORE, STEP_FAIL, STEP_CONTINUE } step;

cuzk_status zk_json_create(zk_json **json_out, const zk_json_limits *limits, cuzk_err *err) {
    *json_out = NULL;
    zk_json_limits l = limits ? *limits : (zk_json_limits){0};
    if (!l.max_depth) l.max_depth = 64;
    if (!l.max_key_bytes) l.max_key_bytes = 1024;
    if (!l.max_number_bytes) l.max_number_bytes = 128;
    if (l.max_depth > MAX_DEPTH)
        return ZK_FAIL(err, CUZK_USAGE, "json: depth limit %u, at most %u allowed", l.max_depth, MAX_DEPTH);
    size_t n = zk_max_size(zk_max_size(l.max_key_bytes, l.max_number_bytes), 512), n_bytes;
    /* Four bytes more: a key is found too long after the character that makes it so. */
    zk_json *json = zk_add_size(&n_bytes, n, sizeof *json + 4) ? zk_malloc(n_bytes) : NULL;
    if (!json) return ZK_FAIL(err, CUZK_OUT_OF_MEMORY, "json: no memory for a tokenizer with %zu bytes of text", n);
    json->limits = l;
    json->scratch_bytes = n;
    zk_json_reset(json);
    *json_out = json;
    return CUZK_OK;
}

void zk_json_destroy(zk_json *json) { free(json); }

void zk_json_reset(zk_json *json) {
    zk_json_limits limits = json->limits;
    size_t scratch_bytes = json->scratch_bytes;
    *json = (zk_json){.limits = limits, .scratch_bytes = scratch_bytes, .expect = EXPECT_VALUE};
}

void zk_json_feed(zk_json *json, const void *data, size_t n, bool last) {
    json->start_offset = zk_json_offset(json);
    json->p = json->start = n ? data : (const uint8_t *)"";
    json->end = json->p + n;
    json->last = last;
}

void zk_json_want_bytes(zk_json *json, uint8_t *out, size_t n) {
    json->want = out;
    json->n_want = n;
}

static uint64_t offset_of(const zk_json *json, const uint8_t *p) {
    return json->start_offset + (uint64_t)(p - json->start);
}

uint64_t zk_json_offset(const zk_json *json) { return json->start ? offset_of(json, json->p) : json->start_offset; }

/* Failure at the byte p. */
static step fail(zk_json *json, const uint8_t *p, const char *expected, cuzk_err *err) {
    char found[24] = "end of text";
    json->failed = true;
    if (p < json->end && *p >= 0x20 && *p < 0x7f)
        snprintf(found, sizeof found, "'%c'", *p);
    else if (p < json->end)
        snprintf(found, sizeof found, "byte 0x%02x", *p);
    ZK_FAIL(err, CUZK_BAD_INPUT, "json: byte %llu: found %s, expected %s", (unsigned long long)offset_of(json, p),
            found, expected);
    return STEP_FAIL;
}

static step fail_at_end(zk_json *json, const char *expected, cuzk_err *err) {
    return fail(json, json->end, expected, err);
}

static step fail_token(zk_json *json, const char *what, size_t allowed, cuzk_err *err) {
    json->failed = true;
    ZK_FAIL(err, CUZK_BAD_INPUT, "json: byte %llu: %s, at most %zu allowed", (unsigned long long)json->token_offset,
            what, allowed);
    return STEP_FAIL;
}

static inline bool in_object(const zk_json *json) {
    unsigned d = json->depth - 1;
    return json->is_object[d / 64] >> d % 64 & 1;
}

static inline void value_ended(zk_json *json) {
    json->token = TOKEN_NONE;
    json->expect = json->depth ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static inline bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* ---- strings ---- */

/* Whether any of the 8 bytes is a quote, a backslash, a control character or not ASCII. May err towards true. */
static inline bool has_special(uint64_t w) {
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
    return ((w - ones * 0x20) | (quote - ones) | (slash - ones) | w) & highs;
}

/* A character may be cut by the end of a buffer, so that its bytes are checked one by one. */
static bool utf8_start(zk_json *json, uint8_t c) {
    int n_following = zk_utf8_n_following(&json->utf8_min, &json->utf8_max, c);
    json->utf8_left = n_following > 0 ? (unsigned)n_following : 0;
    return n_following > 0;
}

static size_t utf8_encode(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(code | (n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0));
    return n;
}

static int hex_digit(uint8_t c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static step string_event(zk_json *json, zk_json_event *event, const char *text, size_t n_text, bool last) {
    event->kind = json->is_key ? ZK_JSON_KEY : ZK_JSON_STRING;
    event->depth = json->depth;
    event->offset = json->token_offset;
    event->text = text;
    event->n_text = n_text;
    event->first = json->first_fragment;
    event->last = last;
    json->first_fragment = false;
    json->scratch_given = text == json->scratch;
    if (last && json->is_key) {
        json->token = TOKEN_NONE;
        json->expect = EXPECT_COLON;
    } else if (last) {
        value_ended(json);
    }
    return STEP_EVENT;
}

/* One byte inside an escape; decoded text goes to the scratch. */
static step escape_byte(zk_json *json, const uint8_t *p, cuzk_err *err) {
    uint8_t c = *p;
    switch (json->string) {
    case STRING_ESCAPE: {
        if (c == 'u') {
            json->string = STRING_HEX;
            json->n_hex = 0;
            json->code = 0;
            return STEP_CONTINUE;
        }
        static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
        const char *at = c ? strchr(names, c) : NULL;
        if (!at) return fail(json, p, "one of \"\\/bfnrtu after a backslash", err);
        json->scratch[json->n_scratch++] = values[at - names];
        json->string = STRING_TEXT;
        return STEP_CONTINUE;
    }
    case STRING_HEX: {
        int digit = hex_digit(c);
        if (digit < 0) return fail(json, p, "four hexadecimal digits after \\u", err);
        json->code = json->code << 4 | (uint32_t)digit;
        if (++json->n_hex < 4) return STEP_CONTINUE;
        bool is_low = json->code >= 0xdc00 && json->code <= 0xdfff;
        if (is_low != (json->high != 0)) return fail(json, p, "surrogates in pairs, high before low", err);
        if (json->code >= 0xd800 && json->code <= 0xdbff) {
            json->high = json->code;
            json->string = STRING_LOW_ESCAPE;
            return STEP_CONTINUE;
        }
        if (is_low) json->code = 0x10000 + ((json->high - 0xd800) << 10) + (json->code - 0xdc00);
        json->high = 0;
        json->n_scratch += utf8_encode(json->scratch + json->n_scratch, json->code);
        json->string = STRING_TEXT;
        return STEP_CONTINUE;
    }
    case STRING_LOW_ESCAPE:
        if (c != '\\') return fail(json, p, "a low surrogate (\\uDC00 to \\uDFFF)", err);
        json->string = STRING_LOW_U;
        return STEP_CONTINUE;
    default:
        if (c != 'u') return fail(json, p, "a low surrogate (\\uDC00 to \\uDFFF)", err);
        json->string = STRING_HEX;
        json->n_hex = 0;
        json->code = 0;
        return STEP_CONTINUE;
    }
}

static step next_string(zk_json *json, zk_json_event *event, cuzk_err *err) {
    if (json->scratch_given) {
        json->scratch_given = false;
        json->n_scratch = 0;
    }
    size_t limit = json->is_key ? json->limits.max_key_bytes : json->scratch_bytes;
    const uint8_t *run = json->p, *p = run, *end = json->end;
    /* Text stands in the buffer until the first escape; from there to the end or to a full scratch it is copied. */
    bool copy = json->is_key || json->n_scratch || json->string != STRING_TEXT;
    while (p < end) {
        if (copy && json->n_scratch + 4 > limit) {
            if (json->is_key && json->n_scratch > limit) return fail_token(json, "name too long, bytes", limit, err);
            if (!json->is_key && json->high == 0) {
                json->p = p;
                return string_event(json, event, json->scratch, json->n_scratch, false);
            }
        }
        if (json->string != STRING_TEXT) {
            step s = escape_byte(json, p++, err);
            if (s != STEP_CONTINUE) return s;
            run = p;
            continue;
        }
        if (!json->utf8_left)
            while (end - p >= 8 && !has_special(zk_load_le64(p))) {
                if (copy && json->n_scratch + 12 > limit) break;
                if (copy) memcpy(json->scratch + json->n_scratch, p, 8), json->n_scratch += 8;
                p += 8;
            }
        if (p == end) break;
        uint8_t c = *p;
        if (json->utf8_left) {
            if (c < json->utf8_min || c > json->utf8_max) return fail(json, p, "a UTF-8 continuation byte", err);
            json->utf8_left--;
            json->utf8_min = 0x80;
            json->utf8_max = 0xbf;
        } else if (c == '"') {
            json->p = p + 1;
            return copy ? string_event(json, event, json->scratch, json->n_scratch, true)
                        : string_event(json, event, (const char *)run, (size_t)(p - run), true);
        } else if (c == '\\') {
            if (!copy && p > run) {
                json->p = p;
                return string_event(json, event, (const char *)run, (size_t)(p - run), false);
            }
            json->string = STRING_ESCAPE;
            copy = true;
            p++;
            continue;
        } else if (c < 0x20) {
            return fail(json, p, "no control character in a string", err);
        } else if (c >= 0x80 && !utf8_start(json, c)) {
            return fail(json, p, "UTF-8", err);
        }
        if (copy) json->scratch[json->n_scratch++] = (char)c;
        p++;
    }
    json->p = end;
    if (!copy && p > run) return string_event(json, event, (const char *)run, (size_t)(p - run), false);
    return json->last ? fail_at_end(json, "the closing quote of a string", err) : STEP_MORE;
}

/* ---- numbers and literals ---- */

static number_state number_byte(number_state state, uint8_t c) {
    bool digit = c >= '0' && c <= '9';
    switch (state) {
    case NUMBER_START:
        if (c == '-') return NUMBER_MINUS;
        /* fall through */
    case NUMBER_MINUS:
        return c == '0' ? NUMBER_ZERO : digit ? NUMBER_DIGITS : NUMBER_BAD;
    case NUMBER_DIGITS:
        if (digit) return NUMBER_DIGITS;
        /* fall through */
    case NUMBER_ZERO:
        return c == '.' ? NUMBER_POINT : (c | 0x20) == 'e' ? NUMBER_E : digit ? NUMBER_BAD : NUMBER_END;
    case NUMBER_POINT:
        return digit ? NUMBER_FRACTION : NUMBER_BAD;
    case NUMBER_FRACTION:
        return digit ? NUMBER_FRACTION : (c | 0x20) == 'e' ? NUMBER_E : NUMBER_END;
    case NUMBER_E:
        if (c == '+' || c == '-') return NUMBER_E_SIGN;
        /* fall through */
    case NUMBER_E_SIGN:
        return digit ? NUMBER_E_DIGITS : NUMBER_BAD;
    default:
        return digit ? NUMBER_E_DIGITS : NUMBER_END;
    }
}

static step number_event(zk_json *json, zk_json_event *event, const char *text, size_t n_text) {
    if (n_text > json->limits.max_number_bytes) n_text = json->limits.max_number_bytes;
    event->kind = ZK_JSON_NUMBER;
    event->depth = json->depth;
    event->offset = json->token_offset;
    event->text = text;
    event->n_text = n_text;
    uint64_t value = 0;
    bool ok = true;
    for (size_t i = 0; i < n_text && ok; i++) {
        uint8_t digit = (uint8_t)(text[i] - '0');
        ok = digit <= 9 && !__builtin_mul_overflow(value, 10u, &value) && !__builtin_add_overflow(value, digit, &value);
    }
    event->is_u64 = ok;
    event->u64 = ok ? value : 0;
    value_ended(json);
    return STEP_EVENT;
}

static step next_number(zk_json *json, zk_json_event *event, cuzk_err *err) {
    const uint8_t *p = json->p, *begin = p;
    number_state state = json->number;
    while (p < json->end) {
        number_state next = number_byte(state, *p);
        if (next == NUMBER_BAD)
            return fail(json, p, state == NUMBER_ZERO ? "no digit after a leading zero" : "a digit", err);
        if (next == NUMBER_END) {
            state = NUMBER_END;
            break;
        }
        state = next;
        p++;
    }
    size_t n = (size_t)(p - begin);
    if (json->n_scratch + n > json->limits.max_number_bytes)
        return fail_token(json, "number too long, bytes", json->limits.max_number_bytes, err);
    bool complete = state == NUMBER_END;
    if (p == json->end && json->last && !complete) {
        if (number_byte(state, ' ') != NUMBER_END) return fail_at_end(json, "a digit", err);
        complete = true;
    }
    json->p = p;
    json->number = state;
    if (complete && json->n_scratch == 0) return number_event(json, event, (const char *)begin, n);
    if (n) memcpy(json->scratch + json->n_scratch, begin, n);
    json->n_scratch += n;
    return complete ? number_event(json, event, json->scratch, json->n_scratch) : STEP_MORE;
}

/* The common number: a few digits with a delimiter behind them, all in the buffer. False: not that. */
static inline bool short_number(zk_json *json, zk_json_event *event) {
    const uint8_t *begin = json->p, *p = begin, *end = json->end;
    uint64_t value = 0;
    if (end - p > 18) end = p + 18;
    for (; p < end && *p >= '0' && *p <= '9'; p++) value = 10 * value + (*p - '0');
    size_t n = (size_t)(p - begin);
    if (p == end || n == 0 || (*begin == '0' && n > 1) || n > json->limits.max_number_bytes) return false;
    if (*p != ',' && *p != ']' && *p != '}' && !is_space(*p)) return false;
    *event = (zk_json_event){.kind = ZK_JSON_NUMBER,
                             .depth = json->depth,
                             .offset = offset_of(json, begin),
                             .text = (const char *)begin,
                             .n_text = n,
                             .is_u64 = true,
                             .u64 = value};
    json->p = p;
    value_ended(json);
    return true;
}

static step next_literal(zk_json *json, zk_json_event *event, cuzk_err *err) {
    for (; *json->literal; json->literal++, json->p++) {
        if (json->p == json->end && !json->last) return STEP_MORE;
        if (json->p == json->end || *json->p != (uint8_t)*json->literal)
            return fail(json, json->p, "true, false or null", err);
    }
    event->kind = json->literal_kind;
    event->depth = json->depth;
    event->offset = json->token_offset;
    value_ended(json);
    return STEP_EVENT;
}

/* ---- arrays of bytes ---- */

static step bytes_end(zk_json *json, zk_json_event *event, cuzk_err *err) {
    if (json->n_got != json->n_want) {
        json->failed = true;
        ZK_FAIL(err, CUZK_BAD_INPUT, "json: byte %llu: found an array of %zu bytes, expected %zu",
                (unsigned long long)json->token_offset, json->n_got, json->n_want);
        return STEP_FAIL;
    }
    event->kind = ZK_JSON_BYTES;
    event->depth = json->depth;
    event->offset = json->token_offset;
    event->text = (const char *)json->want;
    event->n_text = json->n_got;
    json->want = NULL;
    value_ended(json);
    return STEP_EVENT;
}

/* The numbers that are followed at once by a comma, while four bytes can be looked at. Without branches on the digits,
 * whose count nobody can predict. */
static void bytes_run(zk_json *json) {
    const uint8_t *p = json->p, *end = json->end;
    uint8_t *out = json->want + json->n_got, *out_end = json->want + json->n_want;
    while (end - p >= 4 && out < out_end) {
        uint32_t w = zk_load_le32(p) ^ 0x30303030u;
        /* High bit of each byte that is not 0..9; the first such byte ends the number. */
        uint32_t stops = (w | (w + 0x76767676u)) & 0x80808080u;
        if (!stops) break;
        unsigned n_bits = (unsigned)__builtin_ctz(stops) & 24; /* 8 * digits */
        if (n_bits == 0 || p[n_bits / 8] != ',') break;
        uint32_t digits = w << (32 - n_bits); /* last digit in the top byte, zeros below the first */
        uint32_t value = (digits >> 24) + 10 * (digits >> 16 & 0xff) + 100 * (digits >> 8 & 0xff);
        bool leading_zero = ((w & 0xff) == 0) & (n_bits != 8);
        if ((value > 255) | leading_zero) break;
        *out++ = (uint8_t)value;
        p += n_bits / 8 + 1;
    }
    if (p != json->p) json->bytes = BYTES_NEXT;
    json->p = p;
    json->n_got = (size_t)(out - json->want);
}

static step next_bytes(zk_json *json, zk_json_event *event, cuzk_err *err) {
    for (;;) {
        if (json->bytes == BYTES_FIRST || json->bytes == BYTES_NEXT) bytes_run(json);
        if (json->p == json->end) return json->last ? fail_at_end(json, "',' or ']'", err) : STEP_MORE;
        uint8_t c = *json->p;
        bool digit = c >= '0' && c <= '9';
        if (json->bytes == BYTES_DIGITS) {
            if (digit) {
                if (json->n_byte_digits == 1 && json->byte_value == 0)
                    return fail(json, json->p, "no digit after a leading zero", err);
                json->byte_value = 10 * json->byte_value + (c - '0');
                json->n_byte_digits++;
                if (json->byte_value > 255) return fail(json, json->p, "an integer from 0 to 255", err);
                json->p++;
                continue;
            }
            if (json->n_got == json->n_want) {
                json->n_got++; /* one too many is enough to know */
                return bytes_end(json, event, err);
            }
            json->want[json->n_got++] = (uint8_t)json->byte_value;
            json->bytes = BYTES_AFTER;
        }
        if (is_space(c)) {
            json->p++;
        } else if (json->bytes == BYTES_AFTER) {
            if (c != ',' && c != ']') return fail(json, json->p, "',' or ']' after an integer from 0 to 255", err);
            json->p++;
            json->bytes = BYTES_NEXT;
            if (c == ']') return bytes_end(json, event, err);
        } else if (c == ']' && json->bytes == BYTES_FIRST) {
            json->p++;
            return bytes_end(json, event, err);
        } else {
            if (!digit) return fail(json, json->p, "an integer from 0 to 255", err);
            json->bytes = BYTES_DIGITS;
            json->byte_value = json->n_byte_digits = 0;
        }
    }
}

/* ---- structure ---- */

static step open_container(zk_json *json, zk_json_event *event, bool object, cuzk_err *err) {
    json->token_offset = offset_of(json, json->p);
    if (json->depth >= json->limits.max_depth)
        return fail_token(json, "nested too deeply, levels", json->limits.max_depth, err);
    json->p++;
    if (!object && json->want) {
        json->token = TOKEN_BYTES;
        json->bytes = BYTES_FIRST;
        json->n_got = 0;
        return next_bytes(json, event, err);
    }
    json->want = NULL;
    uint64_t bit = (uint64_t)1 << json->depth % 64, *word = &json->is_object[json->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    event->kind = object ? ZK_JSON_OBJECT_BEGIN : ZK_JSON_ARRAY_BEGIN;
    event->depth = json->depth++;
    event->offset = json->token_offset;
    json->expect = object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
    return STEP_EVENT;
}

static step close_container(zk_json *json, zk_json_event *event) {
    event->kind = in_object(json) ? ZK_JSON_OBJECT_END : ZK_JSON_ARRAY_END;
    event->offset = offset_of(json, json->p);
    event->depth = --json->depth;
    json->p++;
    json->want = NULL;
    value_ended(json);
    return STEP_EVENT;
}

static step open_string(zk_json *json, zk_json_event *event, bool is_key, cuzk_err *err) {
    json->token_offset = offset_of(json, json->p++);
    json->token = TOKEN_STRING;
    json->is_key = is_key;
    json->first_fragment = true;
    json->string = STRING_TEXT;
    json->high = 0;
    json->utf8_left = 0;
    json->n_scratch = 0;
    json->scratch_given = false;
    return next_string(json, event, err);
}

static step open_value(zk_json *json, zk_json_event *event, cuzk_err *err) {
    uint8_t c = *json->p;
    if (c == '[' || c == '{') return open_container(json, event, c == '{', err);
    json->want = NULL;
    if (c == '"') return open_string(json, event, false, err);
    if (c == '-' || (c >= '0' && c <= '9')) {
        if (short_number(json, event)) return STEP_EVENT;
        json->token_offset = offset_of(json, json->p);
        json->token = TOKEN_NUMBER;
        json->number = NUMBER_START;
        json->n_scratch = 0;
        return next_number(json, event, err);
    }
    if (c != 't' && c != 'f' && c != 'n') return fail(json, json->p, expect_texts[json->expect], err);
    json->token_offset = offset_of(json, json->p);
    json->token = TOKEN_LITERAL;
    json->literal = c == 't' ? "true" : c == 'f' ? "false" : "null";
    json->literal_kind = c == 't' ? ZK_JSON_TRUE : c == 'f' ? ZK_JSON_FALSE : ZK_JSON_NULL;
    return next_literal(json, event, err);
}

static step next_structure(zk_json *json, zk_json_event *event, cuzk_err *err) {
    for (;;) {
        while (json->p < json->end && is_space(*json->p)) json->p++;
        if (json->p == json->end) {
            if (!json->last) return STEP_MORE;
            if (json->expect != EXPECT_NOTHING) return fail_at_end(json, expect_texts[json->expect], err);
            event->kind = ZK_JSON_DONE;
            event->offset = offset_of(json, json->p);
            event->depth = 0;
            return STEP_EVENT;
        }
        uint8_t c = *json->p;
        switch (json->expect) {
        case EXPECT_VALUE_OR_END:
            if (c == ']') return close_container(json, event);
            return open_value(json, event, err);
        case EXPECT_VALUE:
            return open_value(json, event, err);
        case EXPECT_KEY_OR_END:
            if (c == '}') return close_container(json, event);
            /* fall through */
        case EXPECT_KEY:
            if (c != '"') return fail(json, json->p, expect_texts[json->expect], err);
            return open_string(json, event, true, err);
        case EXPECT_COLON:
            if (c != ':') return fail(json, json->p, expect_texts[json->expect], err);
            json->p++;
            json->expect = EXPECT_VALUE;
            break;
        case EXPECT_COMMA_OR_END: {
            bool object = in_object(json);
            if (c == (object ? '}' : ']')) return close_container(json, event);
            if (c != ',') return fail(json, json->p, object ? "',' or '}'" : "',' or ']'", err);
            json->p++;
            json->expect = object ? EXPECT_KEY : EXPECT_VALUE;
            break;
        }
        default:
            return fail(json, json->p, expect_texts[json->expect], err);
        }
    }
}

static step next_any(zk_json *json, zk_json_event *event, cuzk_err *err) {
    switch (json->token) {
    case TOKEN_STRING:
        return next_string(json, event, err);
    case TOKEN_NUMBER:
        return next_number(json, event, err);
    case TOKEN_LITERAL:
        return next_literal(json, event, err);
    case TOKEN_BYTES:
        return next_bytes(json, event, err);
    default:
        return next_structure(json, event, err);
    }
}

cuzk_status zk_json_next(zk_json *json, zk_json_event *event, cuzk_err *err) {
    if (json->failed) return ZK_FAIL(err, CUZK_BAD_INPUT, "json: reading goes on after a failure");
    step s = next_any(json, event, err);
    if (s == STEP_FAIL) return CUZK_BAD_INPUT;
    if (s == STEP_MORE) event->kind = ZK_JSON_MORE;
    return CUZK_OK;
}
