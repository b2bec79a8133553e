/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pem - are these texts certificates and keys that can be used?
 *
 * Asked before a working set is given up for a new one. No I/O; built on GnuTLS. It answers for the
 * form, not for trust or dates. Texts end with NUL and are not kept; from any thread.
 */
#ifndef TOPOFIT_PEM_H
#define TOPOFIT_PEM_H

#include "topofit/error.h"

/* ERR_INVALID unless both can be read and the key is that of the (first) certificate. */
int pem_check_pair(const char *certificate, const char *key, struct error *err);

/* ERR_INVALID unless there is a certificate in it and all that are there can be read. */
int pem_check_authorities(const char *text, struct error *err);

#endif
