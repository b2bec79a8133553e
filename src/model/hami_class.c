/* SPDX-License-Identifier: Apache-2.0 */
/* hami_class - how HAMi spells the facts about one kind of device: group `hami` of a class. */
#include "topofit/hami_class.h"

const char *hami_form_name(enum hami_form form)
{
    static const char *const names[HAMI_FORM_COUNT] = {
#define X(id, word) word,
        HAMI_FORMS(X)
#undef X
    };

    return names[form];
}

const char *hami_value_name(enum hami_value value)
{
    static const char *const names[HAMI_VALUE_COUNT] = {
#define X(id, word) word,
        HAMI_VALUES(X)
#undef X
    };

    return names[value];
}
