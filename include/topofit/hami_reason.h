/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hami_reason - the words of HAMi's scheduler for our reasons, for those who match its Events.
 *
 * No state. source: docs/reference/events.md
 */
#ifndef TOPOFIT_HAMI_REASON_H
#define TOPOFIT_HAMI_REASON_H

#include "topofit/reason.h"

/* HAMi's nearest word: "CardInsufficientMemory". Several reasons share one. Static storage. */
const char *hami_reason_word(enum reason reason);

#endif
