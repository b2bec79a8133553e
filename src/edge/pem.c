/* SPDX-License-Identifier: Apache-2.0 */
/* pem - are these texts certificates and keys that can be used? */
#include "topofit/pem.h"

#include <gnutls/gnutls.h>
#include <stdint.h>
#include <string.h>

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text, (unsigned)strlen(text)};
}

int pem_check_pair(const char *certificate, const char *key, struct error *err)
{
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t certificate_bytes = datum_of(certificate), key_bytes = datum_of(key);
    int code;

    gnutls_certificate_allocate_credentials(&credentials);
    code = gnutls_certificate_set_x509_key_mem(credentials, &certificate_bytes, &key_bytes,
                                               GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(credentials);
    if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
        return error_set(err, ERR_INVALID, "certificate and key do not belong together");
    if (code < 0)
        return error_set(err, ERR_INVALID, "certificate or key cannot be read: %s",
                         gnutls_strerror(code));
    return 0;
}

int pem_check_authorities(const char *text, struct error *err)
{
    gnutls_certificate_credentials_t credentials;
    gnutls_datum_t bytes = datum_of(text);
    int count;

    gnutls_certificate_allocate_credentials(&credentials);
    count = gnutls_certificate_set_x509_trust_mem(credentials, &bytes, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(credentials);
    if (count < 0)
        return error_set(err, ERR_INVALID, "the certificates cannot be read: %s",
                         gnutls_strerror(count));
    return count > 0 ? 0 : error_set(err, ERR_INVALID, "there is no certificate in it");
}
