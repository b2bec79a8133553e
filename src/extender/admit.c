/* SPDX-License-Identifier: Apache-2.0 */
/* admit - what becomes of a pod that is being created: the table of rules. */
#include "admit_inside.h"

#include "topofit/admission_json.h"
#include "topofit/buf.h"
#include "topofit/dialect.h"
#include "topofit/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SCHEDULER "default-scheduler"
#define MIRROR_KEY "kubernetes.io/config.mirror" /* source: kubelet, static pods */
#define IGNORE "ignore"
#define MESSAGE_BYTES_MAX 2048
#define WARNING_BYTES_MAX 240 /* the API server cuts at 256 */

static const char *const opt_out_labels[] = {"topofit.io/webhook", "hami.io/webhook"};

static const char *const rule_names[] = {
#define X(id, name) [ADMIT_##id] = name,
    ADMIT_RULES(X)
#undef X
};

const char *admit_rule_name(enum admit_rule rule)
{
    return rule_names[rule];
}

/* --- for the rules --------------------------------------------------------------------------- */

void admit_note(struct admission *admission, enum admit_rule rule)
{
    admission->out->acted |= 1u << rule;
}

enum admit_step admit_leave(struct admission *admission, enum admit_rule rule)
{
    admit_note(admission, rule);
    return ADMIT_LEAVE;
}

enum admit_step admit_refuse(struct admission *admission, enum admit_rule rule, unsigned code,
                             const char *format, ...)
{
    struct admit_verdict *out = admission->out;
    char text[MESSAGE_BYTES_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    out->acted = 1u << rule;
    out->end = ADMIT_REFUSED;
    out->code = code;
    out->reason = code == 403 ? "Forbidden" : "BadRequest";
    out->message = xasprintf("%s. To keep topofit away from a pod, label it %s: %s.", text,
                             opt_out_labels[0], IGNORE);
    return ADMIT_STOP;
}

void admit_warn(struct admission *admission, enum admit_rule rule, const char *format, ...)
{
    AUTO(buf_clear) struct buf warning = buf_with_max(WARNING_BYTES_MAX);
    char text[MESSAGE_BYTES_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buf_add_utf8(&warning, text, WARNING_BYTES_MAX);
    json_array_append_new(admission->out->warnings, json_string(buf_text(&warning)));
    admit_note(admission, rule);
}

const char *admit_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

json_t *admit_object(json_t *parent, const char *key)
{
    if (!json_is_object(json_object_get(parent, key)))
        json_object_set_new(parent, key, json_object());
    return json_object_get(parent, key);
}

json_t *admit_list(json_t *parent, const char *key)
{
    if (!json_is_array(json_object_get(parent, key)))
        json_object_set_new(parent, key, json_array());
    return json_object_get(parent, key);
}

/* --- rules ----------------------------------------------------------------------------------- */

static enum admit_step leave_opted_out(struct admission *admission, enum admit_rule rule)
{
    const json_t *labels = json_object_get(json_object_get(admission->pod, "metadata"), "labels");

    for (size_t i = 0; i < ARRAY_LEN(opt_out_labels); i++) {
        if (strcmp(admit_text(labels, opt_out_labels[i]), IGNORE) == 0)
            return admit_leave(admission, rule);
    }
    return ADMIT_GO_ON;
}

/* The image of a static pod: kubelet runs that in any case, and its devices are to be seen. */
static enum admit_step leave_mirror(struct admission *admission, enum admit_rule rule)
{
    const json_t *annotations =
        json_object_get(json_object_get(admission->pod, "metadata"), "annotations");

    return json_object_get(annotations, MIRROR_KEY) != NULL ? admit_leave(admission, rule)
                                                            : ADMIT_GO_ON;
}

static bool names_us(const struct admission *admission)
{
    const char *ours = admission->policy->scheduler_name;

    return ours[0] != '\0' && strcmp(admit_text(admission->spec, "schedulerName"), ours) == 0;
}

static bool takes_over(const struct admission *admission)
{
    const char *name = admit_text(admission->spec, "schedulerName");

    switch (admission->policy->takes_over) {
    case TAKES_OVER_DEFAULT:
        return name[0] == '\0' || strcmp(name, DEFAULT_SCHEDULER) == 0;
    case TAKES_OVER_ANY:
        return true;
    case TAKES_OVER_NONE:
        return false;
    }
    return false;
}

static enum admit_step leave_other_scheduler(struct admission *admission, enum admit_rule rule)
{
    return names_us(admission) || takes_over(admission) ? ADMIT_GO_ON
                                                        : admit_leave(admission, rule);
}

static bool is_managed(const struct admit_policy *policy, const char *resource)
{
    for (size_t i = 0; i < policy->resource_count; i++) {
        if (strcmp(policy->resources[i], resource) == 0)
            return true;
    }
    return false;
}

/* As kube-scheduler asks an extender: about pods that name one of its resources, even with 0. */
static bool names_managed(const struct admission *admission, const char *list)
{
    const char *name;
    json_t *amount;

    for (size_t i = 0; i < admission->container_count; i++) {
        const json_t *resources = json_object_get(admission->containers[i], "resources");

        json_object_foreach(json_object_get(resources, list), name, amount)
        {
            if (is_managed(admission->policy, name))
                return true;
        }
    }
    return false;
}

/* Taken over, such a pod would be placed by a scheduler that does not ask who has its devices. */
static enum admit_step leave_unmanaged(struct admission *admission, enum admit_rule rule)
{
    if (admission->policy->resource_count == 0 || names_managed(admission, "limits") ||
        names_managed(admission, "requests"))
        return ADMIT_GO_ON;
    if (names_us(admission))
        admit_warn(admission, rule,
                   "scheduler %s does not ask topofit about the devices of this pod: add their "
                   "resources to managedResources of its extender",
                   admission->policy->scheduler_name);
    return admit_leave(admission, rule);
}

static enum admit_step refuse_problem(struct admission *admission, enum admit_rule rule)
{
    if (admission->request->problem == NULL)
        return ADMIT_GO_ON;
    return admit_refuse(admission, rule, 400,
                        "%s. Correct it in the pod, or in the template it is made from, and "
                        "create it again",
                        admission->request->problem);
}

/* The first container that sees all devices of its host, or NULL. */
static const json_t *find_privileged(const struct admission *admission)
{
    for (size_t i = 0; i < admission->container_count; i++) {
        const json_t *security = json_object_get(admission->containers[i], "securityContext");

        if (json_is_true(json_object_get(security, "privileged")))
            return admission->containers[i];
    }
    return NULL;
}

static enum admit_step judge_privileged(struct admission *admission, enum admit_rule rule)
{
    const json_t *container = find_privileged(admission);
    enum admit_privileged policy = admission->policy->privileged;

    if (container == NULL)
        return ADMIT_GO_ON;
    /* Left alone, a pod that names our scheduler would get devices all the same. */
    if (policy == PRIVILEGED_DENY || (policy == PRIVILEGED_IGNORE && names_us(admission)))
        return admit_refuse(admission, rule, 403,
                            "container %s is privileged: it would see all devices of its node, "
                            "whatever the pod is given. Remove securityContext.privileged, or put "
                            "what needs it into a pod that asks for no devices",
                            admit_text(container, "name"));
    if (policy == PRIVILEGED_WARN) {
        admit_warn(admission, rule, "container %s is privileged: it sees all devices of its node",
                   admit_text(container, "name"));
        return ADMIT_GO_ON;
    }
    admit_warn(admission, rule,
               "container %s is privileged: topofit leaves this pod to its own scheduler",
               admit_text(container, "name"));
    return ADMIT_LEAVE;
}

static enum admit_step refuse_node_name(struct admission *admission, enum admit_rule rule)
{
    const char *node = admit_text(admission->spec, "nodeName");

    if (node[0] == '\0')
        return ADMIT_GO_ON;
    return admit_refuse(admission, rule, 400,
                        "spec.nodeName is %s: no scheduler would see the pod, and nobody choose "
                        "its devices. Use a nodeSelector: {kubernetes.io/hostname: %s}",
                        node, node);
}

static enum admit_step refuse_beyond_quota(struct admission *admission, enum admit_rule rule)
{
    const struct admit_quota *quota = admission->quota;
    char text[MESSAGE_BYTES_MAX] = "";

    if (quota == NULL || !quota->refuses(quota->ctx, admission->request, text, sizeof text))
        return ADMIT_GO_ON;
    return admit_refuse(admission, rule, 403, "%s", text);
}

static enum admit_step set_scheduler(struct admission *admission, enum admit_rule rule)
{
    if (admission->policy->scheduler_name[0] == '\0' || names_us(admission))
        return ADMIT_GO_ON;
    json_object_set_new(admission->spec, "schedulerName",
                        json_string(admission->policy->scheduler_name));
    admit_note(admission, rule);
    return ADMIT_GO_ON;
}

static enum admit_step set_runtime_class(struct admission *admission, enum admit_rule rule)
{
    bool needed = false;

    for (size_t i = 0; i < admission->request->ask_count; i++)
        needed = needed || admission->request->asks[i].class->needs_runtime_class;
    if (!needed || admission->policy->runtime_class_name[0] == '\0' ||
        admit_text(admission->spec, "runtimeClassName")[0] != '\0')
        return ADMIT_GO_ON;
    json_object_set_new(admission->spec, "runtimeClassName",
                        json_string(admission->policy->runtime_class_name));
    admit_note(admission, rule);
    return ADMIT_GO_ON;
}

/*
 * In the order of ADMIT_RULES. What leaves pods alone stands before what edits them, but for
 * records, which are nobody's to bring; the quota is asked about pods that are ours, and whose
 * request is readable.
 */
static const struct {
    admit_rule_fn *ask;
    bool any_pod; /* also of pods that want no devices */
} rules[] = {
    [ADMIT_RECORDS] = {.ask = admit_records, .any_pod = true},
    [ADMIT_OPTED_OUT] = {.ask = leave_opted_out, .any_pod = true},
    [ADMIT_MIRROR] = {.ask = leave_mirror, .any_pod = true},
    [ADMIT_OTHER_SCHEDULER] = {.ask = leave_other_scheduler},
    [ADMIT_UNMANAGED] = {.ask = leave_unmanaged},
    [ADMIT_REQUEST] = {.ask = refuse_problem},
    [ADMIT_PRIVILEGED] = {.ask = judge_privileged},
    [ADMIT_NODE_NAME] = {.ask = refuse_node_name},
    [ADMIT_QUOTA] = {.ask = refuse_beyond_quota},
    [ADMIT_DELIVERABLE] = {.ask = admit_deliverable},
    [ADMIT_SCHEDULER] = {.ask = set_scheduler},
    [ADMIT_AMOUNTS] = {.ask = admit_amounts},
    [ADMIT_RUNTIME_CLASS] = {.ask = set_runtime_class},
    [ADMIT_PRIORITY] = {.ask = admit_priority},
    [ADMIT_CORE_POLICY] = {.ask = admit_core_policy},
    [ADMIT_DELIVERY] = {.ask = admit_deliver},
    [ADMIT_VISIBLE_DEVICES] = {.ask = admit_guard, .any_pod = true},
};
_Static_assert(ARRAY_LEN(rules) == ADMIT_RULE_COUNT, "a rule without a row");
_Static_assert(ADMIT_RULE_COUNT <= 32, "admit_verdict.acted is too small");

/* --- a pod ----------------------------------------------------------------------------------- */

/* The name of a partition profile follows the class's own prefix. */
static bool names_profile(const struct class_table *classes, const char *resource)
{
    for (size_t i = 0; i < classes->count; i++) {
        const char *prefix = classes->items[i].profile_resources;

        if (prefix != NULL && strncmp(resource, prefix, strlen(prefix)) == 0)
            return true;
    }
    return false;
}

static bool names_amounts(const json_t *container, const char *list,
                          const struct class_table *classes)
{
    const json_t *amounts = json_object_get(json_object_get(container, "resources"), list);
    const char *name;
    json_t *amount;

    json_object_foreach((json_t *)amounts, name, amount)
    {
        if (class_find_resource(classes, name) != NULL || names_profile(classes, name))
            return true;
    }
    return false;
}

/*
 * Does the pod want devices? A request may have a problem that is no business of ours: more
 * containers than are looked at, say, none of which wants any.
 */
static bool wants_devices(const struct admission *admission)
{
    if (admission->request->ask_count > 0)
        return true;
    for (size_t i = 0; admission->request->problem != NULL && i < admission->container_count; i++) {
        if (names_amounts(admission->containers[i], "limits", admission->classes) ||
            names_amounts(admission->containers[i], "requests", admission->classes))
            return true;
    }
    return false;
}

/* What is no object is no container, here and for the reader of requests. */
static void gather_containers(struct admission *admission, const char *list)
{
    size_t index;
    json_t *container;

    json_array_foreach(json_object_get(admission->spec, list), index, container)
    {
        if (json_is_object(container))
            admission->containers[admission->container_count++] = container;
    }
}

/*
 * The pod with everything new that a rule may edit, and everything else shared: a patch is told
 * from the one that came, and pods can be large.
 */
static json_t *editable_container(json_t *container)
{
    static const char *const edited[] = {"env", "resources"};
    json_t *copy = json_copy(container);

    for (size_t i = 0; i < ARRAY_LEN(edited); i++) {
        if (json_object_get(copy, edited[i]) != NULL)
            json_object_set_new(copy, edited[i], json_deep_copy(json_object_get(copy, edited[i])));
    }
    return copy;
}

static json_t *editable_pod(const json_t *pod)
{
    static const char *const lists[] = {"initContainers", "containers"};
    json_t *copy = json_copy((json_t *)pod), *spec = json_copy(json_object_get(copy, "spec"));
    json_t *meta = json_copy(json_object_get(copy, "metadata"));

    json_object_set_new(meta, "annotations", json_copy(json_object_get(meta, "annotations")));
    json_object_set_new(copy, "metadata", meta);
    json_object_set_new(copy, "spec", spec);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_t *list = json_copy(json_object_get(spec, lists[i]));

        for (size_t k = 0; k < json_array_size(list); k++) {
            if (json_is_object(json_array_get(list, k)))
                json_array_set_new(list, k, editable_container(json_array_get(list, k)));
        }
        json_object_set_new(spec, lists[i], list);
    }
    return copy;
}

static void ask_rules(struct admission *admission)
{
    enum admit_step step = ADMIT_GO_ON;

    for (unsigned i = 0; i < ADMIT_RULE_COUNT && step == ADMIT_GO_ON; i++) {
        if (rules[i].any_pod || admission->wants_devices)
            step = rules[i].ask(admission, (enum admit_rule)i);
    }
}

static void judge(struct admission *admission, const json_t *pod)
{
    struct admit_verdict *out = admission->out;
    size_t most;

    admission->spec = json_object_get(admission->pod, "spec");
    /* Ephemeral containers can have no resources, and come by a subresource that is not asked. */
    most = json_array_size(json_object_get(admission->spec, "initContainers")) +
           json_array_size(json_object_get(admission->spec, "containers"));
    admission->containers = xcalloc(most + 1, sizeof(json_t *));
    gather_containers(admission, "initContainers");
    gather_containers(admission, "containers");
    admission->wants_devices = wants_devices(admission);
    ask_rules(admission);
    free(admission->containers);
    if (out->end != ADMIT_REFUSED && !json_equal(admission->pod, pod)) {
        out->end = ADMIT_PATCHED;
        out->pod = json_incref(admission->pod);
    }
}

int admit(const json_t *pod, const struct class_table *classes, const struct admit_policy *policy,
          const struct admit_quota *quota, struct admit_verdict *out, struct error *err)
{
    AUTO(kube_pod_clear) struct kube_pod kube = {0};
    AUTO(request_clear) struct request request = {0};
    json_auto_t *copy = NULL;
    struct admission admission = {.classes = classes, .policy = policy, .quota = quota, .out = out};

    if (admission_json_read_pod(pod, &kube, err) < 0)
        return error_pass(err);
    dialect_request(&kube, classes, &request);
    *out = (struct admit_verdict){.warnings = json_array()};
    if (!json_is_object(json_object_get(pod, "spec")))
        return 0;
    copy = editable_pod(pod);
    admission.request = &request;
    admission.pod = copy;
    judge(&admission, pod);
    return 0;
}

void admit_verdict_clear(struct admit_verdict *verdict)
{
    json_decref(verdict->pod);
    json_decref(verdict->warnings);
    free(verdict->message);
    *verdict = (struct admit_verdict){0};
}
