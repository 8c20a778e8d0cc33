/* Attention on graphs and segments on a GPU. */
#ifndef TAMIS_GPU_ATTENTION_ATTENTION_H
#define TAMIS_GPU_ATTENTION_ATTENTION_H

#include "backend/attention.h"

extern const tamis_attention_functions tamis_gpu_attention_functions;

#endif
