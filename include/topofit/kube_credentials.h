/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_credentials - who we are to the API server, and whom we believe, at this moment.
 *
 * Follows its files as they are renewed: the token file is read each minute and after a 401, the
 * files of certificates when they have changed, which is looked after each half minute, after a
 * 401 and after a connection that failed. What is renewed is checked first; a broken file, or a
 * key that is not its certificate's, is told once, and what there was stays in use. The credential
 * of an exec plugin is renewed as exec_credential.h says.
 *
 * Nothing here blocks but reading small files. Belongs to one thread. Time is an argument.
 */
#ifndef TOPOFIT_KUBE_CREDENTIALS_H
#define TOPOFIT_KUBE_CREDENTIALS_H

#include <stddef.h>
#include <stdint.h>

#include "topofit/error.h"
#include "topofit/exec_credential.h"
#include "topofit/kubeconfig.h"
#include "topofit/log.h"

struct kube_credentials;

/* config  borrowed; what is in it is in use until a file says otherwise. */
struct kube_credentials *kube_credentials_new(const struct kube_config *config);

/* NULL is fine. */
void kube_credentials_free(struct kube_credentials *credentials);

/* Where renewals and broken files are told, each once; nowhere at first. */
void kube_credentials_set_log(struct kube_credentials *credentials,
                              void (*log)(void *ctx, enum log_level level, const char *text),
                              void *ctx);

/*
 * Renew what is due. To be called before a request is made, and while it is CREDENTIAL_AWAITED.
 *
 * err  why, when it is CREDENTIAL_MISSING.
 */
enum credential_state kube_credentials_look(struct kube_credentials *credentials, uint64_t now_ms,
                                            int64_t now_unix_s, struct error *err);

/* The value of the header Authorization, or NULL. The caller frees it. */
char *kube_credentials_authorization(const struct kube_credentials *credentials);

/* PEM texts; NULL: the system's authorities, no certificate. Borrowed until the next look. */
const char *kube_credentials_ca(const struct kube_credentials *credentials);
const char *kube_credentials_certificate(const struct kube_credentials *credentials);
const char *kube_credentials_key(const struct kube_credentials *credentials);

/* To be handed to kube_credentials_on_answer with the answer to what is sent now. */
unsigned kube_credentials_number(const struct kube_credentials *credentials);
void kube_credentials_on_answer(struct kube_credentials *credentials, unsigned number, int status,
                                uint64_t now_ms);

/* A connection failed, perhaps because it used, or expected, old certificates. */
void kube_credentials_on_failure(struct kube_credentials *credentials);

/* What to poll while a plugin runs, and when to look again at the latest. */
size_t kube_credentials_fds(const struct kube_credentials *credentials, int fds[2]);
uint64_t kube_credentials_due_ms(const struct kube_credentials *credentials, uint64_t now_ms);

#endif
