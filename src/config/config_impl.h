/* What the files of this folder share. */
#ifndef ZK_CONFIG_IMPL_H
#define ZK_CONFIG_IMPL_H

#include "config/config.h"
#include "config/toml.h"

/* ---- value.c: one value of the table of keys ---- */
/* BAD_INPUT "key: found ..., expected ...": the old value stays. Text is without quotes, a list split at commas. */
cuzk_status zk_config_value_from_text(zk_config *config, const zk_config_key *key, const char *text,
                                      cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_config_value_from_toml(zk_config *config, const zk_config_key *key, const zk_toml_value *value,
                                      cuzk_err *err) ZK_MUST_USE;
void zk_config_value_free(zk_config *config, const zk_config_key *key);

/* As TOML writes it, whole; also what is secret. */
void zk_config_value_print(FILE *out, const zk_config *config, const zk_config_key *key);
bool zk_config_value_same(const zk_config *a, const zk_config *b, const zk_config_key *key);

/* Digits only, up to the first that is none; *text moves behind them. false: none, or beyond 2^64. */
bool zk_config_parse_digits(uint64_t *value, const char **text);

/* ---- judge.c: more than the first error ---- */
typedef struct zk_config_errors {
    struct zk_config_error {
        unsigned line; /* 0: of none */
        char *text;
    } * list;
    size_t n, capacity;
} zk_config_errors;
/* Hands the status on; but BAD_INPUT is kept in the list (NULL: there is none, or it is full) and all is well. */
cuzk_status zk_config_note(zk_config_errors *errors, unsigned line, cuzk_status status, cuzk_err *err) ZK_MUST_USE;

/* As the functions of config.h that are called so, with a list that may be NULL. */
cuzk_status zk_config_note_text(zk_config *config, zk_config_errors *errors, const char *text, size_t n,
                                const char *name, zk_config_warn_fn warn, void *ctx, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_config_note_environment(zk_config *config, zk_config_errors *errors, char *const *environment,
                                       zk_config_warn_fn warn, void *ctx, cuzk_err *err) ZK_MUST_USE;
cuzk_status zk_config_note_check(zk_config_errors *errors, const zk_config *config, zk_config_warn_fn warn, void *ctx,
                                 cuzk_err *err) ZK_MUST_USE; /* check.c */

/* ---- config.c ---- */
/* Makes the sentence and gives it to warn (may be NULL), cut at 511 bytes. */
__attribute__((format(printf, 3, 4))) void zk_config_say(zk_config_warn_fn warn, void *ctx, const char *format, ...);

#endif
