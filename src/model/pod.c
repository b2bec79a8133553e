/* SPDX-License-Identifier: Apache-2.0 */
/* pod - what is kept of a pod. */
#include "topofit/pod.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

struct pod *pod_new(const char *namespace, const char *name, const char *uid)
{
    size_t namespace_length = strlen(namespace), name_size = strlen(name) + 1;
    size_t uid_size = strlen(uid) + 1;
    size_t full_size = namespace_length + 1 + name_size;
    struct pod *pod = xcalloc(1, sizeof *pod + full_size + uid_size + namespace_length + 1);
    char *full_name = pod->identity, *own_uid = full_name + full_size;

    memcpy(full_name, namespace, namespace_length);
    full_name[namespace_length] = '/';
    memcpy(full_name + namespace_length + 1, name, name_size);
    memcpy(own_uid, uid, uid_size);
    memcpy(own_uid + uid_size, namespace, namespace_length);
    pod->references = 1;
    pod->full_name = full_name;
    pod->name = full_name + namespace_length + 1;
    pod->uid = own_uid;
    pod->namespace = own_uid + uid_size;
    pod->node = xstrdup("");
    request_init(&pod->request);
    allocation_init(&pod->record);
    return pod;
}

struct pod *pod_ref(struct pod *pod)
{
    __atomic_add_fetch(&pod->references, 1, __ATOMIC_RELAXED);
    return pod;
}

void pod_unref(struct pod *pod)
{
    if (pod == NULL || __atomic_sub_fetch(&pod->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    free(pod->node);
    free(pod->nominated);
    request_clear(&pod->request);
    allocation_clear(&pod->record);
    free(pod->record_problem);
    free(pod);
}

void pod_unref_pointer(struct pod **pod)
{
    pod_unref(*pod);
}

bool pod_holds_devices(const struct pod *pod)
{
    return pod->node[0] != '\0' && !pod->finished;
}

bool pod_waits_nominated(const struct pod *pod)
{
    return pod->nominated != NULL && pod->node[0] == '\0' && !pod->finished && !pod->deleting &&
           pod->request.ask_count > 0 && pod->request.problem == NULL;
}

struct pod *pod_bound(const struct pod *pod, const char *node)
{
    struct pod *bound = pod_new(pod->namespace, pod->name, pod->uid);

    free(bound->node);
    bound->node = xstrdup(node);
    bound->deleting = pod->deleting;
    bound->init_done = pod->init_done;
    bound->handed_out = pod->handed_out;
    bound->priority = pod->priority;
    bound->host = pod->host;
    bound->started_s = pod->started_s;
    request_copy(&pod->request, &bound->request);
    return bound;
}

struct pod *pod_unserved(const struct pod *pod)
{
    struct pod *unserved = pod_new(pod->namespace, pod->name, pod->uid);

    free(unserved->node);
    unserved->node = xstrdup(pod->node);
    unserved->finished = pod->finished;
    unserved->deleting = pod->deleting;
    unserved->gated = pod->gated;
    unserved->priority = pod->priority;
    unserved->host = pod->host;
    request_set_problem(&unserved->request, "%s", pod->request.problem);
    return unserved;
}

size_t pod_bytes(const struct pod *pod)
{
    size_t identity =
        strlen(pod->full_name) + 1 + strlen(pod->uid) + 1 + strlen(pod->namespace) + 1;

    return mem_block_bytes(sizeof *pod + identity) + mem_text_bytes(pod->node) +
           mem_text_bytes(pod->nominated) + mem_text_bytes(pod->record_problem) +
           request_bytes(&pod->request) + allocation_bytes(&pod->record);
}

static bool is_same_nomination(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool pod_equal(const struct pod *a, const struct pod *b)
{
    return strcmp(a->namespace, b->namespace) == 0 && strcmp(a->name, b->name) == 0 &&
           strcmp(a->uid, b->uid) == 0 && strcmp(a->node, b->node) == 0 &&
           is_same_nomination(a->nominated, b->nominated) && a->started_s == b->started_s &&
           a->finished == b->finished && a->deleting == b->deleting &&
           a->init_done == b->init_done && a->handed_out == b->handed_out && a->gated == b->gated &&
           a->priority == b->priority && host_equal(a->host, b->host) &&
           request_equal(&a->request, &b->request) && pod_same_record(a, b);
}

bool pod_same_record(const struct pod *a, const struct pod *b)
{
    bool a_broken = a->record_problem != NULL, b_broken = b->record_problem != NULL;

    if (a->has_record != b->has_record || a_broken != b_broken)
        return false;
    return !a->has_record || allocation_equal(&a->record, &b->record);
}
