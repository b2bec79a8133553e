/* SPDX-License-Identifier: Apache-2.0 */
/* kube_pod_json - the shape of a pod: containers, their amounts and their statuses. */
#include "kube_reading.h"
#include "topofit/mem.h"
#include "topofit/moment.h"

#include <stdlib.h>
#include <string.h>

/* What the pod's status says of a container. */
struct container_status {
    char *name;
    bool terminated_ok, started;
};

/* A status beyond the containers that are kept says nothing about them. */
#define STATUSES_MAX (2 * REQUEST_CONTAINERS_MAX)

static void forget_statuses(struct kube_reading *reading)
{
    for (size_t i = 0; i < reading->status_count; i++)
        free(reading->statuses[i].name);
    reading->status_count = 0;
    reading->status = NULL;
}

void kube_reading_clear(struct kube_reading *reading)
{
    forget_statuses(reading);
    free(reading->statuses);
    free(reading->kind);
    *reading = (struct kube_reading){0};
}

static void put_init_first(struct kube_pod *pod)
{
    struct kube_container sorted[REQUEST_CONTAINERS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < pod->container_count; i++) {
        if (pod->containers[i].kind != CONTAINER_APP)
            sorted[count++] = pod->containers[i];
    }
    for (size_t i = 0; i < pod->container_count; i++) {
        if (pod->containers[i].kind == CONTAINER_APP)
            sorted[count++] = pod->containers[i];
    }
    for (size_t i = 0; i < count; i++)
        pod->containers[i] = sorted[i];
}

/* Container names are unique in a pod, over both lists. */
static void apply_status(struct kube_pod *pod, const struct container_status *status)
{
    for (size_t i = 0; i < pod->container_count; i++) {
        if (strcmp(pod->containers[i].name, status->name) == 0) {
            pod->containers[i].terminated_ok = status->terminated_ok;
            pod->containers[i].started = status->started;
        }
    }
}

void kube_reading_end(struct kube_reading *reading)
{
    reading->container = NULL;
    if (reading->pod == NULL)
        return;
    put_init_first(reading->pod);
    for (size_t i = 0; i < reading->status_count; i++)
        apply_status(reading->pod, &reading->statuses[i]);
    forget_statuses(reading);
}

/* --- containers ------------------------------------------------------------------------------ */

/* A list that comes twice replaces the one before it. */
static void drop_containers(struct kube_pod *pod, bool apps)
{
    size_t kept = 0;

    for (size_t i = 0; i < pod->container_count; i++) {
        if ((pod->containers[i].kind == CONTAINER_APP) == apps)
            kube_container_clear(&pod->containers[i]);
        else
            pod->containers[kept++] = pod->containers[i];
    }
    pod->container_count = kept;
}

static int begin_apps(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    drop_containers(reading->pod, true);
    return 0;
}

static int begin_inits(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    drop_containers(reading->pod, false);
    return 0;
}

static void add_container(struct kube_reading *reading, enum container_kind kind)
{
    struct kube_pod *pod = reading->pod;

    reading->container = NULL;
    if (pod->container_count == REQUEST_CONTAINERS_MAX) {
        pod->truncated = true;
        return;
    }
    pod->containers = mem_grow(pod->containers, pod->container_count, &pod->container_capacity,
                               sizeof *pod->containers);
    reading->container = &pod->containers[pod->container_count++];
    *reading->container = (struct kube_container){.name = xstrdup(""), .kind = kind};
}

static int begin_app(void *ctx, const char *key, struct error *err)
{
    (void)key, (void)err;
    add_container(ctx, CONTAINER_APP);
    return 0;
}

static int begin_init(void *ctx, const char *key, struct error *err)
{
    (void)key, (void)err;
    add_container(ctx, CONTAINER_INIT);
    return 0;
}

static int take_container_name(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    if (reading->container == NULL)
        return 0;
    return kube_reading_copy(reading, value, &reading->container->name, err);
}

static int take_restart_policy(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)err;
    if (reading->container != NULL && value->length == strlen("Always") &&
        memcmp(value->text, "Always", value->length) == 0)
        reading->container->kind = CONTAINER_SIDECAR;
    return 0;
}

static int take_amount(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    if (reading->container == NULL)
        return 0;
    return kube_reading_add_amount(
        reading, (struct kube_pairs *)((char *)reading->container + value->slot), value, err);
}

#define CONTAINER(member) .slot = offsetof(struct kube_container, member)

static const struct json_field limits_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_amount, CONTAINER(limits), .accepts_nul = true},
    {0},
};

static const struct json_field requests_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_amount, CONTAINER(requests), .accepts_nul = true},
    {0},
};

static const struct json_field resources_shape[] = {
    {.key = "limits", .shape = limits_shape},
    {.key = "requests", .shape = requests_shape},
    {0},
};

static const struct json_field app_shape[] = {
    {.key = "name", .on_value = take_container_name, .accepts_nul = true},
    {.key = "resources", .shape = resources_shape},
    {0},
};

static const struct json_field init_shape[] = {
    {.key = "name", .on_value = take_container_name, .accepts_nul = true},
    {.key = "restartPolicy", .on_value = take_restart_policy, .accepts_nul = true},
    {.key = "resources", .shape = resources_shape},
    {0},
};

static const struct json_field apps_shape[] = {
    {.key = JSON_ELEMENT, .shape = app_shape, .on_begin = begin_app},
    {0},
};

static const struct json_field inits_shape[] = {
    {.key = JSON_ELEMENT, .shape = init_shape, .on_begin = begin_init},
    {0},
};

/* --- spec ------------------------------------------------------------------------------------ */

static int take_pod_text(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    char **out = (char **)((char *)reading->pod + value->slot);

    return kube_reading_copy(reading, value, out, err);
}

#define POD(member) .slot = offsetof(struct kube_pod, member)

static int take_pod_amount(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    struct kube_pairs *pairs = (struct kube_pairs *)((char *)reading->pod + value->slot);

    return kube_reading_add_amount(reading, pairs, value, err);
}

static const struct json_field pod_requests_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_pod_amount, POD(requests), .accepts_nul = true},
    {0},
};

static const struct json_field pod_limits_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_pod_amount, POD(limits), .accepts_nul = true},
    {0},
};

static const struct json_field pod_resources_shape[] = {
    {.key = "requests", .shape = pod_requests_shape},
    {.key = "limits", .shape = pod_limits_shape},
    {0},
};

static const struct json_field overhead_shape[] = {
    {.key = JSON_ANY_KEY, .on_value = take_pod_amount, POD(overhead), .accepts_nul = true},
    {0},
};

static int take_priority(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    long long priority = 0;

    if (json_value_int(value, INT32_MIN, INT32_MAX, &priority, err) < 0)
        return -(int)err->code;
    reading->pod->priority = (int)priority;
    return 0;
}

static int take_deadline(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)err;
    reading->pod->has_deadline = value->type != JSON_NULL_VALUE;
    return 0;
}

static int begin_gate(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    reading->pod->gated = true;
    return 0;
}

static const struct json_field nothing[] = {{0}};

static const struct json_field gates_shape[] = {
    {.key = JSON_ELEMENT, .shape = nothing, .on_begin = begin_gate},
    {0},
};

const struct json_field kube_pod_spec_shape[] = {
    {.key = "containers", .shape = apps_shape, .on_begin = begin_apps},
    {.key = "initContainers", .shape = inits_shape, .on_begin = begin_inits},
    {.key = "nodeName", .on_value = take_pod_text, POD(node_name), .accepts_nul = true},
    {.key = "schedulerName", .on_value = take_pod_text, POD(scheduler_name), .accepts_nul = true},
    {.key = "priority", .on_value = take_priority},
    {.key = "priorityClassName",
     .on_value = take_pod_text,
     POD(priority_class),
     .accepts_nul = true},
    {.key = "activeDeadlineSeconds", .on_value = take_deadline},
    {.key = "resources", .shape = pod_resources_shape},
    {.key = "overhead", .shape = overhead_shape},
    {.key = "schedulingGates", .shape = gates_shape},
    {0},
};

/* --- status ---------------------------------------------------------------------------------- */

static int begin_status(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    reading->status = NULL;
    if (reading->status_count == STATUSES_MAX)
        return 0;
    reading->statuses = mem_grow(reading->statuses, reading->status_count,
                                 &reading->status_capacity, sizeof *reading->statuses);
    reading->status = &reading->statuses[reading->status_count++];
    *reading->status = (struct container_status){.name = xstrdup("")};
    return 0;
}

static int take_status_name(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    if (reading->status == NULL)
        return 0;
    return kube_reading_copy(reading, value, &reading->status->name, err);
}

/* The state is running or terminated. */
static int begin_state(void *ctx, const char *key, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)key, (void)err;
    if (reading->status != NULL)
        reading->status->started = true;
    return 0;
}

static int take_exit_code(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;

    (void)err;
    if (reading->status != NULL)
        reading->status->terminated_ok =
            value->type == JSON_NUMBER_TEXT && value->length == 1 && value->text[0] == '0';
    return 0;
}

/* Anything else than a time is as good as none. */
static int take_start(void *ctx, const struct json_value *value, struct error *err)
{
    struct kube_reading *reading = ctx;
    char text[MOMENT_TEXT_BYTES] = "";
    int64_t unix_s = 0;

    (void)err;
    if (value->length < sizeof text)
        memcpy(text, value->text, value->length);
    reading->pod->started_s = moment_read(text, &unix_s) && unix_s > 0 ? (uint64_t)unix_s : 0;
    return 0;
}

static const struct json_field terminated_shape[] = {
    {.key = "exitCode", .on_value = take_exit_code},
    {0},
};

static const struct json_field state_shape[] = {
    {.key = "running", .shape = nothing, .on_begin = begin_state},
    {.key = "terminated", .shape = terminated_shape, .on_begin = begin_state},
    {0},
};

static const struct json_field container_status_shape[] = {
    {.key = "name", .on_value = take_status_name, .accepts_nul = true},
    {.key = "state", .shape = state_shape},
    {0},
};

static const struct json_field statuses_shape[] = {
    {.key = JSON_ELEMENT, .shape = container_status_shape, .on_begin = begin_status},
    {0},
};

const struct json_field kube_pod_status_shape[] = {
    {.key = "phase", .on_value = take_pod_text, POD(phase), .accepts_nul = true},
    {.key = "nominatedNodeName",
     .on_value = take_pod_text,
     POD(nominated_node),
     .accepts_nul = true},
    {.key = "startTime", .on_value = take_start, .accepts_nul = true},
    {.key = "containerStatuses", .shape = statuses_shape},
    {.key = "initContainerStatuses", .shape = statuses_shape},
    {0},
};

const struct json_field kube_pod_shape[] = {
    {.key = "kind", .on_value = kube_reading_take_kind},
    {.key = "metadata", .shape = kube_meta_shape},
    {.key = "spec", .shape = kube_pod_spec_shape},
    {.key = "status", .shape = kube_pod_status_shape},
    {0},
};
