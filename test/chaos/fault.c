/* SPDX-License-Identifier: Apache-2.0 */
/* fault - what the hostile server does to a request, and which requests it does it to. */
#include "fault.h"

#include "support/api_model.h"
#include "topofit/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word, *arguments, *text;
} FAULT_WORDS[] = {[FAULT_NONE] = {"none", "", "answers as a good server"},
#define X(name, word, arguments, text) [FAULT_##name] = {word, arguments, text},
                   FAULTS(X)
#undef X
};

static const char *const VERB_WORDS[] = {
    [VERB_ANY] = "any",     [VERB_LIST] = "list", [VERB_PAGE] = "page",
    [VERB_WATCH] = "watch", [VERB_GET] = "get",   [VERB_BIND] = "bind",
    [VERB_POST] = "post",   [VERB_PUT] = "put",   [VERB_PATCH] = "patch",
};

int fault_target_read(const char *word, struct fault_target *out, struct error *err)
{
    const char *colon = strchr(word, ':');
    size_t length = colon != NULL ? (size_t)(colon - word) : strlen(word);

    *out = (struct fault_target){0};
    snprintf(out->resource, sizeof out->resource, "%s", colon != NULL ? colon + 1 : "");
    for (size_t i = 0; i < ARRAY_LEN(VERB_WORDS); i++) {
        if (strlen(VERB_WORDS[i]) == length && strncmp(VERB_WORDS[i], word, length) == 0) {
            out->verb = (enum fault_verb)i;
            return 0;
        }
    }
    return error_set(err, ERR_INVALID, "no requests are called \"%s\"; see --help", word);
}

/* Arguments that are not in brackets must be there. */
static size_t arguments_needed(const char *arguments)
{
    size_t count = 0;

    for (const char *c = arguments; *c != '\0' && *c != '['; c++)
        count += c == arguments || (c[-1] == ' ' && *c != ' ');
    return count;
}

int fault_read(const char *words, struct fault *out, struct error *err)
{
    char name[32] = "";
    unsigned numbers[2] = {0, 0};
    int count = sscanf(words, "%31s %u %u", name, &numbers[0], &numbers[1]);

    for (size_t i = 0; count >= 1 && i < ARRAY_LEN(FAULT_WORDS); i++) {
        if (strcmp(FAULT_WORDS[i].word, name) != 0)
            continue;
        if ((size_t)count - 1 < arguments_needed(FAULT_WORDS[i].arguments))
            return error_set(err, ERR_INVALID, "%s needs %s", name, FAULT_WORDS[i].arguments);
        *out = (struct fault){(enum fault_action)i, {numbers[0], numbers[1]}};
        return 0;
    }
    return error_set(err, ERR_INVALID, "no fault is called \"%s\"; see --help", name);
}

static enum fault_verb verb_of_get(const char *path)
{
    const char *end = path + strcspn(path, "?");
    const char *last = end;

    if (api_path_is_watch(path))
        return VERB_WATCH;
    while (last > path && last[-1] != '/')
        last--;
    if (strncmp(last, "pods", 4) != 0 && strncmp(last, "nodes", 5) != 0 &&
        strncmp(last, "leases", 6) != 0 && strncmp(last, "events", 6) != 0)
        return VERB_GET;
    return strstr(path, "continue=") != NULL ? VERB_PAGE : VERB_LIST;
}

enum fault_verb fault_verb_of(const char *method, const char *path)
{
    if (strcmp(method, "GET") == 0)
        return verb_of_get(path);
    if (strcmp(method, "PUT") == 0)
        return VERB_PUT;
    if (strcmp(method, "PATCH") == 0)
        return VERB_PATCH;
    return strstr(path, "/binding") != NULL ? VERB_BIND : VERB_POST;
}

bool fault_target_takes(const struct fault_target *target, const char *method, const char *path)
{
    enum fault_verb verb = fault_verb_of(method, path);
    AUTO_FREE char *part = xasprintf("/%s", target->resource);

    if (target->verb != VERB_ANY && target->verb != verb &&
        !(target->verb == VERB_LIST && verb == VERB_PAGE))
        return false;
    return target->resource[0] == '\0' || strstr(path, part) != NULL;
}

void fault_describe(struct buf *out)
{
    for (size_t i = 1; i < ARRAY_LEN(FAULT_WORDS); i++)
        buf_addf(out, "  %-16s %-22s %s\n", FAULT_WORDS[i].word, FAULT_WORDS[i].arguments,
                 FAULT_WORDS[i].text);
    buf_add_text(out, "\nREQUESTS: ");
    for (size_t i = 0; i < ARRAY_LEN(VERB_WORDS); i++)
        buf_addf(out, "%s%s", i > 0 ? ", " : "", VERB_WORDS[i]);
    buf_add_text(out, "; with a resource behind a colon: watch:pods\n");
}
