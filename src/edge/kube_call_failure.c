/* SPDX-License-Identifier: Apache-2.0 */
/* kube_call - why it did not work. */
#include "kube_call.h"
#include "topofit/mem.h"

#include <string.h>

static const char *advice(CURLcode code, const struct kube_call *call)
{
    const struct kube_credentials *credentials = call->client->credentials;
    AUTO_FREE char *authorization = kube_credentials_authorization(credentials);
    bool has_credentials =
        authorization != NULL || kube_credentials_certificate(credentials) != NULL;
    long verify_result = 0;

    curl_easy_getinfo(call->easy, CURLINFO_SSL_VERIFYRESULT, &verify_result);
    /* 1 is what libcurl starts with: the chain is good, so it is the name that is not. */
    if (code == CURLE_PEER_FAILED_VERIFICATION && verify_result <= 1)
        return "; tls-server-name tells which name to expect";
    if (code == CURLE_PEER_FAILED_VERIFICATION && kube_credentials_ca(credentials) != NULL)
        return "; does certificate-authority belong to this server?";
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return "; the configuration names no certificate-authority";
    if (code == CURLE_SSL_CERTPROBLEM)
        return "; client-certificate and client-key do not fit, or are not PEM";
    if ((code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING) && !has_credentials)
        return "; a server that wants credentials may close like this, and there are none";
    return "";
}

/* Whose failure it may be. Its URL may hold a password, so it is not told. */
static const char *by_proxy(const struct kube_call *call)
{
    const char *proxy = call->client->proxy;

    return proxy != NULL && proxy[0] != '\0' ? " by its proxy-url" : "";
}

/* The texts shall not change from attempt to attempt: libcurl's would, where it tells times. */
void kube_call_describe(const struct kube_call *call, CURLcode code, struct error *err)
{
    const char *server = call->client->config->server;
    const char *why = call->why[0] != '\0' ? call->why : curl_easy_strerror(code);
    long number = 0;

    if (call->too_long) {
        error_set(err, ERR_LIMIT, "the answer is longer than %zu bytes",
                  call->request.answer_max_bytes);
        return;
    }
    if (call->too_late) {
        error_set(err, ERR_TIMEOUT, "%s: not sent in time", server);
        return;
    }
    if (code == CURLE_OPERATION_TIMEDOUT) {
        error_set(err, ERR_TIMEOUT, "%s: %s", server,
                  call->is_waiting ? "the exec plugin gave no credential in time"
                                   : "no answer in time");
        return;
    }
    curl_easy_getinfo(call->easy, CURLINFO_OS_ERRNO, &number);
    if (code == CURLE_COULDNT_CONNECT)
        why = number != 0 ? strerror((int)number) : curl_easy_strerror(code);
    error_set(err, ERR_IO, "%s%s: %s%s", server, by_proxy(call), why, advice(code, call));
}
