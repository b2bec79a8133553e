/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pki - certificates for tests, made on the spot.
 *
 * One authority signs for servers on 127.0.0.1 and ::1 (names localhost and kube.example) and for
 * clients.
 */
#ifndef TOPOFIT_TEST_PKI_H
#define TOPOFIT_TEST_PKI_H

/* PEM texts; owned. */
struct pki_pair {
    char *certificate, *key;
};

/* An authority of this name that signs itself; fails the test when it cannot. */
struct pki_pair pki_authority(const char *name);

/* A pair signed by an authority, for server or client. */
struct pki_pair pki_issue(const struct pki_pair *authority, const char *name);

void pki_pair_clear(struct pki_pair *pair);

#endif
