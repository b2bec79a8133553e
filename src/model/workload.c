/* SPDX-License-Identifier: Apache-2.0 */
/* workload - what kinds of pods this cluster runs, and how often each. */
#include "topofit/workload.h"

#include "topofit/mem.h"

#include <stdlib.h>

static const struct ask *greatest_ask(const struct request *request)
{
    const struct ask *greatest = NULL;

    for (size_t i = 0; i < request->ask_count; i++) {
        if (greatest == NULL || request->asks[i].count > greatest->count)
            greatest = &request->asks[i];
    }
    return greatest;
}

bool workload_task_of(const struct request *request, struct host_amounts host,
                      struct workload_task *out)
{
    const struct ask *ask = request->problem == NULL ? greatest_ask(request) : NULL;

    *out = (struct workload_task){0};
    if (ask == NULL)
        return false;
    out->host = host;
    out->ask = *ask;
    out->ask.container = 0;
    out->is_whole = ask_is_whole(request, ask);
    out->use_products = word_list_copy(&request->use_products);
    out->avoid_products = word_list_copy(&request->avoid_products);
    return true;
}

void workload_task_clear(struct workload_task *task)
{
    word_list_clear(&task->use_products);
    word_list_clear(&task->avoid_products);
}

struct workload *workload_new(size_t capacity)
{
    struct workload *workload = xmalloc(sizeof *workload + capacity * sizeof(struct workload_task));

    *workload = (struct workload){.references = 1};
    return workload;
}

void workload_add(struct workload *workload, struct workload_task *steal_task)
{
    workload->tasks[workload->count++] = *steal_task;
    *steal_task = (struct workload_task){0};
}

struct workload *workload_ref(struct workload *workload)
{
    __atomic_add_fetch(&workload->references, 1, __ATOMIC_RELAXED);
    return workload;
}

void workload_unref(struct workload *workload)
{
    if (workload == NULL || __atomic_sub_fetch(&workload->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < workload->count; i++)
        workload_task_clear(&workload->tasks[i]);
    free(workload);
}
