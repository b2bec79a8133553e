/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names_skim - the list of node names in a body, read where it stands. For wire only.
 *
 * A call names every node of the cluster. Read by a parser that knows all of JSON that costs more
 * than everything else together; but kube-scheduler writes the list in one form, with plain names.
 */
#ifndef TOPOFIT_NAMES_SKIM_H
#define TOPOFIT_NAMES_SKIM_H

#include "topofit/extender_json.h"

struct names_skim {
    struct name_at *names; /* NULL: all of the likely list, in order */
    size_t shift;          /* then: how far on in the body than in the list they stand */
    uint32_t *positions;   /* [count] in the likely list; NULL without one */
    size_t count, jumps;   /* see extender_args */
};

/*
 * Read a list of plain names without blanks.
 *
 * bytes   the body: what is found counts from its start.
 * start   of the list in it, where the bracket is.
 * likely  names to expect, or NULL.
 * out     written only when there is one; the caller frees out->names and out->positions.
 * return  how many bytes the list has, both brackets included; 0 when it has another form, too many
 *         names or too long ones.
 */
size_t names_skim(const char *bytes, size_t length, size_t start, const struct likely_names *likely,
                  struct names_skim *out);

#endif
