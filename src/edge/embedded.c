/* SPDX-License-Identifier: Apache-2.0 */
/* embedded - a cluster from a dump. */
#include "topofit/embedded.h"

#include "topofit/dialect.h"
#include "topofit/intake.h"
#include "topofit/mem.h"
#include "topofit/yaml.h"

#include <stdlib.h>
#include <string.h>

/* --- reading --------------------------------------------------------------------------------- */

static bool looks_like_json(const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length && strchr(" \t\r\n", bytes[at]) != NULL)
        at++;
    return at < length && bytes[at] == '{';
}

static int read_yaml(const char *bytes, size_t length, kube_on_object on_object, void *ctx,
                     struct error *err)
{
    AUTO(yaml_free_pointer) struct yaml_value *documents = NULL;

    if (yaml_read(bytes, length, &documents, err) < 0)
        return error_pass(err);
    for (size_t i = 0; i < documents->count; i++) {
        const struct yaml_value *document = documents->members[i].value;
        AUTO(buf_clear) struct buf json = buf_with_max(EMBEDDED_BYTES_MAX);

        /* As between two "---" in what helm writes. */
        if (document->type == YAML_SCALAR && document->text[0] == '\0')
            continue;
        if (document->type != YAML_MAP)
            return error_set(err, ERR_INVALID,
                             "line %u, column %u: a Kubernetes object or list is expected",
                             document->line, document->column);
        yaml_write_json(document, &json);
        if (json.overflowed)
            return error_set(err, ERR_LIMIT, "line %u: the document is too big", document->line);
        if (kube_json_read_dump(buf_text(&json), json.length, on_object, ctx, err) < 0)
            return error_wrap(err, "document at line %u", document->line);
    }
    return 0;
}

int embedded_each_object(const char *bytes, size_t length, kube_on_object on_object, void *ctx,
                         struct error *err)
{
    if (looks_like_json(bytes, length))
        return kube_json_read_dump(bytes, length, on_object, ctx, err);
    return read_yaml(bytes, length, on_object, ctx, err);
}

/* The sinks that the watch uses as well: a dump is a list that never changes again. */
struct loading {
    struct reflector_sink sinks[KUBE_KINDS];
    size_t nodes;     /* so far */
    struct map *uids; /* of pods: "namespace/name", owned */
    struct error err; /* the first thing that cannot be */
};

/* Two pods with one uid cannot both be true: the dump was edited. */
static void note_uid(struct loading *loading, const struct kube_meta *meta)
{
    AUTO_FREE char *name = xasprintf("%s/%s", meta->namespace, meta->name);
    const char *other = map_get(loading->uids, meta->uid);

    if (other != NULL && strcmp(other, name) != 0 && loading->err.code == ERR_NONE)
        error_set(&loading->err, ERR_INVALID, "pods %s and %s have the same uid %s", other, name,
                  meta->uid);
    free(map_put(loading->uids, meta->uid, steal_ptr(&name)));
}

/* What a manifest leaves to the API server. */
static void set_namespace(struct kube_meta *meta)
{
    if (meta->namespace[0] != '\0')
        return;
    free(meta->namespace);
    meta->namespace = xstrdup("default");
}

static void set_uid(struct kube_meta *meta)
{
    if (meta->uid[0] != '\0')
        return;
    free(meta->uid);
    meta->uid = xasprintf("%s/%s", meta->namespace, meta->name);
}

static void load_object(void *ctx, struct kube_object *object)
{
    struct loading *loading = ctx;
    struct reflector_sink *sink = &loading->sinks[object->kind];

    if (object->is_template)
        return;
    loading->nodes += object->kind == KUBE_NODE;
    if (object->kind == KUBE_QUOTA)
        set_namespace(&object->quota.meta);
    if (object->kind == KUBE_POD) {
        set_namespace(&object->pod.meta);
        set_uid(&object->pod.meta);
        note_uid(loading, &object->pod.meta);
    }
    sink->item(sink->ctx, object);
}

int embedded_read(struct cluster *cluster, const struct class_table *classes, const char *bytes,
                  size_t length, struct error *err)
{
    /* Problems are shown with the nodes; a file is read once, by somebody who looks. */
    struct intake *intake = intake_new(cluster, classes, &(struct intake_listener){0});
    struct loading loading = {.uids = map_new(&(struct hash_key){{0, 0}})};
    int result;

    for (unsigned kind = 0; kind < KUBE_KINDS; kind++) {
        loading.sinks[kind] = intake_sink(intake, (enum kube_kind)kind);
        loading.sinks[kind].begin(loading.sinks[kind].ctx);
    }
    result = embedded_each_object(bytes, length, load_object, &loading, err);
    if (result == 0 && loading.err.code != ERR_NONE)
        result = error_set(err, loading.err.code, "%s", loading.err.text);
    if (result == 0 && loading.nodes == 0)
        result = error_set(err, ERR_INVALID, "there is no node in it; may you list nodes?");
    for (unsigned kind = 0; result == 0 && kind < KUBE_KINDS; kind++)
        loading.sinks[kind].commit(loading.sinks[kind].ctx);
    map_free(loading.uids, free);
    intake_free(intake);
    return result;
}

/* --- binding --------------------------------------------------------------------------------- */

/* What the API server would do: set the node and merge the annotations. */
static void bind_pod(struct embedded_port *port, const struct bind_job *job)
{
    AUTO(pod_unref_pointer)
    struct pod *known = cluster_find_pod(port->cluster, job->namespace, job->name);
    AUTO(kube_pod_clear) struct kube_pod record = {0};
    static const struct class_table no_classes; /* our own record needs none */
    struct pod *bound;

    /* A pod that only the scheduler has shown us lives in the ledger alone. */
    if (known == NULL || strcmp(known->uid, job->uid) != 0)
        return;
    kube_pod_init(&record);
    for (size_t i = 0; i < job->annotation_count; i++)
        kube_pairs_add(&record.meta.annotations, job->annotations[i].key,
                       job->annotations[i].value);
    bound = pod_bound(known, job->node);
    dialect_read_record(&record, &no_classes, bound);
    cluster_put_pod(port->cluster, bound);
}

static int submit(void *ctx, struct bind_job *steal_job, struct error *err)
{
    (void)err;
    bind_pod(ctx, steal_job);
    steal_job->done(steal_job->ctx, BIND_BOUND, "");
    bind_job_free(steal_job);
    return 0;
}

struct bind_port embedded_bind_port(struct embedded_port *port)
{
    return (struct bind_port){.ctx = port, .submit = submit};
}
