/* The CPU backend's table. */
#ifndef TAMIS_CPU_BACKEND_H
#define TAMIS_CPU_BACKEND_H

#include "backend/backend.h"

extern const tamis_backend tamis_cpu_backend;

#endif
