/* Public API of the cache of compiled kernels, measured plans and ceilings. */
#include <tamis/cache.h>

#include "base/cache_folder.h"
#include "base/status.h"
#include "gpu/compile/program_cache.h"
#include "select/ceilings.h"
#include "select/rates.h"
#include "select/remembered.h"

tamis_status tamis_cache_describe(tamis_cache_description *description) {
    tamis_clear_error();
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description = NULL: expected an address for the result");
    *description = (tamis_cache_description){.plans = tamis_remembered_count(), .ceilings = tamis_ceilings_count()};
    tamis_program_cache_measure(description->path, sizeof description->path, &description->entries, &description->bytes,
                                &description->most_bytes);
    if (*description->path) return TAMIS_OK;
    static _Thread_local char why[1100];
    tamis_cache_refusal(why, sizeof why);
    description->refused = why;
    return TAMIS_OK;
}

tamis_status tamis_cache_clear(int64_t *removed) {
    tamis_clear_error();
    const int64_t count =
        tamis_program_cache_clear() + tamis_remembered_clear() + tamis_ceilings_clear() + tamis_rates_clear();
    if (removed) *removed = count;
    return TAMIS_OK;
}
