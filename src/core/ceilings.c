/* Public API of the ceilings of an open device. */
#include "select/ceilings.h"

#include "base/status.h"
#include "core/device.h"
#include "select/corrections.h"

static tamis_status get(tamis_device *device, tamis_probing probing, tamis_ceilings *ceilings) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!ceilings) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ceilings = NULL: expected an address for the result");
    int corrections;
    tamis_ceilings_get(device->backend, device->number, device->description.threads, probing, ceilings, &corrections);
    return TAMIS_OK;
}

tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings) {
    return get(device, TAMIS_PROBE_IF_NEEDED, ceilings);
}

tamis_status tamis_device_probe(tamis_device *device, tamis_ceilings *ceilings) {
    return get(device, TAMIS_PROBE_ANEW, ceilings);
}

tamis_status tamis_device_correct(tamis_device *device, const tamis_correction *rows, int64_t count) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (count < 0 || count > TAMIS_CORRECTIONS_MOST)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = %lld: expected 0 to %d", (long long)count,
                          TAMIS_CORRECTIONS_MOST);
    if (count > 0 && !rows) return tamis_fail(TAMIS_ERROR_ARGUMENT, "rows = NULL, but count = %lld", (long long)count);
    for (int64_t i = 0; i < count; i++)
        if (!tamis_correction_is_sound(&rows[i]))
            return tamis_fail(TAMIS_ERROR_ARGUMENT,
                              "rows[%lld]: expected a name, a factor > 0, columns > 0, cases > 0, an operation, a type",
                              (long long)i);
    if (!tamis_corrections_set(device->backend, device->number, device->description.threads, rows, count))
        return tamis_fail(TAMIS_ERROR_FILE, "the corrections cannot be kept: no folder for the cache can be written");
    return TAMIS_OK;
}

tamis_status tamis_device_corrections(tamis_device *device, tamis_correction *rows, int64_t most, int64_t *count) {
    tamis_ceilings ceilings;
    int corrections;
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!count || (most > 0 && !rows))
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s = NULL: expected an address for the result",
                          count ? "rows" : "count");
    tamis_ceilings_get(device->backend, device->number, device->description.threads, TAMIS_PROBE_NEVER, &ceilings,
                       &corrections);
    *count = tamis_corrections_get(corrections, rows, most);
    return TAMIS_OK;
}
