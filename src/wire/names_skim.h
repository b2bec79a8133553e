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
    size_t begin, end; /* of the array in the body, brackets included */
    struct name_at *names;
    uint32_t *positions; /* [count] in the likely list; NULL without one */
    size_t count, jumps; /* see extender_args */
};

/*
 * Find a "NodeNames":[...] of plain names without blanks. Whether it is the one that counts, and
 * the only one, is for the parser of the rest to say.
 *
 * likely  names to expect, or NULL.
 * out     written only when true is returned; the caller frees out->names and out->positions.
 * return  false: there is none, or it has another form, too many names or too long ones.
 */
bool names_skim(const char *bytes, size_t length, const struct likely_names *likely,
                struct names_skim *out);

#endif
