/* SPDX-License-Identifier: Apache-2.0 */
/* simulate_pod - the jobs of a simulation, written as a user would write pods, and read back. */
#include "simulate_inside.h"

#include "topofit/dialect.h"
#include "topofit/job_class.h"
#include "topofit/kube_json.h"
#include "topofit/mem.h"

#include <inttypes.h>
#include <string.h>

#define POD_BYTES_MAX (1u << 20)

/* The memory that all devices of the class have, or 0. */
static uint64_t common_memory(const struct simulation *simulation, const struct device_class *class)
{
    uint64_t memory_mib = 0;

    for (size_t m = 0; m < simulation->machine_count; m++) {
        const struct node *node = simulation->machines[m].node;

        for (unsigned i = 0; i < node->device_count; i++) {
            if (node->devices[i].class != class)
                continue;
            if (memory_mib != 0 && node->devices[i].memory_mib != memory_mib)
                return 0;
            memory_mib = node->devices[i].memory_mib;
        }
    }
    return memory_mib;
}

struct pod_writer pod_writer_of(const struct simulation *simulation)
{
    const struct arrivals *arrivals = &simulation->arrivals;
    const char *name = ARRIVALS_CLASS;
    const struct device_class *class;

    for (size_t i = 0; i < arrivals->count; i++) {
        if (arrivals->jobs[i].gpus > 0) {
            name = job_class_name(&arrivals->jobs[i]); /* all have the same */
            break;
        }
    }
    class = class_find(simulation->classes, name);
    return (struct pod_writer){.class = class,
                               .device_memory_mib = common_memory(simulation, class)};
}

static void write_amount(struct buf *out, const char *resource, uint64_t amount, const char *unit)
{
    buf_addf(out, ",\"%s\":\"%" PRIu64 "%s\"", resource, amount, unit);
}

/*
 * Thousandths are told in MiB, exactly, when all devices have the same memory; else in percent,
 * which pods cannot split further: rounded up.
 */
static bool tells_mib(const struct pod_writer *writer, const struct job *job)
{
    return job->share == SHARE_MIB || (job->share == SHARE_MILLI && writer->device_memory_mib > 0 &&
                                       writer->class->memory_resource != NULL);
}

/* The resource that a job's share is told in; NULL: its class has none. */
static const char *share_resource(const struct pod_writer *writer, const struct job *job)
{
    return tells_mib(writer, job) ? writer->class->memory_resource
                                  : writer->class->percent_resource;
}

static void write_share(const struct pod_writer *writer, const struct job *job, struct buf *out)
{
    const char *resource = share_resource(writer, job);
    const char *unit = writer->class->memory_unit_mib == 1 ? "" : "Mi";

    switch (job->share) {
    case SHARE_WHOLE:
        return;
    case SHARE_MIB:
        write_amount(out, resource, job->amount, unit);
        return;
    case SHARE_PERCENT:
        write_amount(out, resource, job->amount, "");
        return;
    case SHARE_MILLI:
        if (tells_mib(writer, job))
            write_amount(out, resource, (job->amount * writer->device_memory_mib + 999) / 1000,
                         unit);
        else
            write_amount(out, resource, (job->amount + 9) / 10, "");
        return;
    }
}

static void write_annotation(struct buf *out, const char *key, const char *value, bool *any)
{
    if (value[0] == '\0')
        return;
    buf_addf(out, "%s\"%s\":", *any ? "," : "", key);
    buf_add_json_string(out, value);
    *any = true;
}

static void write_annotations(const struct job *job, struct buf *out)
{
    bool any = false;

    buf_add_text(out, ",\"annotations\":{");
    write_annotation(out, "topofit.io/use-products", job->products, &any);
    write_annotation(out, "topofit.io/topology", job->topology, &any);
    write_annotation(out, "topofit.io/topology-max-tier", job->max_tier, &any);
    write_annotation(out, "topofit.io/packing-policy", job->policy, &any);
    buf_add_text(out, "}");
}

void write_pod(const struct pod_writer *writer, const struct job *job, size_t position,
               struct buf *out)
{
    buf_addf(out,
             "{\"metadata\":{\"name\":\"job-%zu\",\"namespace\":\"" SIMULATE_NAMESPACE
             "\",\"uid\":\"simulation-%zu\"",
             position, position);
    write_annotations(job, out);
    buf_addf(out,
             "},\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":{\"requests\":{"
             "\"cpu\":\"%" PRIu64 "m\",\"memory\":\"%" PRIu64 "Mi\"",
             job->cpu_milli, job->memory_mib);
    if (job->gpus > 0) {
        write_amount(out, writer->class->count_resource, job->gpus, "");
        write_share(writer, job, out);
    }
    buf_add_text(out, "}}}]},\"status\":{\"phase\":\"Pending\"}}");
}

int read_job_pod(const struct pod_writer *writer, const struct class_table *classes,
                 const struct job *job, size_t position, struct pod **out, struct error *err)
{
    AUTO(buf_clear) struct buf json = buf_with_max(POD_BYTES_MAX);
    AUTO(kube_object_clear) struct kube_object object;
    struct pod *pod;

    if (job->gpus > 0 && job->share != SHARE_WHOLE && share_resource(writer, job) == NULL)
        return error_set(err, ERR_INVALID,
                         "line %u: job %.60s: class %.60s has no resource for that share of a GPU",
                         job->line, job->name, writer->class->name);
    write_pod(writer, job, position, &json);
    kube_object_init(&object, KUBE_POD);
    if (json.overflowed)
        return error_set(err, ERR_LIMIT, "line %u: the job is too big", job->line);
    if (kube_json_read_object(KUBE_POD, buf_text(&json), json.length, &object, err) < 0)
        return error_wrap(err, "line %u", job->line);
    pod = dialect_pod(&object.pod, classes);
    if (pod->request.problem != NULL) {
        error_set(err, ERR_INVALID, "line %u: job %.60s: %s", job->line, job->name,
                  pod->request.problem);
        pod_unref(pod);
        return error_pass(err);
    }
    *out = pod;
    return 0;
}
