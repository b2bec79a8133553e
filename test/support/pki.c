/* SPDX-License-Identifier: Apache-2.0 */
/* pki - certificates for tests, made on the spot. */
#include "support/pki.h"

#include "support/test.h"

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <time.h>

#define LIFE_S 86400

static void must(int code, const char *what)
{
    if (code < 0)
        fail_msg("%s: %s", what, gnutls_strerror(code));
}

static char *steal_text(gnutls_datum_t *datum)
{
    char *text = xstrndup((const char *)datum->data, datum->size);

    gnutls_free(datum->data);
    return text;
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

static void describe(gnutls_x509_crt_t certificate, gnutls_x509_privkey_t key, const char *name)
{
    static unsigned char serial;
    time_t now = time(NULL);

    serial++;
    must(gnutls_x509_crt_set_version(certificate, 3), "version");
    must(gnutls_x509_crt_set_serial(certificate, &serial, 1), "serial");
    must(gnutls_x509_crt_set_activation_time(certificate, now - LIFE_S), "begin");
    must(gnutls_x509_crt_set_expiration_time(certificate, now + LIFE_S), "end");
    must(gnutls_x509_crt_set_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, name,
                                       (unsigned)strlen(name)),
         "name");
    must(gnutls_x509_crt_set_key(certificate, key), "key");
}

static void allow_ends(gnutls_x509_crt_t certificate)
{
    static const char *const names[] = {"localhost", "kube.example"};
    struct in6_addr v6 = IN6ADDR_LOOPBACK_INIT;
    unsigned v4 = htonl(INADDR_LOOPBACK);

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        must(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_DNSNAME, names[i],
                                                  (unsigned)strlen(names[i]), GNUTLS_FSAN_APPEND),
             "names");
    must(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, &v4, sizeof v4,
                                              GNUTLS_FSAN_APPEND),
         "address");
    must(gnutls_x509_crt_set_subject_alt_name(certificate, GNUTLS_SAN_IPADDRESS, &v6, sizeof v6,
                                              GNUTLS_FSAN_APPEND),
         "address");
    must(gnutls_x509_crt_set_basic_constraints(certificate, 0, -1), "constraints");
    must(gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_DIGITAL_SIGNATURE), "usage");
}

static struct pki_pair make(const struct pki_pair *authority, const char *name)
{
    struct pki_pair made = {0};
    gnutls_x509_crt_t certificate, signer;
    gnutls_x509_privkey_t key, signing_key;
    gnutls_datum_t bytes;

    must(gnutls_x509_privkey_init(&key), "key");
    must(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                      GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
         "key");
    must(gnutls_x509_crt_init(&certificate), "certificate");
    must(gnutls_x509_crt_init(&signer), "signer");
    must(gnutls_x509_privkey_init(&signing_key), "signing key");
    describe(certificate, key, name);
    if (authority == NULL) {
        must(gnutls_x509_crt_set_basic_constraints(certificate, 1, -1), "constraints");
        must(gnutls_x509_crt_set_key_usage(certificate, GNUTLS_KEY_KEY_CERT_SIGN), "usage");
        must(gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA256, 0), "sign");
    } else {
        bytes = datum_of(authority->certificate);
        must(gnutls_x509_crt_import(signer, &bytes, GNUTLS_X509_FMT_PEM), "authority");
        bytes = datum_of(authority->key);
        must(gnutls_x509_privkey_import(signing_key, &bytes, GNUTLS_X509_FMT_PEM), "authority");
        allow_ends(certificate);
        must(gnutls_x509_crt_sign2(certificate, signer, signing_key, GNUTLS_DIG_SHA256, 0), "sign");
    }
    must(gnutls_x509_crt_export2(certificate, GNUTLS_X509_FMT_PEM, &bytes), "export");
    made.certificate = steal_text(&bytes);
    must(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &bytes), "export");
    made.key = steal_text(&bytes);
    gnutls_x509_crt_deinit(certificate);
    gnutls_x509_crt_deinit(signer);
    gnutls_x509_privkey_deinit(key);
    gnutls_x509_privkey_deinit(signing_key);
    return made;
}

struct pki_pair pki_authority(const char *name)
{
    return make(NULL, name);
}

struct pki_pair pki_issue(const struct pki_pair *authority, const char *name)
{
    return make(authority, name);
}

void pki_pair_clear(struct pki_pair *pair)
{
    free(pair->certificate);
    free(pair->key);
    *pair = (struct pki_pair){0};
}
