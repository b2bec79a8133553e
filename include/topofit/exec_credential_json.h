/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_credential_json - what a credential plugin is told, and what it answers.
 *
 * Both are objects of kind ExecCredential, group client.authentication.k8s.io. Pure: no I/O.
 * source: kubernetes.io/docs/reference/config-api/client-authentication.v1
 */
#ifndef TOPOFIT_EXEC_CREDENTIAL_JSON_H
#define TOPOFIT_EXEC_CREDENTIAL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "topofit/buf.h"
#include "topofit/error.h"

/* A credential. All owned. */
struct exec_answer {
    char *token;             /* fit for a header; or NULL */
    char *certificate, *key; /* PEM texts, both or neither; with a token or without */
    int64_t expires_unix_s;  /* INT64_MAX: not said */
};

void exec_answer_clear(struct exec_answer *answer);

/*
 * Read a plugin's output.
 *
 * api_version  what was asked for; the answer must be of the same.
 * errors       ERR_INVALID. The text quotes nothing of the credential.
 */
int exec_credential_json_read(const char *bytes, size_t length, const char *api_version,
                              struct exec_answer *out, struct error *err);

/* The cluster that a credential is for. Borrowed; NULL where there is none. */
struct exec_cluster {
    const char *server, *tls_server_name, *proxy_url;
    bool insecure;
    const char *ca;     /* PEM */
    const char *config; /* JSON that the kubeconfig has for the plugin */
};

/* Write KUBERNETES_EXEC_INFO: nobody is there to be asked. cluster may be NULL. */
void exec_credential_json_write_info(const char *api_version, const struct exec_cluster *cluster,
                                     struct buf *out);

#endif
