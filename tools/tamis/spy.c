/* tamis spy: a picture of where a matrix has its nonzeros. */
#include <tamis/structure.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#ifdef TOOL_HAVE_PNG
#include <png.h>
#endif

#include "command.h"
#include "exit.h"
#include "json.h"
#include "outputs.h"
#include "progress.h"
#include "raster.h"
#include "source.h"
#include "structure.h"
#include "text.h"

typedef struct settings {
    const char *output;
    int64_t size;
    tool_reading reading;
    bool json, no_clobber, quiet;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    {"output", 'o', TOOL_OUTPUT, "FILE", NULL, "output file: .svg or .png", AT(output), 0, 0, NULL},
    {"size", 's', TOOL_INTEGER, "CELLS", "0", "cells along the longer side; 0: 128 for .svg, 512 for .png", AT(size), 0,
     4096, NULL},
    TOOL_READING(settings),
    TOOL_NO_CLOBBER(AT(no_clobber)),
    {"json", 'j', TOOL_FLAG, NULL, NULL, "an object instead of text", AT(json), 0, 0, NULL},
    {"quiet", 'q', TOOL_FLAG, NULL, NULL, "print nothing on success", AT(quiet), 0, 0, NULL},
    {.name = NULL},
};

enum { LEVELS = 16, SVG_SIDE = 560 };

/* The cells of one level as a path of runs along the rows. */
static void write_level(FILE *out, const tool_raster *raster, int level) {
    bool any = false;
    for (int row = 0; row < raster->rows; row++) {
        for (int col = 0; col < raster->cols; col++) {
            if (tool_raster_level(raster, row, col, LEVELS) != level) continue;
            int end = col + 1;
            while (end < raster->cols && tool_raster_level(raster, row, end, LEVELS) == level) end++;
            if (!any) fprintf(out, "<path fill-opacity=\"%.2f\" d=\"", 0.25 + 0.75 * level / LEVELS);
            fprintf(out, "M%d %dh%dv1h-%dz", col, row, end - col, end - col);
            any = true;
            col = end;
        }
    }
    if (any) fputs("\"/>\n", out);
}

/* The caption says in words what the picture shows. */
static void describe(const tool_source *source, const tool_structure *structure, tool_text *caption) {
    tool_text_add(caption, "%s: %s x %s, %s nonzeros, %s", source->name, tool_word_count(source->S->rows).text,
                  tool_word_count(source->S->cols).text, tool_word_count(source->S->nnz).text, structure->name);
}

/* The length of the UTF-8 character at `at`, and its number; 0 when there is none. */
static int character(const unsigned char *at, uint32_t *number) {
    if (at[0] < 0x80) {
        *number = at[0];
        return 1;
    }
    const int length = at[0] >= 0xf0 && at[0] < 0xf5 ? 4 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : at[0] >= 0xc2 ? 2 : 0;
    if (length == 0 || at[0] >= 0xf5) return 0;
    *number = at[0] & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        *number = *number << 6 | (at[i] & 0x3fu);
    }
    const bool overlong = (length == 3 && *number < 0x800) || (length == 4 && *number < 0x10000);
    const bool surrogate = *number >= 0xd800 && *number < 0xe000;
    return overlong || surrogate || *number > 0x10ffff ? 0 : length;
}

/* Adds text with & < > " escaped; bytes that are not UTF-8 and control characters become U+FFFD. */
static void add_escaped(tool_text *text, const char *given) {
    const unsigned char *at = (const unsigned char *)given;
    while (*at) {
        uint32_t number = 0;
        const int length = character(at, &number);
        const bool control = number < 0x20 && number != '\t' && number != '\n';
        if (length == 0 || control || number == 0x7f || number == 0xfffe || number == 0xffff) {
            tool_text_add(text, "\ufffd");
        } else if (number == '&') {
            tool_text_add(text, "&amp;");
        } else if (number == '<') {
            tool_text_add(text, "&lt;");
        } else if (number == '>') {
            tool_text_add(text, "&gt;");
        } else if (number == '"') {
            tool_text_add(text, "&quot;");
        } else {
            tool_text_add(text, "%.*s", length, (const char *)at);
        }
        at += length ? length : 1;
    }
}

static int write_svg(FILE *out, const tool_raster *raster, const char *caption) {
    const double scale = (double)SVG_SIDE / fmax(raster->rows, raster->cols);
    const double width = raster->cols * scale, height = raster->rows * scale;
    tool_text escaped = {0};
    add_escaped(&escaped, caption);
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"caption\" viewBox=\"0 0 %.0f %.0f\">\n"
        "<title id=\"caption\">Nonzeros of ",
        width < 240 ? 256 : width + 16, height + 44);
    fputs(tool_text_get(&escaped), out);
    fputs("</title>\n<style>svg{color:#1b1b1b;background:#fff;font:13px sans-serif}"
          "@media(prefers-color-scheme:dark){svg{color:#e8e6e3;background:#17191c}}</style>\n",
          out);
    fprintf(out, "<g transform=\"translate(8 8) scale(%.5f)\" fill=\"currentColor\" shape-rendering=\"crispEdges\">\n",
            scale);
    for (int level = 1; level <= LEVELS; level++) write_level(out, raster, level);
    fprintf(out,
            "</g>\n<rect x=\"8\" y=\"8\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" stroke=\"currentColor\" "
            "stroke-opacity=\".5\"/>\n<text x=\"8\" y=\"%.0f\" fill=\"currentColor\">",
            width, height, height + 32);
    fputs(tool_text_get(&escaped), out);
    fputs("</text>\n</svg>\n", out);
    tool_text_free(&escaped);
    return TOOL_OK;
}

/* ------------------------------------------------------------------------------------------ png */

#ifdef TOOL_HAVE_PNG
enum { SHADES = 255, FRAME = 1, LEAST_SIDE = 256 };

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
        const int level = tool_raster_level(raster, (line - FRAME) / times, (x - FRAME) / times, SHADES);
        dots[x] = (png_byte)(level == 0 ? 255 : 180 - level * 180 / SHADES);
    }
}

static int write_png(FILE *out, const tool_raster *raster) {
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

static int write_png(FILE *out, const tool_raster *raster) {
    (void)out;
    (void)raster;
    tool_error("this program was built without libpng: draw an .svg");
    return TOOL_UNSUPPORTED;
}

#endif

static int draw(const settings *set, const tool_source *source, bool png) {
    tamis_profile profile;
    const tamis_status status = tamis_row_profile(source->S, &profile);
    if (status != TAMIS_OK) return tool_library_error(status, source->name);
    tool_structure structure;
    tool_structure_find(source->S, &profile, &structure);
    tool_text caption = {0};
    describe(source, &structure, &caption);
    tool_raster raster;
    tool_raster_make(source->S, set->size > 0 ? (int)set->size : png ? 512 : 128, &raster);
    tool_output_file file;
    int code = tool_output_open(set->output, &file);
    if (code == 0) {
        code = png ? write_png(file.out, &raster) : write_svg(file.out, &raster, tool_text_get(&caption));
        const int closed = tool_output_close(&file, code == 0);
        if (code == 0) code = closed;
    }
    if (code == 0 && set->json) {
        tool_json json = tool_json_written(set->output, source->S->rows, source->S->cols, source->S->nnz);
        tool_json_text(&json, "matrix", source->name);
        tool_json_text(&json, "class", structure.name);
        tool_json_finish(&json);
    } else if (code == 0 && !set->quiet) {
        printf("%s: %s\n", set->output, tool_text_get(&caption));
    }
    tool_raster_free(&raster);
    tool_text_free(&caption);
    return code;
}

static int run_spy(const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count;
    if (!set->output) return tool_usage_error("-o FILE is missing");
    int code = tool_output_ending("--output", set->output, ".svg or .png");
    if (code) return code;
    const bool png = strcasecmp(strrchr(set->output, '.'), ".png") == 0;
    tool_interrupt_catch();
    const tamis_read_options reading = tool_read_options(&set->reading, TAMIS_F32, TAMIS_I64);
    tool_source source;
    code = tool_source_open(operands[0], &reading, &source);
    if (code) return code;
    code = draw(set, &source, png);
    tool_source_close(&source);
    return code;
}

const tool_command tool_spy_command = {
    .name = "spy",
    .summary = "draw the positions of a matrix's nonzeros",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .options = options,
    .settings_size = sizeof(settings),
    .run = run_spy,
};
