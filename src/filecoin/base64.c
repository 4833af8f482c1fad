#include "filecoin/base64.h"

#define BAD 0xff

/* Value of a character below 128. */
static const uint8_t values[128] = {
    BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD,
    BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, BAD, 62,
    BAD, BAD, BAD, 63,  52,  53,  54,  55,  56,  57,  58,  59,  60,  61,  BAD, BAD, BAD, BAD, BAD, BAD, BAD, 0,
    1,   2,   3,   4,   5,   6,   7,   8,   9,   10,  11,  12,  13,  14,  15,  16,  17,  18,  19,  20,  21,  22,
    23,  24,  25,  BAD, BAD, BAD, BAD, BAD, BAD, 26,  27,  28,  29,  30,  31,  32,  33,  34,  35,  36,  37,  38,
    39,  40,  41,  42,  43,  44,  45,  46,  47,  48,  49,  50,  51,  BAD, BAD, BAD, BAD, BAD};

static inline uint32_t value_of(char c) { return (uint8_t)c < 128 ? values[(uint8_t)c] : BAD; }

cuzk_status zk_base64_decode(uint8_t *out, size_t *n_out, zk_base64 *state, const char *text, size_t n, cuzk_err *err) {
    uint8_t *start = out;
    size_t i = 0;
    while (i < n) {
        /* Whole groups while nothing is pending; anything odd goes through the slow path below. */
        if (state->n_chars == 0 && state->n_pads == 0) {
            for (; n - i >= 4; i += 4, out += 3) {
                uint32_t a = value_of(text[i]), b = value_of(text[i + 1]);
                uint32_t c = value_of(text[i + 2]), d = value_of(text[i + 3]);
                if ((a | b | c | d) == BAD) break;
                uint32_t bits = a << 18 | b << 12 | c << 6 | d;
                out[0] = (uint8_t)(bits >> 16), out[1] = (uint8_t)(bits >> 8), out[2] = (uint8_t)bits;
                state->position += 4;
            }
            if (i == n) break;
        }
        char c = text[i++];
        uint32_t value = value_of(c);
        if (c == '=') {
            unsigned bits_left = state->n_chars == 2 ? 4 : 2; /* of the last character, which must be zero */
            if (state->n_chars + state->n_pads > 3 || (state->n_pads == 0 && state->n_chars < 2))
                return ZK_FAIL(err, CUZK_BAD_INPUT, "base64: character %llu: padding in a wrong place",
                               (unsigned long long)state->position);
            if (state->n_pads == 0) {
                if (state->bits & ((1u << bits_left) - 1))
                    return ZK_FAIL(err, CUZK_BAD_INPUT, "base64: character %llu: the bits before the padding are not 0",
                                   (unsigned long long)state->position);
                uint32_t bits = state->bits >> bits_left;
                if (state->n_chars == 3) *out++ = (uint8_t)(bits >> 8);
                *out++ = (uint8_t)bits;
            }
            state->n_pads++;
        } else if (value == BAD || state->n_pads > 0) {
            return ZK_FAIL(err, CUZK_BAD_INPUT, "base64: character %llu: found code %u, expected %s",
                           (unsigned long long)state->position, (uint8_t)c,
                           state->n_pads > 0 ? "the end" : "one of A-Z a-z 0-9 + / =");
        } else {
            state->bits = state->bits << 6 | value;
            if (++state->n_chars == 4) {
                out[0] = (uint8_t)(state->bits >> 16), out[1] = (uint8_t)(state->bits >> 8),
                out[2] = (uint8_t)state->bits;
                out += 3;
                state->n_chars = 0, state->bits = 0;
            }
        }
        state->position++;
    }
    *n_out = (size_t)(out - start);
    return CUZK_OK;
}

cuzk_status zk_base64_finish(const zk_base64 *state, cuzk_err *err) {
    if (state->n_pads > 0 ? state->n_chars + state->n_pads == 4 : state->n_chars == 0) return CUZK_OK;
    return ZK_FAIL(err, CUZK_BAD_INPUT, "base64: ends after %llu characters, expected a multiple of 4",
                   (unsigned long long)state->position);
}
