/* SPDX-License-Identifier: Apache-2.0 */
/* kube_credentials - who we are to the API server, and whom we believe, at this moment. */
#include "topofit/kube_credentials.h"

#include "topofit/base64.h"
#include "topofit/buf.h"
#include "topofit/file.h"
#include "topofit/mem.h"
#include "topofit/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_AGE_MS 60000u
#define FILES_PAUSE_MS 30000u

/* A PEM text that may come from a file. */
struct followed {
    const char *file; /* or NULL; borrowed */
    char *text;       /* or NULL; owned */
    struct file_stamp stamp;
};

/* What is told of one thing only when it changes. */
struct news {
    const char *subject;
    char told[ERROR_TEXT_MAX]; /* the problem; "" = none */
};

struct kube_credentials {
    const struct kube_config *config;
    void (*log)(void *ctx, enum log_level level, const char *text);
    void *log_ctx;

    char *token; /* or NULL */
    uint64_t token_read_ms;
    bool token_is_stale;
    struct news token_news;

    struct followed ca, certificate, key;
    uint64_t files_seen_ms;
    bool files_are_stale;
    struct news ca_news, pair_news;

    struct exec_credential *exec; /* or NULL */
    struct news exec_news;
};

static struct followed text_of(const struct kube_pem *pem)
{
    return (struct followed){.file = pem->file,
                             .text = pem->text != NULL ? xstrdup(pem->text) : NULL};
}

struct kube_credentials *kube_credentials_new(const struct kube_config *config)
{
    struct kube_credentials *credentials = xcalloc(1, sizeof *credentials);

    credentials->config = config;
    credentials->token_is_stale = credentials->files_are_stale = true;
    credentials->token_news.subject = "token";
    credentials->ca_news.subject = "certificate-authority";
    credentials->pair_news.subject = "client-certificate";
    credentials->exec_news.subject = "credential";
    credentials->ca = text_of(&config->ca);
    credentials->certificate = text_of(&config->client_certificate);
    credentials->key = text_of(&config->client_key);
    if (config->exec != NULL)
        credentials->exec = exec_credential_new(config);
    return credentials;
}

void kube_credentials_free(struct kube_credentials *credentials)
{
    if (credentials == NULL)
        return;
    exec_credential_free(credentials->exec);
    free(credentials->token);
    free(credentials->ca.text);
    free(credentials->certificate.text);
    free(credentials->key.text);
    free(credentials);
}

/* --- what is told ---------------------------------------------------------------------------- */

void kube_credentials_set_log(struct kube_credentials *credentials,
                              void (*log)(void *ctx, enum log_level level, const char *text),
                              void *ctx)
{
    credentials->log = log;
    credentials->log_ctx = ctx;
}

static void tell(struct kube_credentials *credentials, enum log_level level, const char *subject,
                 const char *text)
{
    AUTO_FREE char *line = xasprintf("%s: %s", subject, text);

    if (credentials->log != NULL)
        credentials->log(credentials->log_ctx, level, line);
}

/* problem  NULL or empty: all is well. */
static void tell_change(struct kube_credentials *credentials, struct news *news,
                        const struct error *problem, const char *consequence)
{
    const char *text = problem != NULL ? problem->text : "";
    AUTO_FREE char *line = xasprintf("%s%s", text, consequence);

    if (strcmp(text, news->told) == 0)
        return;
    snprintf(news->told, sizeof news->told, "%s", text);
    if (text[0] != '\0')
        tell(credentials, LOG_LEVEL_WARN, news->subject, line);
}

/* --- the token ------------------------------------------------------------------------------- */

static int look_at_token(struct kube_credentials *credentials, uint64_t now_ms, struct error *err)
{
    const struct kube_config *config = credentials->config;
    struct error problem = {0};

    if (config->token_file == NULL && config->token == NULL)
        return 0;
    if (!credentials->token_is_stale && now_ms - credentials->token_read_ms < TOKEN_AGE_MS)
        return 0;
    if (kube_config_read_token(config, &credentials->token, &problem) < 0 &&
        credentials->token == NULL) {
        *err = problem;
        return error_pass(err);
    }
    /* The old one may still be good, as long as the file is being replaced. */
    tell_change(credentials, &credentials->token_news, &problem,
                "; the one there was stays in use");
    credentials->token_read_ms = now_ms;
    credentials->token_is_stale = false;
    return 0;
}

/* --- files of certificates ------------------------------------------------------------------- */

/* A file that is missing is tried each time. */
static bool has_changed(struct followed *text)
{
    static const struct file_stamp missing = {0};
    struct file_stamp stamp;

    if (text->file == NULL)
        return false;
    stamp = file_stamp_look(text->file);
    if (file_stamp_equal(&stamp, &text->stamp) && !file_stamp_equal(&stamp, &missing))
        return false;
    text->stamp = stamp;
    return true;
}

/* What it says now: that of the file, or the text itself where there is none. */
static int read_text(const struct followed *text, char **out, struct error *err)
{
    AUTO(buf_clear) struct buf bytes = buf_with_max(KUBE_PEM_MAX_BYTES);

    if (text->file != NULL && file_read(text->file, &bytes, err) < 0)
        return error_pass(err);
    if (text->file == NULL)
        buf_add_text(&bytes, text->text);
    if (strlen(buf_text(&bytes)) != bytes.length)
        return error_set(err, ERR_INVALID, "%s: not a PEM file", text->file);
    *out = buf_steal(&bytes);
    return 0;
}

/* return true when it says something new. */
static bool replace(struct followed *text, char **fresh)
{
    bool is_new = text->text == NULL || strcmp(text->text, *fresh) != 0;

    free(text->text);
    text->text = steal_ptr(fresh);
    return is_new;
}

static int renew_ca(struct kube_credentials *credentials, struct error *err)
{
    AUTO_FREE char *fresh = NULL;

    if (read_text(&credentials->ca, &fresh, err) < 0)
        return error_pass(err);
    if (pem_check_authorities(fresh, err) < 0)
        return error_wrap(err, "%s", credentials->ca.file);
    if (replace(&credentials->ca, &fresh))
        tell(credentials, LOG_LEVEL_INFO, credentials->ca_news.subject, "read again");
    return 0;
}

static int renew_pair(struct kube_credentials *credentials, struct error *err)
{
    struct followed *certificate = &credentials->certificate, *key = &credentials->key;
    AUTO_FREE char *fresh_certificate = NULL;
    AUTO_FREE char *fresh_key = NULL;
    bool is_new;

    if (read_text(certificate, &fresh_certificate, err) < 0 || read_text(key, &fresh_key, err) < 0)
        return error_pass(err);
    if (pem_check_pair(fresh_certificate, fresh_key, err) < 0)
        return error_wrap(err, "%s, %s", certificate->file != NULL ? certificate->file : "inline",
                          key->file != NULL ? key->file : "inline");
    is_new = replace(certificate, &fresh_certificate);
    is_new = replace(key, &fresh_key) || is_new;
    if (is_new)
        tell(credentials, LOG_LEVEL_INFO, credentials->pair_news.subject, "read again");
    return 0;
}

static void look_at_files(struct kube_credentials *credentials, uint64_t now_ms)
{
    static const char consequence[] = "; what there was stays in use";
    bool certificate_changed, key_changed;
    struct error problem = {0};

    if (!credentials->files_are_stale && now_ms - credentials->files_seen_ms < FILES_PAUSE_MS)
        return;
    credentials->files_are_stale = false;
    credentials->files_seen_ms = now_ms;
    if (has_changed(&credentials->ca)) {
        renew_ca(credentials, &problem);
        tell_change(credentials, &credentials->ca_news, &problem, consequence);
        error_clear(&problem);
    }
    certificate_changed = has_changed(&credentials->certificate);
    key_changed = has_changed(&credentials->key);
    if (certificate_changed || key_changed) {
        renew_pair(credentials, &problem);
        tell_change(credentials, &credentials->pair_news, &problem, consequence);
    }
}

/* --- the whole ------------------------------------------------------------------------------- */

enum credential_state kube_credentials_look(struct kube_credentials *credentials, uint64_t now_ms,
                                            int64_t now_unix_s, struct error *err)
{
    enum credential_state state;

    look_at_files(credentials, now_ms);
    if (look_at_token(credentials, now_ms, err) < 0)
        return CREDENTIAL_MISSING;
    if (credentials->exec == NULL)
        return CREDENTIAL_READY;
    state = exec_credential_look(credentials->exec, credentials->ca.text, now_ms, now_unix_s, err);
    if (state != CREDENTIAL_AWAITED)
        tell_change(credentials, &credentials->exec_news,
                    exec_credential_failure(credentials->exec), "");
    return state;
}

char *kube_credentials_authorization(const struct kube_credentials *credentials)
{
    const struct kube_config *config = credentials->config;
    const struct exec_answer *answer =
        credentials->exec != NULL ? exec_credential_answer(credentials->exec) : NULL;
    const char *token = answer != NULL ? answer->token : credentials->token;

    if (token != NULL)
        return xasprintf("Bearer %s", token);
    if (config->user_name != NULL) {
        AUTO_FREE char *pair =
            xasprintf("%s:%s", config->user_name, config->password != NULL ? config->password : "");
        AUTO_FREE char *encoded = base64_encode(pair, strlen(pair));

        return xasprintf("Basic %s", encoded);
    }
    return NULL;
}

const char *kube_credentials_ca(const struct kube_credentials *credentials)
{
    return credentials->ca.text;
}

const char *kube_credentials_certificate(const struct kube_credentials *credentials)
{
    const struct exec_answer *answer =
        credentials->exec != NULL ? exec_credential_answer(credentials->exec) : NULL;

    return answer != NULL ? answer->certificate : credentials->certificate.text;
}

const char *kube_credentials_key(const struct kube_credentials *credentials)
{
    const struct exec_answer *answer =
        credentials->exec != NULL ? exec_credential_answer(credentials->exec) : NULL;

    return answer != NULL ? answer->key : credentials->key.text;
}

unsigned kube_credentials_number(const struct kube_credentials *credentials)
{
    return credentials->exec != NULL ? exec_credential_number(credentials->exec) : 0;
}

void kube_credentials_on_answer(struct kube_credentials *credentials, unsigned number, int status,
                                uint64_t now_ms)
{
    if (status == 401)
        credentials->token_is_stale = credentials->files_are_stale = true;
    if (credentials->exec == NULL)
        return;
    if (status == 401)
        exec_credential_on_refused(credentials->exec, number, now_ms);
    else
        exec_credential_on_taken(credentials->exec, number);
}

void kube_credentials_on_failure(struct kube_credentials *credentials)
{
    credentials->files_are_stale = true;
}

size_t kube_credentials_fds(const struct kube_credentials *credentials, int fds[2])
{
    return credentials->exec != NULL ? exec_credential_fds(credentials->exec, fds) : 0;
}

uint64_t kube_credentials_due_ms(const struct kube_credentials *credentials, uint64_t now_ms)
{
    return credentials->exec != NULL ? exec_credential_due_ms(credentials->exec, now_ms)
                                     : UINT64_MAX;
}
