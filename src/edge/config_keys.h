/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_keys - the table of keys: the only place that knows one. For the files of the
 * configuration only.
 */
#ifndef TOPOFIT_CONFIG_KEYS_H
#define TOPOFIT_CONFIG_KEYS_H

#include "topofit/config.h"

enum key_type {
    KEY_TEXT,
    KEY_TEXTS,   /* a list of texts */
    KEY_FILE,    /* a text: a path, relative to the file that says it */
    KEY_FILES,   /* a list of them */
    KEY_ADDRESS, /* a text: see listen_address.h */
    KEY_NUMBER,
    KEY_DURATION, /* "500ms", "6s", "2m"; kept in ms */
    KEY_BOOL,
    KEY_CHOICE,
};

/* What a reload does with a key. Texts are FIXED: others hold pointers to them. */
enum key_life {
    FIXED = 0, /* a restart takes it over */
    RELOADED,
};

struct word {
    const char *text;
    int value;
};

struct key {
    const char *name; /* "group.key" */
    enum key_type type;
    enum key_life life;
    size_t offset;
    const char *fallback; /* the default, as a person would write it */
    uint64_t min, max;    /* of numbers and durations */
    const struct word *words;
    const char *purpose;
};

extern const struct key config_keys[];
extern const size_t config_key_count;

#endif
