/* Reading one window's digits off many digit strings (msm/recode.h). */
#ifndef ZK_MSM_LANES_DIGITS_H
#define ZK_MSM_LANES_DIGITS_H

#include "msm/recode.h"

typedef struct digit_reader {
    unsigned limb, shift, spill;
    uint64_t mask;
    int32_t half;
} digit_reader;

static digit_reader digit_reader_of(const zk_windows *w, unsigned window) {
    unsigned bit = window * w->c, n_bits = window + 1 < w->n ? w->c : w->bits - bit;
    return (digit_reader){.limb = bit / 64,
                          .shift = bit % 64,
                          .spill = bit % 64 + n_bits > 64,
                          .mask = ((uint64_t)1 << n_bits) - 1,
                          .half = (int32_t)1 << (n_bits - 1)};
}

static inline int32_t read_digit(const digit_reader *d, const uint64_t *u) {
    uint64_t v = u[d->limb] >> d->shift;
    if (d->spill) v |= u[d->limb + 1] << (64 - d->shift);
    return (int32_t)(v & d->mask) - d->half;
}

#endif
