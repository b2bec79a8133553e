/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig - where the API server is, and who we are to it.
 *
 * From kubeconfig files, or from what Kubernetes puts into a pod. What cannot be honoured (auth
 * providers, plugins that must ask a person, two kinds of credentials at once) is an error that
 * names it, never ignored.
 */
#ifndef TOPOFIT_KUBECONFIG_H
#define TOPOFIT_KUBECONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "topofit/error.h"
#include "topofit/kube_object.h"

#define KUBECONFIG_MAX_BYTES (4u << 20)
#define KUBE_PEM_MAX_BYTES (1u << 20) /* of certificates and keys */
#define KUBE_TOKEN_MAX_BYTES (64u << 10)

/* A PEM text, and the file it came from if it came from one. Both owned. */
struct kube_pem {
    char *file; /* NULL when inline or absent */
    char *text; /* NULL when absent, or not read yet */
};

/* A program that hands out credentials. All owned. */
struct kube_exec {
    char *api_version; /* client.authentication.k8s.io/v1 or .../v1beta1 */
    char *command;     /* a path, or a name to look for in PATH */
    char **arguments;
    size_t argument_count;
    struct kube_pairs variables; /* of its environment, over ours */
    char *install_hint;          /* for people, when it cannot be started; or NULL */
    bool wants_cluster;          /* it is told which cluster the credentials are for */
};

struct kube_config {
    char *origin;          /* for people: "kubeconfig /home/a/.kube/config", "the pod's account" */
    char *server;          /* "https://10.0.0.1:6443/prefix", without a slash at the end */
    char *namespace;       /* of the context, or of the pod we run in; NULL when not said */
    char *tls_server_name; /* name to expect in the certificate, or NULL: that of the server */
    bool insecure;         /* accept any certificate */
    struct kube_pem ca;    /* absent: the system's certificates */
    struct kube_pem client_certificate, client_key; /* both or neither */
    char *token;                                    /* or NULL */
    char *token_file;           /* or NULL; wins over token, and is read again as it is renewed */
    char *user_name, *password; /* or NULL: for HTTP basic authentication */
    struct kube_exec *exec;     /* or NULL; then there are no other credentials */
    char *exec_cluster;         /* JSON that the cluster has for its exec plugin, or NULL */
    struct kube_pairs impersonation; /* headers, ready to be sent */
    char *proxy_url; /* http://, https:// or socks5://; NULL: what the environment says */
};

void kube_config_clear(struct kube_config *config);

/* A kubeconfig as read. All borrowed. */
struct kubeconfig_text {
    const char *path; /* for errors; relative names in it are relative to its folder */
    const char *bytes;
    size_t length;
};

/*
 * Read the texts of one or more kubeconfigs as one. The first that names a current context, or
 * has a cluster, user or context of a name, wins; what later ones say of it is not looked at. No
 * file is opened: kube_pem.text stays NULL where a file is named.
 *
 * errors  ERR_INVALID with the path, and line and column where there is one.
 * source  k8s.io/client-go/tools/clientcmd; with http:// credentials are dropped, as there.
 */
int kubeconfig_parse(const struct kubeconfig_text *texts, size_t count, struct kube_config *out,
                     struct error *err);

/* What tells where to look. All borrowed; NULL or "" when not set. */
struct kube_environment {
    const char *kubeconfig;   /* $KUBECONFIG: a path, or several with ':' between them */
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
 *         we run in, then ~/.kube/config. Of several files in $KUBECONFIG, missing ones are
 *         skipped.
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
