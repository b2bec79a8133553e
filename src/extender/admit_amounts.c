/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit_amounts - what a container asks for, written as the class means it.
 *
 * Others read limits too: quotas count them, node agents act on them, and they know neither our
 * defaults nor our roundings.
 */
#include "admit_inside.h"

#include "topofit/admission_json.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"
#include "topofit/quantity.h"

#include <inttypes.h>

static const char *const lists[] = {"limits", "requests"};

/* --- one container --------------------------------------------------------------------------- */

/* Limits and requests of a container; missing ones are made when something is written. */
static const json_t *amount_of(const json_t *container, const char *list, const char *resource)
{
    const json_t *amounts = json_object_get(json_object_get(container, "resources"), list);

    return json_object_get(amounts, resource);
}

static void set_amount(json_t *container, const char *list, const char *resource, json_t *amount)
{
    json_t *resources = admit_object(container, "resources");

    json_object_set(admit_object(resources, list), resource, amount);
}

/* Extended resources have requests equal to limits, or the API server refuses the pod. */
static void copy_amount(json_t *container, const char *resource)
{
    for (size_t i = 0; resource != NULL && i < ARRAY_LEN(lists); i++) {
        const json_t *here = amount_of(container, lists[i], resource);

        if (here != NULL && amount_of(container, lists[1 - i], resource) == NULL)
            set_amount(container, lists[1 - i], resource, (json_t *)here);
    }
}

/* Is that what is written? The API server writes 20000 as "20k". */
static bool says(const json_t *amount, uint64_t number)
{
    struct error err = {0};
    uint64_t written = 0;

    if (json_is_integer(amount))
        return (uint64_t)json_integer_value(amount) == number;
    return json_is_string(amount) &&
           quantity_parse_count(json_string_value(amount), &written, &err) == 0 &&
           written == number;
}

static void write_amount(json_t *container, const char *resource, uint64_t number)
{
    AUTO_FREE char *text = xasprintf("%" PRIu64, number);
    json_auto_t *amount = json_string(text);

    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (!says(amount_of(container, lists[i], resource), number))
            set_amount(container, lists[i], resource, amount);
    }
}

static bool is_given(const json_t *container, const char *resource)
{
    return resource != NULL && (amount_of(container, lists[0], resource) != NULL ||
                                amount_of(container, lists[1], resource) != NULL);
}

/* Cores alone may say how many devices there are: a count beside them would be another request. */
static void write_count(json_t *container, const struct ask *ask)
{
    const struct device_class *class = ask->class;

    if (class->count_resource == NULL ||
        (class->cores_count_devices && !is_given(container, class->count_resource)))
        return;
    write_amount(container, class->count_resource, ask->count);
}

static void write_memory(json_t *container, const struct ask *ask)
{
    const struct device_class *class = ask->class;
    uint64_t mib = class->memory_for_all ? ask->memory * ask->count : ask->memory;
    uint64_t units = mib / class->memory_unit_mib;

    /* What is no whole number of units stays as it is written, and so does what would be MiB. */
    if (ask->memory_kind != MEMORY_MIB || class->memory_resource == NULL ||
        mib % class->memory_unit_mib != 0 ||
        (class->memory_mib_above > 0 && units > class->memory_mib_above))
        return;
    write_amount(container, class->memory_resource, units);
}

static void write_cores(json_t *container, const struct ask *ask)
{
    const struct device_class *class = ask->class;

    if (class->cores_resource == NULL || class->default_cores == 0 || ask->cores == 0 ||
        is_given(container, class->cores_resource))
        return;
    write_amount(container, class->cores_resource, class->default_cores);
}

/* A partition: the resource is named after its profile, and says how many. */
static void copy_profile(json_t *container, const struct ask *ask)
{
    AUTO_FREE char *resource = xasprintf("%s%s", ask->class->profile_resources, ask->profile);

    copy_amount(container, resource);
}

static void write_ask(json_t *container, const struct ask *ask)
{
    const struct device_class *class = ask->class;
    const char *const resources[] = {class->count_resource,   class->memory_resource,
                                     class->percent_resource, class->cores_resource,
                                     class->slices_resource,  class->priority_resource};

    for (size_t i = 0; i < ARRAY_LEN(resources); i++)
        copy_amount(container, resources[i]);
    if (ask->memory_kind == MEMORY_PROFILE) {
        copy_profile(container, ask);
        return;
    }
    write_count(container, ask);
    write_memory(container, ask);
    write_cores(container, ask);
}

/* --- the pod --------------------------------------------------------------------------------- */

/* The resources of a container as they are, to be put back. */
static json_t *keep_resources(const json_t *container)
{
    json_t *resources = json_object_get(container, "resources");

    return resources != NULL ? json_deep_copy(resources) : json_null();
}

static void put_back(json_t *container, json_t *kept)
{
    if (json_is_null(kept))
        json_object_del(container, "resources");
    else
        json_object_set(container, "resources", kept);
}

static bool is_as_kept(const json_t *container, const json_t *kept)
{
    const json_t *resources = json_object_get(container, "resources");

    return resources == NULL ? json_is_null(kept) : json_equal(resources, kept);
}

static bool is_edited(const struct admission *admission, const json_t *kept)
{
    for (size_t i = 0; i < json_array_size(kept); i++) {
        if (!is_as_kept(admission->containers[i], json_array_get(kept, i)))
            return true;
    }
    return false;
}

/* Write what the containers ask for. return their resources as they were; the caller's. */
static json_t *write_containers(struct admission *admission)
{
    const struct request *request = admission->request;
    json_t *kept = json_array();

    for (size_t i = 0; i < request->container_count; i++)
        json_array_append_new(kept, keep_resources(admission->containers[i]));
    for (size_t i = 0; i < request->ask_count; i++)
        write_ask(admission->containers[request->asks[i].container], &request->asks[i]);
    return kept;
}

/* What the pod asks for now, or what says that it cannot be read. */
static void read_again(const struct admission *admission, struct request *out)
{
    AUTO(kube_pod_clear) struct kube_pod kube = {0};
    struct error err = {0};

    request_init(out);
    if (admission_json_read_pod(admission->pod, &kube, &err) < 0)
        request_set_problem(out, "%s", err.text);
    else
        dialect_request(&kube, admission->classes, out);
}

/*
 * Put the containers back that ask for something else now: all of them, where that is not enough.
 * The pod is read once, and once more for the rare one that an edit changed.
 */
static void keep_meaning(struct admission *admission, json_t *kept)
{
    AUTO(request_clear) struct request now = {0};
    AUTO(request_clear) struct request then = {0};

    read_again(admission, &now);
    if (request_equal(&now, admission->request))
        return;
    for (size_t i = 0; i < json_array_size(kept); i++) {
        if (!request_container_equal(&now, admission->request, i))
            put_back(admission->containers[i], json_array_get(kept, i));
    }
    read_again(admission, &then);
    if (request_equal(&then, admission->request))
        return;
    for (size_t i = 0; i < json_array_size(kept); i++)
        put_back(admission->containers[i], json_array_get(kept, i));
}

enum admit_step admit_amounts(struct admission *admission, enum admit_rule rule)
{
    json_auto_t *kept = write_containers(admission);

    if (is_edited(admission, kept))
        keep_meaning(admission, kept);
    if (is_edited(admission, kept))
        admit_note(admission, rule);
    return ADMIT_GO_ON;
}
