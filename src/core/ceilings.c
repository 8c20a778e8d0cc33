/* The ceilings of an open device, as the public API shows them. */
#include "select/ceilings.h"

#include "base/status.h"
#include "core/device.h"

static tamis_status get(tamis_device *device, tamis_probing probing, tamis_ceilings *ceilings) {
    tamis_clear_error();
    if (!device) return tamis_fail(TAMIS_ERROR_ARGUMENT, "device = NULL: open one with tamis_device_open");
    if (!ceilings) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ceilings = NULL: expected an address for the result");
    tamis_ceilings_get(device->backend, device->number, device->description.threads, probing, ceilings);
    return TAMIS_OK;
}

tamis_status tamis_device_ceilings(tamis_device *device, tamis_ceilings *ceilings) {
    return get(device, TAMIS_PROBE_IF_NEEDED, ceilings);
}

tamis_status tamis_device_probe(tamis_device *device, tamis_ceilings *ceilings) {
    return get(device, TAMIS_PROBE_ANEW, ceilings);
}
