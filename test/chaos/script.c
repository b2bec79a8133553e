/* SPDX-License-Identifier: Apache-2.0 */
/* script - steps, one a line, that change the cluster or hurt the server. */
#include "script.h"

#include "topofit/mem.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 8
#define NAMESPACE "default"

/* One line, cut to words. */
struct step {
    const struct script_world *world;
    char *words[WORDS_MAX];
    size_t count;      /* with the step's own name */
    const char *tail;  /* what follows the second word, uncut */
    const char *tail2; /* ... the third word */
    uint64_t wait_ms;
};

static unsigned number(const struct step *step, size_t at)
{
    return at < step->count ? (unsigned)strtoul(step->words[at], NULL, 10) : 0;
}

static const char *word(const struct step *step, size_t at)
{
    return at < step->count ? step->words[at] : NULL;
}

static int found(bool is_there, const struct step *step, struct error *err)
{
    return is_there ? 0
                    : error_set(err, ERR_NOT_FOUND, "%s: there is no %s, or it cannot be",
                                step->words[0], step->words[1]);
}

/* --- the cluster ----------------------------------------------------------------------------- */

static int do_node(struct step *step, struct error *err)
{
    (void)err;
    api_model_put_node(step->world->model, &(struct api_node_spec){.name = step->words[1],
                                                                   .devices = number(step, 2),
                                                                   .memory_mib = number(step, 3),
                                                                   .slots = number(step, 4)});
    return 0;
}

static int do_remove_node(struct step *step, struct error *err)
{
    return found(api_model_remove_node(step->world->model, step->words[1]), step, err);
}

static int do_pod(struct step *step, struct error *err)
{
    const struct api_pod_spec spec = {.name = step->words[1],
                                      .devices = number(step, 2),
                                      .memory_mib = number(step, 3),
                                      .cores = number(step, 4),
                                      .scheduler = word(step, 5),
                                      /* So that chunks can end inside of a character. */
                                      .annotation_key = "example.com/note",
                                      .annotation_value = "für Ähren und Öl: наука, 科学"};

    return found(api_model_create_pod(step->world->model, &spec) != NULL, step, err);
}

static int do_delete(struct step *step, struct error *err)
{
    return found(
        api_model_delete_pod(step->world->model, NAMESPACE, step->words[1], number(step, 2)), step,
        err);
}

static int do_remove(struct step *step, struct error *err)
{
    return found(api_model_remove_pod(step->world->model, NAMESPACE, step->words[1]), step, err);
}

static int do_phase(struct step *step, struct error *err)
{
    return found(api_model_set_phase(step->world->model, NAMESPACE, step->words[1], step->words[2]),
                 step, err);
}

static int do_bind(struct step *step, struct error *err)
{
    return found(
        api_model_bind_elsewhere(step->world->model, NAMESPACE, step->words[1], step->words[2]),
        step, err);
}

static int do_recreate(struct step *step, struct error *err)
{
    return found(api_model_recreate_pod(step->world->model, NAMESPACE, step->words[1]) != NULL,
                 step, err);
}

static int do_compact(struct step *step, struct error *err)
{
    (void)err;
    server_compact(step->world->server);
    return 0;
}

/* --- the server ------------------------------------------------------------------------------ */

static int do_fault(struct step *step, struct error *err)
{
    struct fault_target target;
    struct fault fault;

    if (number(step, 1) == 0)
        return error_set(err, ERR_INVALID, "fault: how many requests?");
    if (fault_target_read(step->words[2], &target, err) < 0 ||
        fault_read(step->tail2, &fault, err) < 0)
        return -(int)err->code;
    server_add_fault(step->world->server, number(step, 1), &target, &fault);
    return 0;
}

static int do_stream(struct step *step, struct error *err)
{
    struct fault_target target;
    struct fault fault;

    if (fault_target_read(step->words[1], &target, err) < 0 ||
        fault_read(step->tail, &fault, err) < 0)
        return -(int)err->code;
    server_hurt_streams(step->world->server, &target, &fault);
    return 0;
}

static int do_heal(struct step *step, struct error *err)
{
    (void)err;
    server_clear_faults(step->world->server);
    return 0;
}

static int do_end_streams(struct step *step, struct error *err)
{
    (void)err;
    server_end_streams(step->world->server);
    return 0;
}

static int do_drop(struct step *step, struct error *err)
{
    (void)err;
    server_drop_connections(step->world->server);
    return 0;
}

static int do_option(struct step *step, struct error *err)
{
    struct api_options *options = api_model_options(step->world->model);
    const char *name = step->words[1];
    unsigned value = number(step, 2);

    if (strcmp(name, "zero-lag") == 0)
        options->zero_lag = value;
    else if (strcmp(name, "bookmark-ms") == 0)
        options->bookmark_ms = value;
    else if (strcmp(name, "page-max") == 0)
        options->page_max = value;
    else if (strcmp(name, "too-old-is-status") == 0)
        options->too_old_is_status = value != 0;
    else if (strcmp(name, "no-watch-list") == 0)
        options->refuses_watch_list = value != 0;
    else
        return error_set(err, ERR_INVALID, "no option is called \"%s\"", name);
    return 0;
}

static int do_wait(struct step *step, struct error *err)
{
    (void)err;
    step->wait_ms = number(step, 1);
    return 0;
}

/* --- reading --------------------------------------------------------------------------------- */

static const struct {
    const char *name, *arguments, *text;
    size_t needed; /* arguments */
    int (*execute)(struct step *step, struct error *err);
} STEPS[] = {
    {"node", "NAME DEVICES MIB [SLOTS]", "creates or changes a node", 3, do_node},
    {"remove-node", "NAME", "", 1, do_remove_node},
    {"pod", "NAME DEVICES MIB [CORES [SCHEDULER]]", "creates a pod; MIB 0: whole devices", 3,
     do_pod},
    {"delete", "POD SECONDS", "terminating, if it is bound and SECONDS > 0", 2, do_delete},
    {"remove", "POD", "gone at once", 1, do_remove},
    {"phase", "POD PHASE", "Running, Succeeded, Failed ...", 2, do_phase},
    {"bind", "POD NODE", "another scheduler binds it, without a record", 2, do_bind},
    {"recreate", "POD", "the same name under a new uid", 1, do_recreate},
    {"compact", "", "forgets all older versions", 0, do_compact},
    {"fault", "COUNT REQUESTS FAULT", "happens to the next COUNT such requests", 3, do_fault},
    {"stream", "REQUESTS FAULT", "happens to open streams, from here on", 2, do_stream},
    {"heal", "", "forgets all faults", 0, do_heal},
    {"end-streams", "", "all watches end, cleanly", 0, do_end_streams},
    {"drop", "", "all connections are reset", 0, do_drop},
    {"option", "NAME NUMBER", "zero-lag, bookmark-ms, page-max, too-old-is-status, no-watch-list",
     2, do_option},
    {"wait", "MS", "", 1, do_wait},
};

/* The place behind the n-th word. */
static const char *behind_word(const char *line, size_t n)
{
    line += strspn(line, " \t");
    for (size_t i = 0; i < n; i++) {
        line += strcspn(line, " \t");
        line += strspn(line, " \t");
    }
    return line;
}

static int run(struct step *step, struct error *err)
{
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++) {
        if (strcmp(STEPS[i].name, step->words[0]) != 0)
            continue;
        if (step->count <= STEPS[i].needed)
            return error_set(err, ERR_INVALID, "%s needs %s", STEPS[i].name, STEPS[i].arguments);
        return STEPS[i].execute(step, err);
    }
    return error_set(err, ERR_INVALID, "no step is called \"%s\"; see --help", step->words[0]);
}

int script_step(const struct script_world *world, const char *line, uint64_t *out_wait_ms,
                struct error *err)
{
    AUTO_FREE char *bare = xstrndup(line, strcspn(line, "#\r\n"));
    AUTO_FREE char *cut = xstrdup(bare);
    struct step step = {
        .world = world, .tail = behind_word(bare, 2), .tail2 = behind_word(bare, 3)};
    char *rest = NULL;

    for (char *w = strtok_r(cut, " \t", &rest); w != NULL && step.count < WORDS_MAX;
         w = strtok_r(NULL, " \t", &rest))
        step.words[step.count++] = w;
    *out_wait_ms = 0;
    if (step.count == 0)
        return 0;
    api_model_at(world->model, loop_now_ms());
    if (run(&step, err) < 0)
        return -(int)err->code;
    *out_wait_ms = step.wait_ms;
    return 0;
}

void script_describe(struct buf *out)
{
    buf_add_text(out, "STEPS\n");
    for (size_t i = 0; i < ARRAY_LEN(STEPS); i++)
        buf_addf(out, "  %-12s %-38s %s\n", STEPS[i].name, STEPS[i].arguments, STEPS[i].text);
    buf_add_text(out, "\nFAULTS\n");
    fault_describe(out);
}
