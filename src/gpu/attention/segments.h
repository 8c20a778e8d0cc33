/* Operations on segments on a GPU. */
#ifndef TAMIS_GPU_ATTENTION_SEGMENTS_H
#define TAMIS_GPU_ATTENTION_SEGMENTS_H

#include "backend/attention.h"

tamis_status tamis_gpu_segment(const tamis_segment_job *job);

#endif
