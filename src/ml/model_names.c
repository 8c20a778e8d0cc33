/* Names of methods. */
#include <string.h>
#include <tamis/ml.h>

#include "base/status.h"

static const char *const names[] = {"als", "implicit-als", "ccd", "lda", "sfa", "gap"};
enum { METHODS = (int)(sizeof names / sizeof *names) };

const char *tamis_method_name(tamis_method method) {
    return (int)method >= 0 && (int)method < METHODS ? names[method] : "unknown";
}

tamis_status tamis_method_from_name(const char *name, tamis_method *method) {
    tamis_clear_error();
    if (!name || !method) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", name ? "method" : "name");
    for (int i = 0; i < METHODS; i++)
        if (strcmp(name, names[i]) == 0) {
            *method = (tamis_method)i;
            return TAMIS_OK;
        }
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "method = \"%s\": expected als, implicit-als, ccd, lda, sfa or gap", name);
}
