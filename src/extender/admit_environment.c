/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admit_environment - environment variables: which devices a container sees, and how it runs on
 * them.
 *
 * A variable that is set stands in a container once: in the place where it stood first, or at the
 * end. Lists are made where there are none.
 */
#include "admit_inside.h"

#include "topofit/mem.h"
#include "topofit/quantity.h"
#include "topofit/text.h"

#include <inttypes.h>
#include <string.h>

#define CLASS_NAME_MAX 128
#define DEVICES_FIELD "metadata.annotations['devices.topofit.io/%s']"

/* --- lists of variables ---------------------------------------------------------------------- */

static bool is_named(const json_t *entry, const char *name)
{
    return strcmp(admit_text(entry, "name"), name) == 0;
}

/* Remove the entries of that name from an index on. return whether there were any. */
static bool drop_from(json_t *list, size_t start, const char *name)
{
    bool dropped = false;

    for (size_t i = json_array_size(list); i > start; i--) {
        if (is_named(json_array_get(list, i - 1), name)) {
            json_array_remove(list, i - 1);
            dropped = true;
        }
    }
    return dropped;
}

static bool drop_variable(json_t *container, const char *name)
{
    return drop_from(json_object_get(container, "env"), 0, name);
}

/* Have one entry of that name, this one. return whether something changed. */
static bool set_entry(json_t *container, const char *name, json_t *steal_entry)
{
    json_auto_t *entry = steal_entry;
    json_t *list = admit_list(container, "env");
    size_t at = 0;
    bool changed;

    while (at < json_array_size(list) && !is_named(json_array_get(list, at), name))
        at++;
    changed = !json_equal(json_array_get(list, at), entry);
    if (at == json_array_size(list))
        json_array_append(list, entry);
    else if (changed)
        json_array_set(list, at, entry);
    return drop_from(list, at + 1, name) || changed;
}

static bool set_value(json_t *container, const char *name, const char *value)
{
    return set_entry(container, name, json_pack("{s:s, s:s}", "name", name, "value", value));
}

static bool set_field(json_t *container, const char *name, const char *path)
{
    return set_entry(container, name,
                     json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", name, "valueFrom", "fieldRef",
                               "apiVersion", "v1", "fieldPath", path));
}

/* --- how a container runs on its devices ----------------------------------------------------- */

/* The text of a container's amount, from limits, else from requests; NULL when not given. */
static const char *amount_text(const json_t *container, const char *resource)
{
    const json_t *resources = json_object_get(container, "resources");
    const char *text =
        json_string_value(json_object_get(json_object_get(resources, "limits"), resource));

    return text != NULL ? text
                        : json_string_value(
                              json_object_get(json_object_get(resources, "requests"), resource));
}

static enum admit_step set_priority(struct admission *admission, enum admit_rule rule,
                                    const struct ask *ask)
{
    json_t *container = admission->containers[ask->container];
    const struct device_class *class = ask->class;
    const char *amount = amount_text(container, class->priority_resource);
    struct error err = {0};
    uint64_t priority = 0;
    AUTO_FREE char *value = NULL;

    if (amount == NULL)
        return ADMIT_GO_ON;
    if (quantity_parse_count(amount, &priority, &err) < 0)
        return admit_refuse(admission, rule, 400,
                            "%s of container %s is \"%.60s\": expected a whole number, 0 is the "
                            "highest priority. Correct it and create the pod again",
                            class->priority_resource, admit_text(container, "name"), amount);
    value = xasprintf("%" PRIu64, priority);
    if (set_value(container, class->priority_variable, value))
        admit_note(admission, rule);
    return ADMIT_GO_ON;
}

enum admit_step admit_priority(struct admission *admission, enum admit_rule rule)
{
    enum admit_step step = ADMIT_GO_ON;

    for (size_t i = 0; i < admission->request->ask_count && step == ADMIT_GO_ON; i++) {
        const struct ask *ask = &admission->request->asks[i];

        if (ask->class->priority_resource != NULL && ask->class->priority_variable != NULL)
            step = set_priority(admission, rule, ask);
    }
    return step;
}

enum admit_step admit_core_policy(struct admission *admission, enum admit_rule rule)
{
    static const char *const values[] = {[CORE_POLICY_DEFAULT] = NULL,
                                         [CORE_POLICY_FORCE] = "force",
                                         [CORE_POLICY_DISABLE] = "disable"};
    const char *value = values[admission->policy->core_policy];

    for (size_t i = 0; value != NULL && i < admission->request->ask_count; i++) {
        const struct ask *ask = &admission->request->asks[i];

        if (ask->class->core_policy_variable != NULL &&
            set_value(admission->containers[ask->container], ask->class->core_policy_variable,
                      value))
            admit_note(admission, rule);
    }
    return ADMIT_GO_ON;
}

/* --- which devices a container sees ---------------------------------------------------------- */

/* Are the devices put into the container by us? Partitions have ids that only the node knows. */
static bool is_delivered(const struct admission *admission, const struct ask *ask)
{
    return admission->policy->delivery == DELIVERY_DOWNWARD_API &&
           ask->class->visible_variable != NULL && ask->class->visible_by_id &&
           ask->memory_kind != MEMORY_PROFILE;
}

/* The annotation lists all devices of a container: two vendors' would be mixed up. */
enum admit_step admit_deliverable(struct admission *admission, enum admit_rule rule)
{
    const struct request *request = admission->request;

    for (size_t i = 1; i < request->ask_count; i++) {
        const struct ask *ask = &request->asks[i], *before = &request->asks[i - 1];

        if (ask->container == before->container && ask->class != before->class &&
            (is_delivered(admission, ask) || is_delivered(admission, before)))
            return admit_refuse(
                admission, rule, 400,
                "container %s asks for %s and %s: here a container is told its devices by one "
                "variable, which cannot tell them apart. Use a container for each",
                request->containers[ask->container].name, before->class->title, ask->class->title);
    }
    return ADMIT_GO_ON;
}

enum admit_step admit_deliver(struct admission *admission, enum admit_rule rule)
{
    for (size_t i = 0; i < admission->request->ask_count; i++) {
        const struct ask *ask = &admission->request->asks[i];
        json_t *container = admission->containers[ask->container];
        AUTO_FREE char *path = xasprintf(DEVICES_FIELD, admit_text(container, "name"));

        if (is_delivered(admission, ask) &&
            set_field(container, ask->class->visible_variable, path))
            admit_note(admission, rule);
    }
    return ADMIT_GO_ON;
}

static bool is_guarded(const struct admission *admission, const struct device_class *class)
{
    const char *at = admission->policy->guarded_classes;
    char name[CLASS_NAME_MAX];

    while (class->visible_variable != NULL && text_next_item(&at, name, sizeof name)) {
        if (strcmp(name, class->name) == 0)
            return true;
    }
    return false;
}

/* What the container asks for that the variable is about, or NULL. Several chips share theirs. */
static const struct ask *find_ask(const struct admission *admission, size_t container,
                                  const char *variable)
{
    for (size_t i = 0; i < admission->request->ask_count; i++) {
        const struct ask *ask = &admission->request->asks[i];

        if (ask->container == container && ask->class->visible_variable != NULL &&
            strcmp(ask->class->visible_variable, variable) == 0)
            return ask;
    }
    return NULL;
}

/* What the image says of it counts for nothing; what is given to the container does. */
static bool guard(struct admission *admission, size_t container, const struct device_class *class)
{
    const char *variable = class->visible_variable;
    const struct ask *ask = find_ask(admission, container, variable);

    if (ask == NULL)
        return set_value(admission->containers[container], variable,
                         class->no_devices != NULL ? class->no_devices : "");
    return !is_delivered(admission, ask) &&
           drop_variable(admission->containers[container], variable);
}

enum admit_step admit_guard(struct admission *admission, enum admit_rule rule)
{
    for (size_t k = 0; k < admission->classes->count; k++) {
        const struct device_class *class = &admission->classes->items[k];

        if (!is_guarded(admission, class))
            continue;
        for (size_t i = 0; i < admission->container_count; i++) {
            if (guard(admission, i, class))
                admit_note(admission, rule);
        }
    }
    return ADMIT_GO_ON;
}
