/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig - where the API server is, and who we are to it.
 *
 * From a kubeconfig file, or from what Kubernetes puts into a pod. What cannot be honoured yet
 * (exec plugins, auth providers, proxies, lists of files, impersonation, passwords) is an error
 * that names it, never ignored.
 */
#ifndef TOPOFIT_KUBECONFIG_H
#define TOPOFIT_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/error.h"

#define KUBECONFIG_MAX_BYTES (4u << 20)
#define KUBE_PEM_MAX_BYTES (1u << 20) /* of certificates and keys */
#define KUBE_TOKEN_MAX_BYTES (64u << 10)

/* A PEM text, and the file it came from if it came from one. Both owned. */
struct kube_pem {
    char *file; /* NULL when inline or absent */
    char *text; /* NULL when absent, or not read yet */
};

struct kube_config {
    char *origin;          /* for people: "kubeconfig /home/a/.kube/config", "the pod's account" */
    char *server;          /* "https://10.0.0.1:6443/prefix", without a slash at the end */
    char *tls_server_name; /* name to expect in the certificate, or NULL: that of the server */
    bool insecure;         /* accept any certificate */
    struct kube_pem ca;    /* absent: the system's certificates */
    struct kube_pem client_certificate, client_key; /* both or neither */
    char *token;                                    /* or NULL */
    char *token_file; /* or NULL; wins over token, and is read again as it is renewed */
};

void kube_config_clear(struct kube_config *config);

/*
 * Read the text of a kubeconfig. No file is opened: kube_pem.text stays NULL where a file is named.
 *
 * path    of the text, for errors; relative names in it are relative to its folder.
 * errors  ERR_INVALID with line and column where there is one.
 * source  k8s.io/client-go/tools/clientcmd; with http:// credentials are dropped, as there.
 */
int kubeconfig_parse(const char *bytes, size_t length, const char *path, struct kube_config *out,
                     struct error *err);

/* What tells where to look. All borrowed; NULL or "" when not set. */
struct kube_environment {
    const char *kubeconfig;   /* $KUBECONFIG */
    const char *home;         /* $HOME */
    const char *service_host; /* $KUBERNETES_SERVICE_HOST */
    const char *service_port; /* $KUBERNETES_SERVICE_PORT */
    const char *account_dir;  /* folder with token and ca.crt; NULL: where Kubernetes puts it */
};

/* The environment of this process. */
struct kube_environment kube_environment_get(void);

/*
 * Find, read and check the configuration, files of certificates and keys included.
 *
 * path    a kubeconfig given by a person, or NULL: then $KUBECONFIG, then the account of the pod
 *         we run in, then ~/.kube/config.
 * errors  ERR_NOT_FOUND when there is none of these; ERR_INVALID; ERR_IO.
 */
int kubeconfig_load(const char *path, const struct kube_environment *environment,
                    struct kube_config *out, struct error *err);

/*
 * The token to send now: that of token_file, else token, without blanks at its ends.
 *
 * out     replaced on success, the old one freed; NULL when there is no token.
 * errors  ERR_IO, or ERR_INVALID when the file is empty.
 */
int kube_config_read_token(const struct kube_config *config, char **out, struct error *err);

#endif
