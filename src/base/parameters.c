#include "base/parameters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static void list_names(const tamis_parameter *parameters, int count, char *text, size_t bytes) {
    size_t used = 0;
    text[0] = 0;
    for (int i = 0; i < count && used < bytes; i++) {
        const int n = snprintf(text + used, bytes - used, "%s%s", i ? ", " : "", parameters[i].name);
        if (n > 0) used += (size_t)n;
    }
}

tamis_status tamis_parameters_parse(const char *algorithm, const char *text, const tamis_parameter *parameters,
                                    int count, int64_t *values) {
    const char *p = text ? text : "";
    while (*p) {
        const size_t length = strcspn(p, ",");
        const char *const equals = memchr(p, '=', length);
        if (!equals)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters = \"%s\": \"%.*s\" is not of the form name=value", text,
                              (int)length, p);
        int at = 0;
        const size_t name_length = (size_t)(equals - p);
        while (at < count &&
               (strlen(parameters[at].name) != name_length || memcmp(parameters[at].name, p, name_length) != 0))
            at++;
        if (at == count) {
            char names[256];
            list_names(parameters, count, names, sizeof names);
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: %s has no parameter \"%.*s\"%s%s", algorithm,
                              (int)name_length, p, count ? "; it has " : "", names);
        }
        char *end = NULL;
        errno = 0;
        const long long value = strtoll(equals + 1, &end, 10);
        if (errno || end == equals + 1 || end != p + length || value < parameters[at].least ||
            value > parameters[at].most)
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "parameters: %s = \"%.*s\" is not an integer from %lld to %lld",
                              parameters[at].name, (int)(p + length - equals - 1), equals + 1,
                              (long long)parameters[at].least, (long long)parameters[at].most);
        values[at] = value;
        p += length;
        if (*p == ',') p++;
    }
    return TAMIS_OK;
}
