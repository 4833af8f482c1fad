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

/* ---- config.c ---- */
/* Makes the sentence and gives it to warn (may be NULL), cut at 511 bytes. */
__attribute__((format(printf, 3, 4))) void zk_config_say(zk_config_warn_fn warn, void *ctx, const char *format, ...);

#endif
