/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_credential - the credential that a plugin of a kubeconfig hands out, and its renewal.
 *
 * The plugin runs when there is no credential, when the one there is has expired, and when the
 * server refuses it. Nobody waits for it here: its owner polls the files, and asks again. A plugin
 * that fails, or whose credential is refused before it was ever taken, runs again after a pause
 * that grows to a minute. Belongs to one thread. Time is an argument.
 */
#ifndef TOPOFIT_EXEC_CREDENTIAL_H
#define TOPOFIT_EXEC_CREDENTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/error.h"
#include "topofit/exec_credential_json.h"
#include "topofit/kubeconfig.h"

#define EXEC_OUTPUT_MAX_BYTES (64u << 10)
#define EXEC_TIME_MAX_MS 60000u

enum credential_state {
    CREDENTIAL_READY,   /* there is one to be sent */
    CREDENTIAL_AWAITED, /* it will be there, or not, in a while */
    CREDENTIAL_MISSING, /* there is none for now */
};

struct exec_credential;

/* config   has exec; borrowed. */
struct exec_credential *exec_credential_new(const struct kube_config *config);

/* Kills the plugin if it runs. NULL is fine. */
void exec_credential_free(struct exec_credential *credential);

/*
 * How it stands now; starts the plugin, and takes its answer, when it is time.
 *
 * ca   the certificates of the cluster to tell the plugin, or NULL.
 * err  why, when it is CREDENTIAL_MISSING.
 */
enum credential_state exec_credential_look(struct exec_credential *credential, const char *ca,
                                           uint64_t now_ms, int64_t now_unix_s, struct error *err);

/* The credential, or NULL when there never was one. Borrowed until the next look. */
const struct exec_answer *exec_credential_answer(const struct exec_credential *credential);

/* Its number: it changes with every new credential. 0: there never was one. */
unsigned exec_credential_number(const struct exec_credential *credential);

/* Why the last run of the plugin was for nothing, or empty. Borrowed until the next look. */
const struct error *exec_credential_failure(const struct exec_credential *credential);

/* The server took, or refused, the credential of this number. */
void exec_credential_on_taken(struct exec_credential *credential, unsigned number);
void exec_credential_on_refused(struct exec_credential *credential, unsigned number,
                                uint64_t now_ms);

/* What to poll while the plugin runs, and when to look again at the latest. */
size_t exec_credential_fds(const struct exec_credential *credential, int fds[2]);
uint64_t exec_credential_due_ms(const struct exec_credential *credential, uint64_t now_ms);

#endif
