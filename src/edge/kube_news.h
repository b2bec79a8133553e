/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_news - tells people what changed in the dealings with the API server: once for each change,
 * not with every attempt. For the loop only, and of its thread.
 */
#ifndef TOPOFIT_KUBE_NEWS_H
#define TOPOFIT_KUBE_NEWS_H

#include "topofit/controller.h"
#include "topofit/log.h"

struct kube_news;
struct kube_news *kube_news_new(void (*log)(void *ctx, enum log_level level, const char *text),
                                void *log_ctx);
void kube_news_free(struct kube_news *news);

/* Compare with what was told before, and tell the difference. */
void kube_news_tell(struct kube_news *news, const struct controller_status *status,
                    const struct reconciler_report *report);

#endif
