/* SPDX-License-Identifier: Apache-2.0 */
/*
 * placement_checker - is what the API server holds possible, and is what we said true?
 *
 * Looks at nothing but objects of an api_model, and reads their annotations by itself, with
 * jansson, so that a mistake of src/dialect is not made twice. It follows the log change by change:
 * a state that was wrong for one version only is found. Where the log was cut in between, it starts
 * anew from what is there; so ask before compacting.
 *
 * What is wrong is told as a text, once; the state then counts as it is. A node that shrinks is
 * nobody's fault: a device has what its node ever said of it. Not thread-safe.
 */
#ifndef TOPOFIT_TEST_PLACEMENT_CHECKER_H
#define TOPOFIT_TEST_PLACEMENT_CHECKER_H

#include "support/api_model.h"

struct placement_checker;

/*
 * model      borrowed.
 * scheduler  pods with this schedulerName that ask for devices must not be bound without a record.
 *            Pods that a test binds by hand must have another one.
 */
struct placement_checker *placement_checker_new(const struct api_model *model,
                                                const char *scheduler);
void placement_checker_free(struct placement_checker *checker); /* NULL is fine */

/*
 * Look at all changes since the last time.
 *
 * return  what is wrong, or NULL; borrowed until the next call. It finds:
 *         - a device beyond its memory, cores or slots, over all pods on it; several modes on one,
 *           or company for a tenant that has all cores. Terminating pods still hold, finished
 *           ones do not;
 *         - a record that cannot be read, that names another node or pod, or devices the node
 *           never had, or that does not give the containers what they ask for;
 *         - a pod of our scheduler that asks for devices and is bound without a record.
 */
const char *placement_checker_check(struct placement_checker *checker);

/*
 * kube-scheduler was answered: success must not be said of a pod that was never bound there.
 *
 * error   of the answer; "" = success.
 * return  as above.
 */
const char *placement_checker_bind_answered(struct placement_checker *checker, const char *uid,
                                            const char *node, const char *error);

/* Who holds something, as the daemon sees it. */
struct placement_seen {
    const char *uid, *node;
};

/*
 * Once all has settled: each holding belongs to an unfinished pod that is bound to that node, and
 * each pod with a record is held. return  as above.
 */
const char *placement_checker_compare(struct placement_checker *checker,
                                      const struct placement_seen *seen, size_t count);

/* Pods that hold devices by their records now. */
size_t placement_checker_held_count(const struct placement_checker *checker);

#endif
