/* The algorithms of the CPU, as src/backend/backend.h requires them. */
#ifndef TAMIS_CPU_ALGORITHMS_H
#define TAMIS_CPU_ALGORITHMS_H

#include "backend/backend.h"

const tamis_algorithm *tamis_cpu_algorithm(int number);
bool tamis_cpu_accepts(const tamis_algorithm *algorithm, const tamis_problem *problem, char *reason, size_t bytes);
void tamis_cpu_predict(const tamis_algorithm *algorithm, const tamis_problem *problem, tamis_prediction *prediction);
tamis_call_bytes tamis_cpu_call_bytes(const tamis_problem *problem);
tamis_status tamis_cpu_prepare(const tamis_algorithm *algorithm, const tamis_problem *problem,
                               tamis_prepared **prepared);
void tamis_cpu_sizes(const tamis_prepared *prepared, tamis_prepared_sizes *sizes);
void tamis_cpu_release(tamis_prepared *prepared);

#endif
