/* SPDX-License-Identifier: Apache-2.0 */
/* job_class - the class of device that a job of a list asks for. */
#include "topofit/job_class.h"

#define SUGGESTION_DISTANCE 3

const char *job_class_name(const struct job *job)
{
    return job->class[0] != '\0' ? job->class : ARRIVALS_CLASS;
}

const struct device_class *job_class(const struct job *job, const struct class_table *classes,
                                     struct error *err)
{
    const char *name = job_class_name(job);
    const struct device_class *class = class_find(classes, name);
    const char *nearest = class_nearest(classes, name, SUGGESTION_DISTANCE);

    if (class != NULL && class->count_resource != NULL)
        return class;
    if (class != NULL)
        error_set(err, ERR_INVALID,
                  "line %u: class %.60s is asked for in slices, and not by the number of GPUs",
                  job->line, name);
    else
        error_set(err, ERR_INVALID, "line %u: there is no class %.60s%s%s%s", job->line, name,
                  nearest != NULL ? "; did you mean " : "", nearest != NULL ? nearest : "",
                  nearest != NULL ? "?" : "");
    return NULL;
}
