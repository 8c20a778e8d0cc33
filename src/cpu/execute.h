/* Executions of prepared methods. */
#ifndef TAMIS_CPU_EXECUTE_H
#define TAMIS_CPU_EXECUTE_H

#include "backend/backend.h"

tamis_status tamis_cpu_execute(const tamis_prepared *prepared, void *stream, const tamis_operands *operands);

#endif
