/* Rows of the table of algorithms, each in its method's folder; algorithms.c lists them. */
#ifndef TAMIS_GPU_METHODS_H
#define TAMIS_GPU_METHODS_H

#include "gpu/method.h"

/* ours */
extern const tamis_gpu_algorithm tamis_gpu_nonzeros, tamis_gpu_rows, tamis_gpu_teams, tamis_gpu_panels,
    tamis_gpu_tensor, tamis_gpu_rounded, tamis_gpu_two_steps, tamis_gpu_one_pass, tamis_gpu_long_rows;

/* The laboratory's: lab/gpu/methods.h lists them. None without TAMIS_LAB. */
extern const tamis_gpu_algorithm *const tamis_lab_gpu_algorithms[];
extern const int tamis_lab_gpu_algorithm_count;

#endif
