/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any output of a credential plugin: an error with a text, or a credential that can be sent, be it
 * a token that fits into a header or a certificate with its key.
 */
#include "topofit/exec_credential_json.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(exec_answer_clear) struct exec_answer answer = {0};
    struct error err = {0};

    if (exec_credential_json_read((const char *)bytes, size, "client.authentication.k8s.io/v1",
                                  &answer, &err) < 0) {
        assert(err.code != ERR_NONE && err.text[0] != '\0');
        assert(answer.token == NULL && answer.certificate == NULL && answer.key == NULL);
        return 0;
    }
    assert(answer.token != NULL || answer.certificate != NULL);
    assert((answer.certificate == NULL) == (answer.key == NULL));
    for (const char *c = answer.token != NULL ? answer.token : ""; *c != '\0'; c++)
        assert(*c > ' ' && *c < 127);
    return 0;
}
