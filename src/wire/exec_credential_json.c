/* SPDX-License-Identifier: Apache-2.0 */
/* exec_credential_json - what a credential plugin is told, and what it answers. */
#include "topofit/exec_credential_json.h"

#include "topofit/base64.h"
#include "topofit/json.h"
#include "topofit/mem.h"
#include "topofit/moment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* As read; interpreted when all is there. */
struct reading {
    char *api_version, *kind, *expires;
    struct exec_answer answer;
    bool has_status;
};

static void reading_clear(struct reading *reading)
{
    free(reading->api_version);
    free(reading->kind);
    free(reading->expires);
    exec_answer_clear(&reading->answer);
}

void exec_answer_clear(struct exec_answer *answer)
{
    free(answer->token);
    free(answer->certificate);
    free(answer->key);
    *answer = (struct exec_answer){0};
}

static int take_text(void *ctx, const struct json_value *value, struct error *err)
{
    return json_value_copy(value, (char **)((char *)ctx + value->slot), err);
}

static int begin_status(void *ctx, const char *key, struct error *err)
{
    struct reading *reading = ctx;

    (void)key, (void)err;
    reading->has_status = true;
    return 0;
}

#define TEXT(name, member) \
    {.key = name, .on_value = take_text, .slot = offsetof(struct reading, member)}

static const struct json_field status_shape[] = {
    TEXT("token", answer.token),
    TEXT("clientCertificateData", answer.certificate),
    TEXT("clientKeyData", answer.key),
    TEXT("expirationTimestamp", expires),
    {0},
};

static const struct json_field credential_shape[] = {
    TEXT("apiVersion", api_version),
    TEXT("kind", kind),
    {.key = "status", .shape = status_shape, .on_begin = begin_status},
    {0},
};

/* --- the answer ------------------------------------------------------------------------------ */

/* null and "" are as good as nothing. */
static void drop_empty(char **text)
{
    if (*text != NULL && (*text)[0] == '\0') {
        free(*text);
        *text = NULL;
    }
}

static bool is_for_header(const char *token)
{
    for (; *token != '\0'; token++) {
        if ((unsigned char)*token <= ' ' || (unsigned char)*token >= 127)
            return false;
    }
    return true;
}

static int check_answer(const struct exec_answer *answer, struct error *err)
{
    if ((answer->certificate == NULL) != (answer->key == NULL))
        return error_set(err, ERR_INVALID,
                         "clientCertificateData and clientKeyData belong together: no %s",
                         answer->key == NULL ? "clientKeyData" : "clientCertificateData");
    if (answer->token == NULL && answer->certificate == NULL)
        return error_set(err, ERR_INVALID, "the status has neither a token nor a certificate");
    if (answer->token != NULL && !is_for_header(answer->token))
        return error_set(err, ERR_INVALID, "the token has blanks or other odd characters in it");
    if (answer->certificate != NULL && (strstr(answer->certificate, "-----BEGIN") == NULL ||
                                        strstr(answer->key, "-----BEGIN") == NULL))
        return error_set(err, ERR_INVALID,
                         "clientCertificateData or clientKeyData is not a PEM text");
    return 0;
}

static int interpret(struct reading *reading, const char *api_version, struct error *err)
{
    struct exec_answer *answer = &reading->answer;

    if (reading->kind == NULL || strcmp(reading->kind, "ExecCredential") != 0)
        return error_set(err, ERR_INVALID, "its kind is \"%.60s\", not ExecCredential",
                         reading->kind != NULL ? reading->kind : "");
    if (reading->api_version == NULL || strcmp(reading->api_version, api_version) != 0)
        return error_set(err, ERR_INVALID, "its apiVersion is \"%.60s\", not %s",
                         reading->api_version != NULL ? reading->api_version : "", api_version);
    if (!reading->has_status)
        return error_set(err, ERR_INVALID, "there is no status in it");
    drop_empty(&answer->token);
    drop_empty(&answer->certificate);
    drop_empty(&answer->key);
    drop_empty(&reading->expires);
    if (check_answer(answer, err) < 0)
        return -(int)err->code;
    answer->expires_unix_s = INT64_MAX;
    if (reading->expires != NULL && !moment_read(reading->expires, &answer->expires_unix_s))
        return error_set(err, ERR_INVALID,
                         "expirationTimestamp \"%.60s\" is not a time like "
                         "2026-01-02T15:04:05Z",
                         reading->expires);
    return 0;
}

int exec_credential_json_read(const char *bytes, size_t length, const char *api_version,
                              struct exec_answer *out, struct error *err)
{
    AUTO(reading_clear) struct reading reading = {0};

    if (json_read(credential_shape, &reading, bytes, length, err) < 0 ||
        interpret(&reading, api_version, err) < 0)
        return error_wrap(err, "what it wrote is no credential");
    *out = reading.answer;
    reading.answer = (struct exec_answer){0};
    return 0;
}

/* --- the question ---------------------------------------------------------------------------- */

static void add_member(struct buf *out, const char *key, const char *text)
{
    if (text == NULL)
        return;
    buf_addf(out, ",\"%s\":", key);
    buf_add_json_string(out, text);
}

static void add_cluster(struct buf *out, const struct exec_cluster *cluster)
{
    AUTO_FREE char *ca =
        cluster->ca != NULL ? base64_encode(cluster->ca, strlen(cluster->ca)) : NULL;

    buf_add_text(out, ",\"cluster\":{\"server\":");
    buf_add_json_string(out, cluster->server);
    add_member(out, "tls-server-name", cluster->tls_server_name);
    add_member(out, "certificate-authority-data", ca);
    add_member(out, "proxy-url", cluster->proxy_url);
    if (cluster->insecure)
        buf_add_text(out, ",\"insecure-skip-tls-verify\":true");
    if (cluster->config != NULL)
        buf_addf(out, ",\"config\":%s", cluster->config);
    buf_add_byte(out, '}');
}

void exec_credential_json_write_info(const char *api_version, const struct exec_cluster *cluster,
                                     struct buf *out)
{
    buf_add_text(out, "{\"kind\":\"ExecCredential\",\"apiVersion\":");
    buf_add_json_string(out, api_version);
    buf_add_text(out, ",\"spec\":{\"interactive\":false");
    if (cluster != NULL)
        add_cluster(out, cluster);
    buf_add_text(out, "}}");
}
