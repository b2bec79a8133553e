/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_args_whole - the two ways to read ExtenderArgs, which must agree. For wire and its
 * tests.
 */
#ifndef TOPOFIT_EXTENDER_ARGS_WHOLE_H
#define TOPOFIT_EXTENDER_ARGS_WHOLE_H

#include "topofit/extender_json.h"

/* The parser reads it all. As extender_json_read_args(). */
int extender_args_read_whole(const char *bytes, size_t length, struct extender_args *out,
                             struct error *err);

/*
 * The names are skimmed, and the rest is read as plain JSON. return false when the body is not of
 * the form for that, or not right: then the other way tells, and `out` is as it was.
 */
bool extender_args_read_skimming(const char *bytes, size_t length,
                                 const struct likely_names *likely, struct extender_args *out);

#endif
