/* SPDX-License-Identifier: Apache-2.0 */
/*
 * criteria_columns - what a node is worth by each criterion, as columns for people. For explain.
 */
#ifndef TOPOFIT_CRITERIA_COLUMNS_H
#define TOPOFIT_CRITERIA_COLUMNS_H

#include "topofit/worth.h"

#define CRITERION_TEXT_MAX 32

/* "TIER", "LEFT", ... Static storage. */
const char *criterion_header(enum criterion criterion);

/* Its value in a worth. Groups are those of 8, of 4, of 2, linked ones before others. */
void criterion_describe(const struct worth *worth, enum criterion criterion,
                        char text[CRITERION_TEXT_MAX]);

#endif
