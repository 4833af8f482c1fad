/* Growing arrays of the program layer. */
#ifndef ZK_PROGRAM_GROW_H
#define ZK_PROGRAM_GROW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

/* A growing array: `n` items in use, room for `cap`. All zero is empty. */
#define ZK_LIST(item)                                                                                                  \
    struct {                                                                                                           \
        item *items;                                                                                                   \
        size_t n, cap;                                                                                                 \
    }

/* The array, moved to where `need` items fit, and *cap what fits there; NULL (nothing changed) when out of memory. */
static inline void *zk_grown(void *items, size_t *cap, size_t need, size_t item_bytes) {
    size_t n = *cap < 16 ? 16 : *cap;
    while (n < need) {
        if (n > SIZE_MAX / 2) return NULL;
        n *= 2;
    }
    if (n > SIZE_MAX / item_bytes) return NULL;
    void *grown = zk_realloc(items, n * item_bytes);
    if (grown) *cap = n;
    return grown;
}

/* Makes room for `need` items in all; false when out of memory. */
#define ZK_RESERVE(list, need)                                                                                         \
    __extension__({                                                                                                    \
        bool zk_ok_ = (size_t)(need) <= (list)->cap;                                                                   \
        if (!zk_ok_) {                                                                                                 \
            void *zk_grown_ = zk_grown((list)->items, &(list)->cap, (need), sizeof *(list)->items);                    \
            if (zk_grown_) (list)->items = zk_grown_;                                                                  \
            zk_ok_ = zk_grown_ != NULL;                                                                                \
        }                                                                                                              \
        zk_ok_;                                                                                                        \
    })

/* Appends one item; false when out of memory. */
#define ZK_PUSH(list, ...)                                                                                             \
    (ZK_RESERVE(list, (list)->n + 1) ? ((list)->items[(list)->n++] = (__VA_ARGS__), true) : false)

#endif
