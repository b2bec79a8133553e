/* SPDX-License-Identifier: Apache-2.0 */
/* pod_mix - what kinds of pods this cluster runs, and how often each. */
#include "topofit/pod_mix.h"

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

bool mix_task_of(const struct request *request, struct host_amounts host, struct mix_task *out)
{
    const struct ask *ask = request->problem == NULL ? greatest_ask(request) : NULL;

    *out = (struct mix_task){0};
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

void mix_task_clear(struct mix_task *task)
{
    word_list_clear(&task->use_products);
    word_list_clear(&task->avoid_products);
}

struct pod_mix *pod_mix_new(size_t capacity)
{
    struct pod_mix *mix = xmalloc(sizeof *mix + capacity * sizeof(struct mix_task));

    *mix = (struct pod_mix){.references = 1};
    return mix;
}

void pod_mix_add(struct pod_mix *mix, struct mix_task *steal_task)
{
    mix->tasks[mix->count++] = *steal_task;
    *steal_task = (struct mix_task){0};
}

size_t pod_mix_bytes(const struct pod_mix *mix)
{
    size_t bytes = mem_block_bytes(sizeof *mix + mix->count * sizeof *mix->tasks);

    for (size_t i = 0; i < mix->count; i++)
        bytes += word_list_bytes(&mix->tasks[i].use_products) +
                 word_list_bytes(&mix->tasks[i].avoid_products);
    return bytes;
}

struct pod_mix *pod_mix_ref(struct pod_mix *mix)
{
    __atomic_add_fetch(&mix->references, 1, __ATOMIC_RELAXED);
    return mix;
}

void pod_mix_unref(struct pod_mix *mix)
{
    if (mix == NULL || __atomic_sub_fetch(&mix->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (size_t i = 0; i < mix->count; i++)
        mix_task_clear(&mix->tasks[i]);
    free(mix);
}
