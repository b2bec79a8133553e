/* SPDX-License-Identifier: Apache-2.0 */
/* configured - an extender without a daemon, set up as a configuration file and --policy say. */
#include "command.h"
#include "topofit/config_files.h"
#include "topofit/mem.h"
#include "topofit/text.h"

#include <string.h>

#define SUGGESTION_DISTANCE 3

int command_find_word(const char *const *words, const char *word, const char *option,
                      struct error *err)
{
    AUTO(buf_clear) struct buf known = buf_with_max(200);
    const char *nearest = text_nearest(word, words, SUGGESTION_DISTANCE);

    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(word, words[i]) == 0)
            return i;
        buf_addf(&known, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    error_set(err, ERR_INVALID, "%s%sthere is no %.60s; %s%s%s", option != NULL ? option : "",
              option != NULL ? ": " : "", word, nearest != NULL ? "did you mean " : "there are ",
              nearest != NULL ? nearest : buf_text(&known), nearest != NULL ? "?" : "");
    return -1;
}

/* Without a word the policy stays as configured. */
static int apply_policy(const char *word, struct decide_policy *policy, struct error *err)
{
    if (word == NULL || packing_policy_find(word, &policy->packing))
        return 0;
    command_find_word(packing_policy_names(), word, "--policy", err);
    return error_pass(err);
}

int command_configure(struct extender *extender, struct class_table *classes, const char *path,
                      const char *policy, struct error *err)
{
    AUTO(config_clear) struct config config;
    struct config_files files;

    config_defaults(&config);
    if (path != NULL && command_load_config(&config, path, err) < 0)
        return error_pass(err);
    if (config_files_read(&config, &files, err) < 0)
        return error_pass(err);
    *classes = files.classes;
    if (files.mix != NULL)
        cluster_set_pod_mix(extender->cluster, files.mix);
    extender->classes = classes;
    extender->options.policy = config_policy(&config);
    return apply_policy(policy, &extender->options.policy, err);
}
