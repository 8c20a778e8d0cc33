/* The picture of tamis spy as PNG. */
#ifndef TOOL_SPY_PNG_H
#define TOOL_SPY_PNG_H

#include <stdio.h>

#include "raster.h"

/* Returns 0 or an exit code, after a message: TOOL_UNSUPPORTED where the program was built without libpng. */
int tool_spy_png(FILE *out, const tool_raster *raster);

#endif
