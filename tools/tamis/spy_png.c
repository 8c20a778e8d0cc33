/* Writes a raster as a grey PNG through libpng, a dot a cell; small rasters are magnified. */
#include "spy_png.h"

#include <stdlib.h>
#include <string.h>

#include "exit.h"

#ifdef TOOL_HAVE_PNG
#include <png.h>

enum { LEVELS = 255, FRAME = 1, LEAST_SIDE = 256 };

static int magnification(const tool_raster *raster) {
    const int longest = raster->rows > raster->cols ? raster->rows : raster->cols;
    return longest >= LEAST_SIDE ? 1 : LEAST_SIDE / longest;
}

/* One line of dots: white paper, a grey frame, cells the darker the fuller, but never so pale as to be lost. */
static void fill_line(const tool_raster *raster, int line, int height, int width, int times, png_byte *dots) {
    const png_byte frame = 160;
    memset(dots, frame, (size_t)width);
    if (line < FRAME || line >= height - FRAME) return;
    for (int x = FRAME; x < width - FRAME; x++) {
        const int level = tool_raster_level(raster, (line - FRAME) / times, (x - FRAME) / times, LEVELS);
        dots[x] = (png_byte)(level == 0 ? 255 : 180 - level * 180 / LEVELS);
    }
}

int tool_spy_png(FILE *out, const tool_raster *raster) {
    const int times = magnification(raster);
    const int height = raster->rows * times + 2 * FRAME, width = raster->cols * times + 2 * FRAME;
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_GRAY};
    png_byte *dots = tool_allocate((size_t)height, (size_t)width);
    for (int line = 0; line < height; line++) {
        fill_line(raster, line, height, width, times, dots + (size_t)line * (size_t)width);
    }
    const int written = png_image_write_to_stdio(&image, out, 0, dots, width, NULL);
    free(dots);
    if (written) return 0;
    tool_error("libpng: %s", image.message);
    png_image_free(&image);
    return TOOL_FILE;
}

#else

int tool_spy_png(FILE *out, const tool_raster *raster) {
    (void)out;
    (void)raster;
    tool_error("this program was built without libpng: draw an .svg");
    return TOOL_UNSUPPORTED;
}

#endif
