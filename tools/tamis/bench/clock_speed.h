/* How fast the processor or the GPU is clocked at the moment. */
#ifndef TOOL_CLOCK_SPEED_H
#define TOOL_CLOCK_SPEED_H

#include "cli/device.h"

/* MHz: on the CPU the mean over its cores, on CUDA the multiprocessors' by the driver's management library. NaN where
   it is not to be had. */
double tool_clock_mhz(const tool_device *device);

#endif
