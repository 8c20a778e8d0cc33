/* Checks options and executions, and fills in defaults. */
#ifndef TAMIS_CORE_OPTIONS_H
#define TAMIS_CORE_OPTIONS_H

#include "core/device.h"

tamis_status tamis_options_read(const tamis_options *options, const tamis_device *device, tamis_options *filled);
tamis_status tamis_execution_read(const tamis_execution *execution, tamis_execution *filled);

#endif
