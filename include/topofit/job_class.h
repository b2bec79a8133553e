/* SPDX-License-Identifier: Apache-2.0 */
/* job_class - the class of device that a job of a list asks for. Pure. */
#ifndef TOPOFIT_JOB_CLASS_H
#define TOPOFIT_JOB_CLASS_H

#include "topofit/arrivals.h"
#include "topofit/device_class.h"
#include "topofit/error.h"

/* The name that the job says, else that of the default. Borrowed. */
const char *job_class_name(const struct job *job);

/*
 * The class. Borrowed.
 *
 * errors  NULL and ERR_INVALID, with the line and the nearest name, when there is none, and when
 *         its devices cannot be asked for by their number.
 */
const struct device_class *job_class(const struct job *job, const struct class_table *classes,
                                     struct error *err);

#endif
