/* SPDX-License-Identifier: Apache-2.0 */
/* tls_identity - what the files of a listener's certificate hold. */
#include "tls_identity.h"

#include "topofit/buf.h"
#include "topofit/file.h"
#include "topofit/mem.h"

#include <gnutls/x509.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX_BYTES ((size_t)1 << 20)

void tls_identity_free(struct tls_identity *identity)
{
    if (identity == NULL)
        return;
    if (identity->credentials != NULL)
        gnutls_certificate_free_credentials(identity->credentials);
    free(identity);
}

static void identity_free_pointer(struct tls_identity **place)
{
    tls_identity_free(*place);
}

/* --- reading --------------------------------------------------------------------------------- */

/* A file's bytes, wiped when they are done with: one of the files is a private key. */
static void wipe(struct buf *text)
{
    if (text->data != NULL)
        explicit_bzero(text->data, text->capacity);
    buf_clear(text);
}

static gnutls_datum_t datum_of(const struct buf *text)
{
    return (gnutls_datum_t){.data = (unsigned char *)text->data, .size = (unsigned)text->length};
}

static int refuse(const char *path, int code, struct error *err)
{
    return error_set(err, ERR_INVALID, "%s: %s", path, gnutls_strerror(code));
}

struct chain {
    gnutls_x509_crt_t *certificates;
    unsigned count;
};

static void chain_clear(struct chain *chain)
{
    for (unsigned i = 0; i < chain->count; i++)
        gnutls_x509_crt_deinit(chain->certificates[i]);
    gnutls_free(chain->certificates);
}

static int read_chain(const char *path, struct chain *out, struct error *err)
{
    AUTO(wipe) struct buf text = buf_with_max(FILE_MAX_BYTES);
    gnutls_datum_t datum;
    int code;

    if (file_read(path, &text, err) < 0)
        return error_pass(err);
    datum = datum_of(&text);
    code = gnutls_x509_crt_list_import2(&out->certificates, &out->count, &datum,
                                        GNUTLS_X509_FMT_PEM, 0);
    if (code < 0) {
        *out = (struct chain){0};
        return refuse(path, code, err);
    }
    return 0;
}

static void key_free(gnutls_x509_privkey_t *key)
{
    if (*key != NULL)
        gnutls_x509_privkey_deinit(*key);
}

static int read_key(const char *path, gnutls_x509_privkey_t *out, struct error *err)
{
    AUTO(wipe) struct buf text = buf_with_max(FILE_MAX_BYTES);
    gnutls_datum_t datum;
    int code;

    if (file_read(path, &text, err) < 0)
        return error_pass(err);
    datum = datum_of(&text);
    gnutls_x509_privkey_init(out);
    code = gnutls_x509_privkey_import2(*out, &datum, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
    return code < 0 ? refuse(path, code, err) : 0;
}

static void describe(const struct chain *chain, struct tls_identity *identity)
{
    unsigned char serial[TLS_SERIAL_MAX_BYTES];
    size_t length = sizeof serial;

    identity->begin_unix_s = INT64_MIN;
    identity->expiry_unix_s = INT64_MAX;
    for (unsigned i = 0; i < chain->count; i++) {
        int64_t begin = gnutls_x509_crt_get_activation_time(chain->certificates[i]);
        int64_t expiry = gnutls_x509_crt_get_expiration_time(chain->certificates[i]);

        if (begin > identity->begin_unix_s)
            identity->begin_unix_s = begin;
        if (expiry < identity->expiry_unix_s)
            identity->expiry_unix_s = expiry;
    }
    if (gnutls_x509_crt_get_serial(chain->certificates[0], serial, &length) < 0)
        length = 0;
    for (size_t i = 0; i < length; i++)
        snprintf(identity->serial + 2 * i, 3, "%02x", serial[i]);
}

static int load_pair(const struct tls_files *files, struct tls_identity *identity,
                     struct error *err)
{
    AUTO(chain_clear) struct chain chain = {0};
    AUTO(key_free) gnutls_x509_privkey_t key = NULL;
    int code;

    if (read_chain(files->path[TLS_CERT_FILE], &chain, err) < 0 ||
        read_key(files->path[TLS_KEY_FILE], &key, err) < 0)
        return error_pass(err);
    code = gnutls_certificate_set_x509_key(identity->credentials, chain.certificates,
                                           (int)chain.count, key);
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return error_set(err, ERR_INVALID, "%s is not the key of the first certificate in %s",
                         files->path[TLS_KEY_FILE], files->path[TLS_CERT_FILE]);
    if (code < 0)
        return refuse(files->path[TLS_CERT_FILE], code, err);
    describe(&chain, identity);
    return 0;
}

static int load_client_ca(const char *path, struct tls_identity *identity, struct error *err)
{
    AUTO(chain_clear) struct chain authorities = {0};
    int code;

    if (path[0] == '\0')
        return 0;
    if (read_chain(path, &authorities, err) < 0)
        return error_pass(err);
    code = gnutls_certificate_set_x509_trust(identity->credentials, authorities.certificates,
                                             (int)authorities.count);
    if (code < 0)
        return refuse(path, code, err);
    identity->asks_clients = true;
    return 0;
}

int tls_identity_load(const struct tls_files *files, struct tls_identity **out, struct error *err)
{
    AUTO(identity_free_pointer) struct tls_identity *identity = xcalloc(1, sizeof *identity);

    if (gnutls_certificate_allocate_credentials(&identity->credentials) < 0)
        return error_set(err, ERR_IO, "no memory for certificates");
    if (load_pair(files, identity, err) < 0 ||
        load_client_ca(files->path[TLS_CLIENT_CA_FILE], identity, err) < 0)
        return error_pass(err);
    identity->refs = 1;
    *out = steal_ptr(&identity);
    return 0;
}
