/* SPDX-License-Identifier: Apache-2.0 */
/* dialect - how one system spells the facts on nodes and pods; the table, and what all share. */
#include "topofit/dialect.h"

#include "amounts.h"
#include "cordon.h"
#include "host_reading.h"
#include "topofit/annotation_budget.h"
#include "topofit/mem.h"
#include "topofit/node_lock.h"

#include <string.h>

const struct dialect *const dialects[] = {&dialect_native, &dialect_hami};
const size_t dialect_count = ARRAY_LEN(dialects);

/* --- nodes ----------------------------------------------------------------------------------- */

static struct label_set *read_labels(const struct kube_pairs *pairs)
{
    struct label_set *labels = labels_new();

    for (size_t i = 0; i < pairs->count; i++)
        labels_add(labels, pairs->items[i].key, pairs->items[i].value);
    labels_sort(labels);
    return labels;
}

struct node *dialect_node(const struct kube_node *kube, const struct class_table *classes)
{
    struct node *node = node_new(kube->meta.name, kube->meta.uid);

    labels_unref(node->labels);
    node->labels = read_labels(&kube->meta.labels);
    node->unschedulable = kube->unschedulable;
    node->host = host_of_node(kube);
    if (kube->truncated) {
        /* What was left out may be a cordon: nothing is given out of what is not known in full. */
        node_note_problem(node, "the node has more or other text than is looked at");
        return node;
    }
    /* The first inventory counts: the same devices told twice would be given out twice. */
    for (size_t i = 0; i < dialect_count && !node->has_inventory; i++)
        node->has_inventory = dialects[i]->read_node(kube, classes, node);
    cordon_read(kube, node);
    return node;
}

/* --- pods ------------------------------------------------------------------------------------ */

static bool read_init_done(const struct kube_pod *kube)
{
    for (size_t i = 0; i < kube->container_count; i++) {
        if (kube->containers[i].kind == CONTAINER_INIT && !kube->containers[i].terminated_ok)
            return false;
    }
    return true;
}

bool dialect_is_handed_out(const struct kube_pod *kube)
{
    const char *phase = kube_pairs_get(&kube->meta.annotations, BIND_PHASE_KEY);

    if (kube->node_name[0] == '\0')
        return false;
    return (kube->phase[0] != '\0' && strcmp(kube->phase, "Pending") != 0) ||
           (phase != NULL &&
            (strcmp(phase, BIND_PHASE_SUCCESS) == 0 || strcmp(phase, BIND_PHASE_FAILED) == 0));
}

static bool says_anything(const struct kube_pairs *amounts)
{
    return kube_pairs_get(amounts, "cpu") != NULL || kube_pairs_get(amounts, "memory") != NULL;
}

/* Amounts of nothing are none to Kubernetes, too; who writes them is not worth telling apart. */
static bool is_best_effort(const struct kube_pod *kube)
{
    bool says = says_anything(&kube->requests) || says_anything(&kube->limits);

    for (size_t i = 0; !says && i < kube->container_count; i++)
        says = says_anything(&kube->containers[i].requests) ||
               says_anything(&kube->containers[i].limits);
    return !says;
}

static struct quota_traits read_traits(const struct kube_pod *kube)
{
    return (struct quota_traits){
        .priority_class = kube->priority_class[0] != '\0' ? xstrdup(kube->priority_class) : NULL,
        .is_terminating = kube->has_deadline,
        .is_best_effort = is_best_effort(kube),
    };
}

void dialect_request(const struct kube_pod *kube, const struct class_table *classes,
                     struct request *out)
{
    struct error err = {0};

    request_init(out);
    amounts_read(kube, classes, out);
    if (kube->truncated)
        request_set_problem(out, "the pod has more containers or annotations than are looked at");
    if (annotations_check_own(&kube->meta.annotations, &err) < 0)
        request_set_problem(out, "%s", err.text);
    /* Demands of a pod that asks for no device concern nobody. */
    for (size_t i = 0; i < dialect_count && request_wants_devices(out); i++)
        dialects[i]->read_demands(kube, out);
    if (request_wants_devices(out))
        out->traits = read_traits(kube);
}

void dialect_read_record(const struct kube_pod *kube, const struct class_table *classes,
                         struct pod *pod)
{
    for (size_t i = 0; i < dialect_count && !pod->has_record; i++) {
        struct allocation record;
        struct error err = {0};
        int result = dialects[i]->read_record(kube, classes, &pod->request, &record, &err);

        if (result > 0) {
            allocation_clear(&pod->record);
            pod->record = record;
            pod->has_record = true;
        } else if (result < 0 && pod->record_problem == NULL) {
            pod->record_problem = xstrdup(err.text);
        }
    }
}

struct pod *dialect_pod(const struct kube_pod *kube, const struct class_table *classes)
{
    struct pod *pod = pod_new(kube->meta.namespace, kube->meta.name, kube->meta.uid);

    mem_free_pointer(&pod->node);
    pod->node = xstrdup(kube->node_name);
    pod->finished = strcmp(kube->phase, "Succeeded") == 0 || strcmp(kube->phase, "Failed") == 0;
    pod->deleting = kube->meta.deleting;
    pod->handed_out = dialect_is_handed_out(kube);
    pod->gated = kube->gated;
    pod->priority = kube->priority;
    pod->host = host_of_pod(kube);
    pod->started_s = kube->started_s;
    if (kube->nominated_node[0] != '\0')
        pod->nominated = xstrdup(kube->nominated_node);
    pod->init_done = read_init_done(kube);
    dialect_request(kube, classes, &pod->request);
    if (pod->request.problem != NULL)
        request_forget_wishes(&pod->request);
    dialect_read_record(kube, classes, pod);
    return pod;
}

bool dialect_is_record_key(const struct class_table *classes, const char *key)
{
    for (size_t i = 0; i < dialect_count; i++) {
        if (dialects[i]->is_record_key(classes, key))
            return true;
    }
    return false;
}

const char *dialect_record_key(void)
{
    return dialect_native.record_key;
}

int dialect_write_record(const struct dialect_placement *placement, struct kube_pairs *annotations,
                         struct error *err)
{
    for (size_t i = 0; i < dialect_count; i++) {
        if (dialects[i]->write_record != NULL)
            dialects[i]->write_record(placement, annotations);
    }
    return annotations_check_record(annotations, err);
}
