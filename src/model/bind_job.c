/* SPDX-License-Identifier: Apache-2.0 */
/* bind_job - one Binding to be written, and how that ended. */
#include "topofit/bind_job.h"

#include "topofit/mem.h"

#include <stdlib.h>
#include <string.h>

struct bind_job *bind_job_new(const char *namespace, const char *name, const char *uid,
                              const char *node)
{
    struct bind_job *job = xcalloc(1, sizeof *job);

    job->namespace = xstrdup(namespace);
    job->name = xstrdup(name);
    job->uid = xstrdup(uid);
    job->node = xstrdup(node);
    return job;
}

void bind_job_add_annotation(struct bind_job *job, const char *key, const char *value)
{
    struct annotation *annotation;

    job->annotations = mem_grow(job->annotations, job->annotation_count, &job->annotation_capacity,
                                sizeof *job->annotations);
    annotation = &job->annotations[job->annotation_count++];
    annotation->key = xstrdup(key);
    annotation->value = xstrdup(value);
}

const char *bind_job_annotation(const struct bind_job *job, const char *key)
{
    for (size_t i = 0; i < job->annotation_count; i++) {
        if (strcmp(job->annotations[i].key, key) == 0)
            return job->annotations[i].value;
    }
    return NULL;
}

void bind_job_free(struct bind_job *job)
{
    if (job == NULL)
        return;
    for (size_t i = 0; i < job->annotation_count; i++) {
        free(job->annotations[i].key);
        free(job->annotations[i].value);
    }
    free(job->annotations);
    free(job->namespace);
    free(job->name);
    free(job->uid);
    free(job->node);
    free(job);
}
