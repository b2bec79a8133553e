/* SPDX-License-Identifier: Apache-2.0 */
/* placement_record - records and inventories as placement_checker reads them. */
#include "support/placement_record.h"

#include "topofit/mem.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CORES_STANDARD 100

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));

    return text != NULL ? text : "";
}

static uint64_t number_or(const json_t *json, const char *key, uint64_t standard)
{
    const json_t *value = json_object_get(json, key);

    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : standard;
}

struct placement_amounts *placement_find(struct placement_amounts *list, size_t count,
                                         const char *id)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list[i].id, id) == 0)
            return &list[i];
    }
    return NULL;
}

/* --- inventories ----------------------------------------------------------------------------- */

size_t placement_read_inventory(const struct api_object *node, struct placement_amounts *out)
{
    const char *text = api_object_annotation(node, "topofit.io/inventory");
    json_t *root = text != NULL ? json_loads(text, 0, NULL) : NULL, *device;
    size_t i, count = 0;

    json_array_foreach(json_object_get(root, "devices"), i, device)
    {
        if (count == PLACEMENT_DEVICES_MAX || text_of(device, "id")[0] == '\0')
            continue;
        out[count] = (struct placement_amounts){
            .memory_mib = number_or(device, "memoryMiB", 0),
            .cores = number_or(device, "cores", CORES_STANDARD),
            .slots = number_or(device, "slots", 1),
        };
        snprintf(out[count++].id, PLACEMENT_ID_MAX, "%s", text_of(device, "id"));
    }
    json_decref(root);
    return count;
}

/* --- requests -------------------------------------------------------------------------------- */

/* What a container asks for of nvidia.com/<what>; limits count, else requests. */
static const char *amount_of(const json_t *container, const char *what)
{
    const json_t *resources = json_object_get(container, "resources");
    AUTO_FREE char *name = xasprintf("nvidia.com/%s", what);
    const char *limit = text_of(json_object_get(resources, "limits"), name);

    return limit[0] != '\0' ? limit : text_of(json_object_get(resources, "requests"), name);
}

/* Devices that a container asks for: an amount without a number is one. */
static uint64_t devices_asked(const json_t *container)
{
    static const char *const amounts[] = {"gpumem", "gpumem-percentage", "gpucores"};
    const char *count = amount_of(container, "gpu");

    if (count[0] != '\0')
        return strtoull(count, NULL, 10);
    for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
        if (amount_of(container, amounts[i])[0] != '\0')
            return 1;
    }
    return 0;
}

static uint64_t devices_of_list(const json_t *containers)
{
    const json_t *container;
    uint64_t sum = 0;
    size_t i;

    json_array_foreach(containers, i, container) sum += devices_asked(container);
    return sum;
}

bool placement_asks_devices(const struct api_object *pod)
{
    json_t *root = NULL;
    const json_t *spec;
    bool answer;

    if (strstr(pod->json, "\"nvidia.com/") == NULL)
        return false;
    root = json_loadb(pod->json, pod->length, 0, NULL);
    spec = json_object_get(root, "spec");
    answer = devices_of_list(json_object_get(spec, "containers")) +
                 devices_of_list(json_object_get(spec, "initContainers")) >
             0;
    json_decref(root);
    return answer;
}

/* --- records --------------------------------------------------------------------------------- */

static const json_t *find_named(const json_t *list, const char *name)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (strcmp(text_of(item, "name"), name) == 0)
            return item;
    }
    return NULL;
}

static const json_t *container_of_pod(const json_t *pod, const char *name)
{
    const json_t *spec = json_object_get(pod, "spec");
    const json_t *found = find_named(json_object_get(spec, "containers"), name);

    return found != NULL ? found : find_named(json_object_get(spec, "initContainers"), name);
}

/* Is one amount of a device what was asked for? Only plain numbers are compared. */
static bool is_as_asked(const json_t *container, const char *what, uint64_t given)
{
    const char *asked = amount_of(container, what);
    char *end;
    uint64_t number = strtoull(asked, &end, 10);

    return asked[0] == '\0' || *end != '\0' || number == given;
}

static char *check_device(const json_t *asked, const json_t *devices, size_t at)
{
    const json_t *device = json_array_get(devices, at);
    const char *id = text_of(device, "id");

    if (id[0] == '\0' || text_of(device, "mode")[0] == '\0' || number_or(device, "slots", 0) == 0 ||
        !json_is_integer(json_object_get(device, "memoryMiB")) ||
        !json_is_integer(json_object_get(device, "cores")))
        return xasprintf("device %zu of the record is incomplete", at);
    for (size_t i = 0; i < at; i++) {
        if (strcmp(text_of(json_array_get(devices, i), "id"), id) == 0)
            return xasprintf("a container has %s twice", id);
    }
    if (!is_as_asked(asked, "gpumem", number_or(device, "memoryMiB", 0)) ||
        !is_as_asked(asked, "gpucores", number_or(device, "cores", 0)))
        return xasprintf("%s: not the memory or cores that were asked for", id);
    return NULL;
}

static char *check_container(const json_t *pod, const json_t *recorded)
{
    const char *name = text_of(recorded, "name");
    const json_t *asked = container_of_pod(pod, name);
    const json_t *devices = json_object_get(recorded, "devices");
    char *wrong = NULL;

    if (asked == NULL)
        return xasprintf("the record tells of container \"%s\", which the pod has not", name);
    if (json_array_size(devices) != devices_asked(asked))
        return xasprintf("container %s has %zu devices by the record, and asks for %llu", name,
                         json_array_size(devices), (unsigned long long)devices_asked(asked));
    for (size_t i = 0; wrong == NULL && i < json_array_size(devices); i++)
        wrong = check_device(asked, devices, i);
    return wrong;
}

static char *check_head(const struct api_object *pod, const json_t *record)
{
    if (!json_is_object(record) || number_or(record, "version", 0) != 1 ||
        !json_is_array(json_object_get(record, "containers")))
        return xstrdup("the record cannot be read");
    if (strcmp(text_of(record, "node"), pod->node_name) != 0)
        return xasprintf("the record names node \"%s\", the pod is on %s", text_of(record, "node"),
                         pod->node_name);
    if (strcmp(text_of(record, "podUID"), pod->uid) != 0)
        return xasprintf("the record names uid \"%s\", the pod has %s", text_of(record, "podUID"),
                         pod->uid);
    return NULL;
}

/* Every container that asks for devices is in the record. */
static char *check_coverage(const json_t *pod, const json_t *record)
{
    static const char *const lists[] = {"containers", "initContainers"};
    const json_t *container;
    size_t i;

    for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
        json_array_foreach(json_object_get(json_object_get(pod, "spec"), lists[k]), i, container)
        {
            const char *name = text_of(container, "name");

            if (devices_asked(container) > 0 &&
                find_named(json_object_get(record, "containers"), name) == NULL)
                return xasprintf("the record does not tell of container %s", name);
        }
    }
    return NULL;
}

static char *check_record(const struct api_object *object, const json_t *pod, const json_t *record)
{
    char *wrong = check_head(object, record);
    const json_t *container;
    size_t i;

    if (wrong != NULL)
        return wrong;
    json_array_foreach(json_object_get(record, "containers"), i, container)
    {
        wrong = check_container(pod, container);
        if (wrong != NULL)
            return wrong;
    }
    return check_coverage(pod, record);
}

/* --- phases ---------------------------------------------------------------------------------- */

static bool is_kind(const json_t *container, const char *kind)
{
    return strcmp(text_of(container, "kind"), kind) == 0;
}

/* Does container `at` run beside the others of a phase? phase: of an init container, or the end. */
static bool runs_in(const json_t *containers, size_t at, size_t phase)
{
    const json_t *container = json_array_get(containers, at);
    bool is_main = phase == json_array_size(containers);

    if (is_kind(container, "sidecar"))
        return at < phase;
    return is_main ? is_kind(container, "app") : at == phase;
}

static void add_mode(struct placement_amounts *sum, const char *mode)
{
    bool is_first = sum->mode[0] == '\0';

    if (is_first || strcmp(mode, "shared") == 0)
        snprintf(sum->mode, sizeof sum->mode, "%s", mode);
}

static void add_phase(const json_t *containers, size_t phase, struct placement_amounts *sums,
                      size_t *count)
{
    const json_t *container, *device;
    size_t i, k;

    json_array_foreach(containers, i, container)
    {
        if (!runs_in(containers, i, phase))
            continue;
        json_array_foreach(json_object_get(container, "devices"), k, device)
        {
            struct placement_amounts *sum = placement_find(sums, *count, text_of(device, "id"));

            if (sum == NULL && *count == PLACEMENT_DEVICES_MAX)
                continue;
            if (sum == NULL) {
                sum = &sums[(*count)++];
                *sum = (struct placement_amounts){0};
                snprintf(sum->id, PLACEMENT_ID_MAX, "%s", text_of(device, "id"));
            }
            sum->memory_mib += number_or(device, "memoryMiB", 0);
            sum->cores += number_or(device, "cores", 0);
            sum->slots += number_or(device, "slots", 0);
            add_mode(sum, text_of(device, "mode"));
        }
    }
}

static void raise_to(struct placement_amounts *out, size_t *out_count,
                     const struct placement_amounts *phase)
{
    struct placement_amounts *most = placement_find(out, *out_count, phase->id);

    if (most == NULL && *out_count < PLACEMENT_DEVICES_MAX) {
        out[(*out_count)++] = *phase;
        return;
    }
    if (most == NULL)
        return;
    most->memory_mib = phase->memory_mib > most->memory_mib ? phase->memory_mib : most->memory_mib;
    most->cores = phase->cores > most->cores ? phase->cores : most->cores;
    most->slots = phase->slots > most->slots ? phase->slots : most->slots;
    add_mode(most, phase->mode);
}

/* All init containers ended well? */
static bool is_init_done(const json_t *pod, const json_t *containers)
{
    const json_t *states = json_object_get(json_object_get(pod, "status"), "initContainerStatuses");
    const json_t *container;
    size_t i;

    json_array_foreach(containers, i, container)
    {
        const json_t *state = find_named(states, text_of(container, "name"));
        const json_t *end = json_object_get(json_object_get(state, "state"), "terminated");

        if (is_kind(container, "init") && number_or(end, "exitCode", 1) != 0)
            return false;
    }
    return true;
}

static void sum_phases(const json_t *pod, const json_t *containers, struct placement_amounts *out,
                       size_t *out_count)
{
    bool init_done = is_init_done(pod, containers);

    *out_count = 0;
    for (size_t phase = 0; phase <= json_array_size(containers); phase++) {
        struct placement_amounts sums[PLACEMENT_DEVICES_MAX];
        size_t count = 0;
        bool is_main = phase == json_array_size(containers);

        if (!is_main && (init_done || !is_kind(json_array_get(containers, phase), "init")))
            continue;
        add_phase(containers, phase, sums, &count);
        for (size_t i = 0; i < count; i++)
            raise_to(out, out_count, &sums[i]);
    }
}

char *placement_read_record(const struct api_object *pod, struct placement_amounts *out,
                            size_t *out_count)
{
    const char *text = api_object_annotation(pod, "topofit.io/allocation");
    json_t *record, *json;
    char *wrong;

    *out_count = 0;
    if (text == NULL)
        return NULL;
    record = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json = json_loadb(pod->json, pod->length, 0, NULL);
    wrong = check_record(pod, json, record);
    if (wrong == NULL)
        sum_phases(json, json_object_get(record, "containers"), out, out_count);
    json_decref(record);
    json_decref(json);
    return wrong;
}
