/* The current clock speed of the processor or the GPU. */
#ifndef TOOL_CLOCK_SPEED_H
#define TOOL_CLOCK_SPEED_H

#include "cli/device.h"

/* Returns MHz: on the CPU the mean over cores, on CUDA the multiprocessors' clock from NVML. NaN if it is not known. */
double tool_clock_mhz(const tool_device *device);

#endif
