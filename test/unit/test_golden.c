/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden folders: whole calls, as bytes come and go. A new case is a new folder:
 *
 *   test/golden/<verb>/<case>/request.json   the body as kube-scheduler sends it
 *                             cluster.yaml   what is known then, as for --cluster
 *                             expected.json  the answer
 *                             config.yaml    optional: the configuration, else the defaults
 *                             record.json    optional, of bind: what the Binding carries in
 *                                            topofit.io/allocation; {} for nothing
 */
#include "support/harness.h"

#include "topofit/config.h"
#include "topofit/embedded.h"

#include <dirent.h>
#include <stdlib.h>

#define CASES_MAX 200
#define CONTEXT_LINES 3

/* --- comparing ------------------------------------------------------------------------------- */

struct lines {
    char *text; /* owned, cut at the ends of lines */
    const char **items;
    size_t count;
};

static struct lines lines_of(const json_t *json)
{
    struct lines lines = {.text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS)};
    size_t capacity = 0;
    char *rest = NULL;

    for (char *at = strtok_r(lines.text, "\n", &rest); at != NULL;
         at = strtok_r(NULL, "\n", &rest)) {
        lines.items = mem_grow(lines.items, lines.count, &capacity, sizeof *lines.items);
        lines.items[lines.count++] = at;
    }
    return lines;
}

static void lines_clear(struct lines *lines)
{
    free(lines->text);
    free(lines->items);
}

static void print_lines(const struct lines *lines, size_t from, size_t to, char sign)
{
    for (size_t i = from; i < to; i++)
        print_error("%c %s\n", sign, lines->items[i]);
}

/* From the first to the last line that differ, with a few around. */
static void print_difference(const json_t *expected, const json_t *got)
{
    AUTO(lines_clear) struct lines a = lines_of(expected);
    AUTO(lines_clear) struct lines b = lines_of(got);
    size_t head = 0, tail = 0;

    while (head < a.count && head < b.count && strcmp(a.items[head], b.items[head]) == 0)
        head++;
    while (tail < a.count - head && tail < b.count - head &&
           strcmp(a.items[a.count - 1 - tail], b.items[b.count - 1 - tail]) == 0)
        tail++;
    print_error("--- expected\n+++ got\n@@ line %zu @@\n", head + 1);
    print_lines(&a, head > CONTEXT_LINES ? head - CONTEXT_LINES : 0, head, ' ');
    print_lines(&a, head, a.count - tail, '-');
    print_lines(&b, head, b.count - tail, '+');
    print_lines(&a, a.count - tail, tail > CONTEXT_LINES ? a.count - tail + CONTEXT_LINES : a.count,
                ' ');
}

static void expect_json(const char *what, const char *expected_text, const char *got_text)
{
    json_error_t where;
    json_t *expected = json_loads(expected_text, JSON_REJECT_DUPLICATES, &where);
    json_t *got;

    if (expected == NULL)
        fail_msg("%s: line %d: %s", what, where.line, where.text);
    got = json_loads(got_text, JSON_REJECT_DUPLICATES, &where);
    if (got == NULL)
        fail_msg("%s: the answer is not JSON: %s", what, got_text);
    if (!json_equal(expected, got)) {
        print_difference(expected, got);
        fail_msg("%s differs", what);
    }
    json_decref(expected);
    json_decref(got);
}

/* --- one case -------------------------------------------------------------------------------- */

/* A file of a case; NULL when it is not there and need not be. */
static char *read_part(const char *folder, const char *part, bool is_needed)
{
    AUTO_FREE char *path = xasprintf("%s/%s", folder, part);
    FILE *file = fopen(path, "rb");

    if (file == NULL && !is_needed)
        return NULL;
    if (file != NULL)
        fclose(file);
    return test_read_file(path, NULL);
}

/* Passes Bindings on to embedded mode and remembers the record. */
struct recording_port {
    struct bind_port inner;
    char *record; /* "{}" while there is none */
};

static int record(void *ctx, struct bind_job *steal_job, struct error *err)
{
    struct recording_port *port = ctx;
    const char *value = bind_job_annotation(steal_job, "topofit.io/allocation");

    free(port->record);
    port->record = xstrdup(value != NULL ? value : "{}");
    return port->inner.submit(port->inner.ctx, steal_job, err);
}

static void configure(struct harness *harness, const char *folder)
{
    AUTO_FREE char *text = read_part(folder, "config.yaml", false);
    AUTO(config_clear) struct config config = {0};
    struct error err = {0};

    config_defaults(&config);
    if (text != NULL)
        assert_ok(config_read(&config, text, strlen(text), &err), &err);
    harness->extender.options.policy = config_policy(&config);
}

static void load(struct harness *harness, const char *folder)
{
    AUTO_FREE char *text = read_part(folder, "cluster.yaml", true);
    struct error err = {0};

    assert_ok(embedded_read(harness->cluster, &harness->classes, text, strlen(text), &err), &err);
}

static void keep_body(void *ctx, const char *body, size_t length)
{
    *(char **)ctx = xstrndup(body, length);
}

static char *answer_of(struct harness *harness, const char *verb, const char *request)
{
    struct error err = {0};
    char *answer = NULL;

    if (strcmp(verb, "filter") == 0)
        answer = ask_body(harness, extender_filter, request, &err);
    else if (strcmp(verb, "prioritize") == 0)
        answer = ask_body(harness, extender_prioritize, request, &err);
    else if (strcmp(verb, "preempt") == 0)
        answer = ask_body(harness, extender_preempt, request, &err);
    else if (strcmp(verb, "bind") == 0)
        extender_bind(&harness->extender, request, strlen(request), (struct moment){0}, keep_body,
                      &answer, &err);
    else
        fail_msg("test/golden/%s: there is no such verb", verb);
    if (answer == NULL)
        fail_msg("the request was refused: %s", err.text);
    return answer;
}

static void run_case(void **state)
{
    const char *const *words = *state; /* verb, folder */
    AUTO(harness_free) struct harness *harness = harness_new();
    AUTO_FREE char *request = read_part(words[1], "request.json", true);
    AUTO_FREE char *expected = read_part(words[1], "expected.json", true);
    AUTO_FREE char *expected_record = read_part(words[1], "record.json", false);
    AUTO_FREE char *answer = NULL;
    struct embedded_port embedded = {harness->cluster, &harness->classes};
    struct recording_port port = {embedded_bind_port(&embedded), xstrdup("{}")};

    harness->extender.binder = (struct bind_port){.ctx = &port, .submit = record};
    configure(harness, words[1]);
    load(harness, words[1]);
    answer = answer_of(harness, words[0], request);
    expect_json("the answer", expected, answer);
    if (expected_record != NULL)
        expect_json("the record", expected_record, port.record);
    free(port.record);
}

/* --- all cases ------------------------------------------------------------------------------- */

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static struct CMUnitTest cases[CASES_MAX];
static size_t case_count;

static void add_case(const char *verb, const char *name)
{
    const char **words = xcalloc(2, sizeof *words);

    if (case_count == CASES_MAX) {
        fprintf(stderr, "more than %d golden cases\n", CASES_MAX);
        abort();
    }
    words[0] = xstrdup(verb);
    words[1] = xasprintf("%s/%s/%s", TEST_GOLDEN, verb, name);
    cases[case_count++] = (struct CMUnitTest){.name = xasprintf("test_golden__%s/%s", verb, name),
                                              .test_func = run_case,
                                              .initial_state = words};
}

static void free_cases(void)
{
    for (size_t i = 0; i < case_count; i++) {
        const char **words = cases[i].initial_state;

        free((char *)words[0]);
        free((char *)words[1]);
        free(words);
        free((char *)cases[i].name);
    }
}

/* Each name in a folder, in order. */
static void walk(const char *folder, const char *verb, void (*visit)(const char *, const char *))
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_visible, alphasort);

    for (int i = 0; i < count; i++) {
        visit(verb, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

static void add_verb(const char *verb, const char *name)
{
    AUTO_FREE char *folder = xasprintf("%s/%s", TEST_GOLDEN, name);

    (void)verb;
    if (strcmp(name, "hami") != 0) /* no calls: test_hami_golden */
        walk(folder, name, add_case);
}

int main(void)
{
    int failed;

    walk(TEST_GOLDEN, "", add_verb);
    if (case_count == 0) {
        fprintf(stderr, "no cases below %s\n", TEST_GOLDEN);
        return 1;
    }
    failed = _cmocka_run_group_tests("golden", cases, case_count, NULL, NULL);
    free_cases();
    return failed;
}
