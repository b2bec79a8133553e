/* SPDX-License-Identifier: Apache-2.0 */
/* tls_peer - certificates made on the spot, and a TLS client for tests. */
#include "support/tls_peer.h"

#include "support/raw_http.h"
#include "support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <gnutls/abstract.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_S 86400

static void must(int code, const char *what)
{
    if (code < 0)
        fail_msg("%s: %s", what, gnutls_strerror(code));
}

/* --- certificates ---------------------------------------------------------------------------- */

static char *text_of(gnutls_datum_t *datum)
{
    char *text = xstrndup((const char *)datum->data, datum->size);

    gnutls_free(datum->data);
    return text;
}

static void name_it(gnutls_x509_crt_t certificate, const struct cert_wish *wish)
{
    static const unsigned char loopback[] = {127, 0, 0, 1};
    AUTO_FREE char *name =
        xasprintf("%s %u", wish->issuer == NULL ? "authority" : "peer", (unsigned)wish->serial);

    must(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                       (unsigned)strlen(name)),
         "name");
    must(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, loopback,
                                              sizeof loopback, GNUTLS_FSAN_SET),
         "address");
}

static void restrict_it(gnutls_x509_crt_t certificate, const struct cert_wish *wish)
{
    bool is_authority = wish->issuer == NULL;

    must(gnutls_x509_crt_set_version(certificate, 3), "version");
    must(gnutls_x509_crt_set_basic_constraints(certificate, is_authority, -1), "constraints");
    must(gnutls_x509_crt_set_key_usage(certificate,
                                       GNUTLS_KEY_DIGITAL_SIGNATURE |
                                           (is_authority ? GNUTLS_KEY_KEY_CERT_SIGN : 0)),
         "usage");
    if (wish->purpose != NULL)
        must(gnutls_x509_crt_set_key_purpose_oid(certificate, wish->purpose, 0), "purpose");
}

struct made_cert make_cert(struct cert_wish wish)
{
    bool has_times = wish.begin_s != 0 || wish.end_s != 0;
    struct made_cert made = {0};
    gnutls_datum_t out;

    gnutls_x509_privkey_init(&made.key);
    must(gnutls_x509_privkey_generate(made.key, GNUTLS_PK_ECDSA,
                                      GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
         "key");
    gnutls_x509_crt_init(&made.certificate);
    must(gnutls_x509_crt_set_key(made.certificate, made.key), "set key");
    must(gnutls_x509_crt_set_serial(made.certificate, &wish.serial, 1), "serial");
    gnutls_x509_crt_set_activation_time(made.certificate,
                                        time(NULL) + (has_times ? wish.begin_s : -DAY_S));
    gnutls_x509_crt_set_expiration_time(made.certificate,
                                        time(NULL) + (has_times ? wish.end_s : DAY_S));
    name_it(made.certificate, &wish);
    restrict_it(made.certificate, &wish);
    must(gnutls_x509_crt_sign2(made.certificate,
                               wish.issuer ? wish.issuer->certificate : made.certificate,
                               wish.issuer ? wish.issuer->key : made.key, GNUTLS_DIG_SHA256, 0),
         "sign");
    must(gnutls_x509_crt_export2(made.certificate, GNUTLS_X509_FMT_PEM, &out), "export");
    made.cert_pem = text_of(&out);
    must(gnutls_x509_privkey_export2(made.key, GNUTLS_X509_FMT_PEM, &out), "export key");
    made.key_pem = text_of(&out);
    return made;
}

void cert_clear(struct made_cert *made)
{
    if (made->certificate != NULL)
        gnutls_x509_crt_deinit(made->certificate);
    if (made->key != NULL)
        gnutls_x509_privkey_deinit(made->key);
    free(made->cert_pem);
    free(made->key_pem);
    *made = (struct made_cert){0};
}

/* --- files ----------------------------------------------------------------------------------- */

void put_file(const char *directory, const char *name, const char *text)
{
    AUTO_FREE char *path = xasprintf("%s/%s", directory, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t length = strlen(text);

    if (fd < 0 || write(fd, text, length) != (ssize_t)length)
        fail_msg("cannot write %s: %s", path, strerror(errno));
    close(fd);
}

static void put_link(const char *directory, const char *name, const char *target)
{
    AUTO_FREE char *path = xasprintf("%s/%s", directory, name);
    AUTO_FREE char *fresh = xasprintf("%s/..new", directory);

    if (symlink(target, fresh) != 0 || rename(fresh, path) != 0)
        fail_msg("cannot link %s: %s", path, strerror(errno));
}

void mount_secret(const char *directory, const char *cert, const char *key, const char *ca)
{
    static const char *const names[] = {"tls.crt", "tls.key", "ca.crt"};
    const char *const texts[] = {cert, key, ca};
    AUTO_FREE char *fresh = xasprintf("%s/..generation_XXXXXX", directory);

    if (mkdtemp(fresh) == NULL)
        fail_msg("cannot make %s: %s", fresh, strerror(errno));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO_FREE char *target = xasprintf("..data/%s", names[i]);

        put_file(fresh, names[i], texts[i]);
        put_link(directory, names[i], target);
    }
    put_link(directory, "..data", strrchr(fresh, '/') + 1);
}

char *scratch_new(void)
{
    const char *parent = getenv("TMPDIR");
    char *directory = xasprintf("%s/topofit_tls_XXXXXX", parent != NULL ? parent : "/tmp");

    if (mkdtemp(directory) == NULL)
        fail_msg("cannot make %s: %s", directory, strerror(errno));
    return directory;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

void scratch_clear(char **directory)
{
    if (*directory == NULL)
        return;
    nftw(*directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*directory);
    *directory = NULL;
}

/* --- the client ------------------------------------------------------------------------------ */

static void offer_protocols(gnutls_session_t session, const char *words)
{
    gnutls_datum_t protocols[4];
    unsigned count = 0;

    for (const char *at = words; at != NULL && *at != '\0' && count < ARRAY_LEN(protocols);) {
        size_t length = strcspn(at, " ");

        protocols[count++] = (gnutls_datum_t){(unsigned char *)at, (unsigned)length};
        at += length + strspn(at + length, " ");
    }
    if (count > 0)
        must(gnutls_alpn_set_protocols(session, protocols, count, 0), "ALPN");
}

static void set_credentials(struct tls_client *client, const struct tls_wish *wish)
{
    gnutls_certificate_allocate_credentials(&client->credentials);
    if (wish->own != NULL) {
        gnutls_x509_crt_t own[] = {wish->own->certificate};

        must(gnutls_certificate_set_x509_key(client->credentials, own, 1, wish->own->key), "own");
    }
    if (wish->authority != NULL) {
        gnutls_x509_crt_t trusted[] = {wish->authority->certificate};

        must(gnutls_certificate_set_x509_trust(client->credentials, trusted, 1), "trust");
        gnutls_session_set_verify_cert(client->session, NULL, 0);
    }
    gnutls_credentials_set(client->session, GNUTLS_CRD_CERTIFICATE, client->credentials);
}

struct tls_client tls_connect(struct tls_wish wish)
{
    struct raw_client raw = raw_connect(wish.port);
    struct tls_client client = {.fd = raw.fd};
    int code;

    buf_clear(&raw.in);
    must(gnutls_init(&client.session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL | GNUTLS_FORCE_CLIENT_CERT),
         "session");
    if (wish.priorities != NULL)
        must(gnutls_priority_set_direct(client.session, wish.priorities, NULL), "priorities");
    else
        gnutls_set_default_priority(client.session);
    set_credentials(&client, &wish);
    offer_protocols(client.session, wish.protocols);
    gnutls_transport_set_int(client.session, client.fd);
    gnutls_handshake_set_timeout(client.session, RAW_WAIT_MS);
    gnutls_record_set_timeout(client.session, RAW_WAIT_MS);
    do
        code = gnutls_handshake(client.session);
    while (code < 0 && !gnutls_error_is_fatal(code));
    client.is_greeted = code == 0;
    return client;
}

void tls_close(struct tls_client *client)
{
    if (client->is_greeted)
        gnutls_bye(client->session, GNUTLS_SHUT_WR);
    gnutls_deinit(client->session);
    gnutls_certificate_free_credentials(client->credentials);
    close(client->fd);
}

/* Some more of the answer; false at the end of the connection. */
static bool fill(struct tls_client *client, struct buf *in)
{
    char bytes[16384];
    ssize_t got;

    do
        got = gnutls_record_recv(client->session, bytes, sizeof bytes);
    while (got < 0 && !gnutls_error_is_fatal((int)got));
    if (got <= 0)
        return false;
    buf_add(in, bytes, (size_t)got);
    return true;
}

static bool is_whole(const struct buf *in)
{
    const char *end = strstr(buf_text(in), "\r\n\r\n");
    const char *length = strcasestr(buf_text(in), "\r\nContent-Length:");

    if (end == NULL || length == NULL)
        return false;
    return in->length >= (size_t)(end - in->data) + 4 + strtoul(length + 17, NULL, 10);
}

static bool send_all(struct tls_client *client, const char *text)
{
    size_t length = strlen(text);

    while (length > 0) {
        ssize_t sent = gnutls_record_send(client->session, text, length);

        if (sent < 0 && !gnutls_error_is_fatal((int)sent))
            continue;
        if (sent <= 0)
            return false;
        text += sent;
        length -= (size_t)sent;
    }
    return true;
}

unsigned tls_ask(struct tls_client *client, const char *request)
{
    AUTO(buf_clear) struct buf in = buf_with_max(32 << 20);
    unsigned status = 0;

    if (!client->is_greeted || !send_all(client, request))
        return 0;
    while (!is_whole(&in)) {
        if (!fill(client, &in))
            return 0;
    }
    return sscanf(buf_text(&in), "HTTP/1.%*u %u", &status) == 1 ? status : 0;
}

int tls_farewell(struct tls_client *client)
{
    AUTO(buf_clear) struct buf in = buf_with_max(32 << 20);

    while (client->is_greeted && fill(client, &in))
        continue;
    return (int)gnutls_alert_get(client->session);
}

unsigned tls_serial(const struct tls_client *client)
{
    unsigned count = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(client->session, &count);
    unsigned char serial[64] = {0};
    size_t length = sizeof serial;
    gnutls_x509_crt_t certificate;

    if (count == 0)
        fail_msg("the server showed no certificate");
    gnutls_x509_crt_init(&certificate);
    must(gnutls_x509_crt_import(certificate, &chain[0], GNUTLS_X509_FMT_DER), "certificate");
    must(gnutls_x509_crt_get_serial(certificate, serial, &length), "serial");
    gnutls_x509_crt_deinit(certificate);
    return serial[length - 1];
}

unsigned tls_call(struct tls_wish wish, const char *request)
{
    struct tls_client client = tls_connect(wish);
    unsigned status = tls_ask(&client, request);

    tls_close(&client);
    return status;
}
