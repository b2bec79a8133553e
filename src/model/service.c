/* SPDX-License-Identifier: Apache-2.0 */
/* service - what the tenants of a device are promised beside each other. */
#include "topofit/service.h"

#include "topofit/mem.h"
#include "topofit/text.h"

static const char *const services[] = {[SERVICE_ANY] = "",
                                       [SERVICE_BEST_EFFORT] = "best-effort",
                                       [SERVICE_FIXED_SHARE] = "fixed-share",
                                       [SERVICE_BURST_SHARE] = "burst-share"};

static const char *const applications[] = {
    [APPLICATION_ANY] = "", [APPLICATION_ONLINE] = "online", [APPLICATION_OFFLINE] = "offline"};

const char *service_name(enum service service)
{
    return services[service];
}

const char *application_name(enum application application)
{
    return applications[application];
}

/* Position of a name in a list whose first entry is the empty one, or 0. */
static unsigned find(const char *const *names, unsigned count, const char *name)
{
    unsigned i = 1;

    while (i < count && !text_equal_nocase(names[i], name))
        i++;
    return i < count ? i : 0;
}

bool service_parse(const char *name, enum service *out)
{
    unsigned at = find(services, ARRAY_LEN(services), name);

    if (at > 0)
        *out = (enum service)at;
    return at > 0;
}

bool application_parse(const char *name, enum application *out)
{
    unsigned at = find(applications, ARRAY_LEN(applications), name);

    if (at > 0)
        *out = (enum application)at;
    return at > 0;
}
