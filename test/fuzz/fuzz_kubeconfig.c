/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a kubeconfig: an error with a text, or a configuration that holds what it promises.
 */
#include "topofit/kubeconfig.h"
#include "topofit/mem.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(kube_config_clear) struct kube_config config = {0};
    struct error err = {0};
    struct kubeconfig_text text = {"/k/config", (const char *)data, size};

    if (kubeconfig_parse(&text, 1, &config, &err) < 0) {
        assert(err.code != ERR_NONE && err.text[0] != '\0' && config.server == NULL);
        return 0;
    }
    assert(strncmp(config.server, "http", 4) == 0 && strlen(config.server) > strlen("http://"));
    assert(config.server[strlen(config.server) - 1] != '/');
    assert(!config.insecure || (config.ca.file == NULL && config.ca.text == NULL));
    assert(config.exec == NULL || (config.exec->command != NULL && config.token == NULL));
    for (size_t i = 0; i < config.impersonation.count; i++)
        assert(strpbrk(config.impersonation.items[i].value, "\r\n") == NULL &&
               strpbrk(config.impersonation.items[i].key, " :\r\n") == NULL);
    return 0;
}
