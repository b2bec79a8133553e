/* SPDX-License-Identifier: Apache-2.0 */
/* demand - annotations of pods whose values are words. */
#include "demand.h"

#include "topofit/mem.h"
#include "topofit/text.h"

#include <string.h>

void demand_choose(const struct demand_choice *choice, const char *value, struct request *request)
{
    for (size_t i = 0; i < ARRAY_LEN(choice->words) && choice->words[i].text != NULL; i++) {
        if (text_equal_nocase(choice->words[i].text, value)) {
            choice->set(request, choice->words[i].value);
            return;
        }
    }
    request_set_problem(request, "annotation %s is \"%.60s\": expected %s", choice->key, value,
                        choice->expected);
}

void demand_words(const char *key, const char *value, struct word_list *words,
                  struct request *request)
{
    char item[WORD_BYTES_MAX + 2]; /* one byte more than allowed, to see what is too long */

    while (text_next_item(&value, item, sizeof item)) {
        if (word_list_add(words, item))
            continue;
        if (strlen(item) > WORD_BYTES_MAX)
            request_set_problem(request, "annotation %s: \"%.60s...\" is longer than %d bytes", key,
                                item, WORD_BYTES_MAX);
        else
            request_set_problem(request, "annotation %s lists more than %d items", key,
                                WORD_LIST_MAX);
        return;
    }
}
