#include "base/base64.h"

#include <stdio.h>

#include "base/bytes.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* 64 + the value of a character of the alphabet; 0 for every other. */
static const uint8_t values[256] = {
    ['A'] = 64,  65,  66,  67,  68,  69,  70,  71,  72,  73,  74,          75,          76,
    77,          78,  79,  80,  81,  82,  83,  84,  85,  86,  87,          88,          89,
    ['a'] = 90,  91,  92,  93,  94,  95,  96,  97,  98,  99,  100,         101,         102,
    103,         104, 105, 106, 107, 108, 109, 110, 111, 112, 113,         114,         115,
    ['0'] = 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, ['+'] = 126, ['/'] = 127,
};

static cuzk_status fail(const zk_base64 *state, const char *found, const char *expected, cuzk_err *err) {
    return ZK_FAIL(err, CUZK_BAD_INPUT, "base64: character %llu: found %s, expected %s",
                   (unsigned long long)state->offset, found, expected);
}

static cuzk_status decode_one(uint8_t **out, zk_base64 *state, uint8_t c, cuzk_err *err) {
    char found[16];
    if (c >= 0x20 && c < 0x7f)
        snprintf(found, sizeof found, "'%c'", c);
    else
        snprintf(found, sizeof found, "byte 0x%02x", c);
    if (c == '=') {
        if (state->n_padding ? state->n_padding != 1 || state->n_digits != 2 : state->n_digits < 2)
            return fail(state, found, state->n_padding ? "the end of the text" : "a digit of the alphabet", err);
        if (state->n_padding == 0) {
            uint32_t bits = state->bits;
            unsigned n_bytes = state->n_digits - 1;
            if (bits & (n_bytes == 1 ? 15 : 3))
                return fail(state, found, "unused bits of the last digit to be zero", err);
            if (n_bytes == 1)
                *(*out)++ = (uint8_t)(bits >> 4);
            else
                *(*out)++ = (uint8_t)(bits >> 10), *(*out)++ = (uint8_t)(bits >> 2);
        }
        state->n_padding++;
    } else {
        if (state->n_padding)
            return fail(state, found, state->n_digits + state->n_padding < 4 ? "'='" : "the end of the text", err);
        uint8_t value = values[c];
        if (value == 0) return fail(state, found, "a digit of the alphabet", err);
        state->bits = state->bits << 6 | (value & 63);
        if (++state->n_digits == 4) {
            *(*out)++ = (uint8_t)(state->bits >> 16);
            *(*out)++ = (uint8_t)(state->bits >> 8);
            *(*out)++ = (uint8_t)state->bits;
            state->bits = state->n_digits = 0;
        }
    }
    state->offset++;
    return CUZK_OK;
}

cuzk_status zk_base64_decode(uint8_t *out, size_t *n_out, zk_base64 *state, const char *text, size_t n_text,
                             cuzk_err *err) {
    const uint8_t *p = (const uint8_t *)text, *end = p + n_text;
    uint8_t *at = out;
    *n_out = 0;
    while (p < end) {
        if (state->n_digits == 0 && state->n_padding == 0) {
            const uint8_t *begin = p;
            for (; end - p >= 4; p += 4, at += 3) {
                uint32_t a = values[p[0]], b = values[p[1]], c = values[p[2]], d = values[p[3]];
                if (!(a & b & c & d & 64)) break;
                uint32_t bits = (a & 63) << 18 | (b & 63) << 12 | (c & 63) << 6 | (d & 63);
                at[0] = (uint8_t)(bits >> 16);
                at[1] = (uint8_t)(bits >> 8);
                at[2] = (uint8_t)bits;
            }
            state->offset += (uint64_t)(p - begin);
            if (p == end) break;
        }
        ZK_TRY(decode_one(&at, state, *p++, err));
    }
    *n_out = (size_t)(at - out);
    return CUZK_OK;
}

cuzk_status zk_base64_finish(const zk_base64 *state, cuzk_err *err) {
    if (state->n_digits == 0 || state->n_digits + state->n_padding == 4) return CUZK_OK;
    return fail(state, "the end of the text",
                state->n_digits == 1 ? "a digit of the alphabet" : "a complete group of four", err);
}

void zk_base64_encode(char *text, const uint8_t *data, size_t n) {
    for (; n >= 3; n -= 3, data += 3, text += 4) {
        uint32_t bits = (uint32_t)data[0] << 16 | (uint32_t)data[1] << 8 | data[2];
        for (int i = 0; i < 4; i++) text[i] = digits[bits >> (18 - 6 * i) & 63];
    }
    if (n) {
        uint32_t bits = (uint32_t)data[0] << 16 | (n == 2 ? (uint32_t)data[1] << 8 : 0);
        text[0] = digits[bits >> 18];
        text[1] = digits[bits >> 12 & 63];
        text[2] = n == 2 ? digits[bits >> 6 & 63] : '=';
        text[3] = '=';
        text += 4;
    }
    *text = 0;
}
