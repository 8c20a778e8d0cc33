/* Public API of the ceilings of an open device. */
#include "select/ceilings.h"

#include "base/status.h"
#include "core/device.h"

static tamis_status get(tamis_device *device, tamis_probing probing, tamis_ceilings *ceilings) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!ceilings) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ceilings = NULL: expected an address for the result");
    tamis_ceilings_get(device->backend, device->number, device->description.threads, probing, ceilings, NULL, NULL);
    return TAMIS_OK;
}

tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings) {
    return get(device, TAMIS_PROBE_IF_NEEDED, ceilings);
}

tamis_status tamis_device_probe(tamis_device *device, tamis_ceilings *ceilings) {
    return get(device, TAMIS_PROBE_ANEW, ceilings);
}

static const char *const replaced =
    "corrections are replaced by rates, which tamis_timings_fit() and `tamis tune-device` fit";

tamis_status tamis_device_correct(tamis_device *device, const tamis_correction *rows, int64_t count) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    (void)rows;
    return count == 0 ? TAMIS_OK : tamis_fail(TAMIS_ERROR_UNSUPPORTED, "%s", replaced);
}

tamis_status tamis_device_corrections(tamis_device *device, tamis_correction *rows, int64_t most, int64_t *count) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!count) return tamis_fail(TAMIS_ERROR_ARGUMENT, "count = NULL: expected an address for the result");
    (void)rows, (void)most;
    *count = 0;
    return TAMIS_OK;
}
