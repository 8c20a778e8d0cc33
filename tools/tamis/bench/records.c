/* The JSON lines of a benchmark other than measurements: the machine, and the matrices. */
#include <tamis/ceilings.h>
#include <tamis/structure.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/bench.h"
#include "cli/commit.h"
#include "cli/exit.h"

enum { SPY_CELLS = 40, SPY_LEVELS = 9 };

void tool_bench_run_begin(tool_bench_run *run) {
    const time_t now = time(NULL);
    struct tm parts;
    char stamp[32] = "";
    if (gmtime_r(&now, &parts)) {
        strftime(run->started, sizeof run->started, "%Y-%m-%dT%H:%M:%SZ", &parts);
        strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", &parts);
    }
    snprintf(run->id, sizeof run->id, "%s-%ld", stamp, (long)getpid());
}

/* Reads the line of tamis_build_information, such as "compiler     GNU 12.2.0". */
const char *tool_bench_compiler(void) {
    static char compiler[64];
    const char *at = *compiler ? NULL : strstr(tamis_build_information(), "compiler");
    if (!at) return compiler;
    at += strlen("compiler");
    at += strspn(at, " ");
    snprintf(compiler, sizeof compiler, "%.*s", (int)strcspn(at, "\n"), at);
    return compiler;
}

/* Returns the processor's name, as the library knows it. */
static void processor_name(char *name, size_t bytes) {
    tamis_device *cpu = NULL;
    tamis_device_description about;
    const bool known = tamis_device_open("cpu", &cpu) == TAMIS_OK && tamis_device_describe(cpu, &about) == TAMIS_OK;
    snprintf(name, bytes, "%s", known ? about.model : "unknown");
    tamis_device_close(cpu);
}

static void ceilings_of(tool_json *json, const tamis_ceilings *ceilings) {
    tool_json_put(json, TOOL_OF(*ceilings, measured), TOOL_OF(*ceilings, doubtful),
                  tool_int("ceiling_threads", ceilings->threads));
    tool_json_numbers(json, "fp32_gflops", ceilings->fp32_gflops, 2);
    tool_json_numbers(json, "fp64_gflops", ceilings->fp64_gflops, 2);
    tool_json_numbers(json, "l1_gbs", ceilings->l1_gbs, 2);
    tool_json_numbers(json, "l2_gbs", ceilings->l2_gbs, 2);
    tool_json_numbers(json, "l3_gbs", ceilings->l3_gbs, 2);
    tool_json_numbers(json, "memory_gbs", ceilings->memory_gbs, 2);
    tool_json_numbers(json, "gather_gbs", ceilings->gather_gbs[1], 6);
    tool_json_array(json, "gather_bytes");
    for (int i = 0; i < 6; i++) tool_json_integer(json, NULL, ceilings->gather_bytes[i]);
    tool_json_end_array(json);
}

int tool_bench_record_run(tool_bench_run *run, const tool_device *device) {
    tool_json *json = tool_lines_begin(&run->report.lines);
    if (!json) return 0;
    struct utsname system = {.sysname = ""};
    char text[256];
    const tamis_device_description *about = &device->description;
    tool_json_put(json, tool_str("record", "run"), tool_str("run", run->id), TOOL_OF(*run, started),
                  tool_str("suite", run->suite ? run->suite->name : NULL),
                  tool_str("tier", run->suite ? (run->full ? "full" : "small") : NULL),
                  tool_str("title", run->suite ? run->suite->title : NULL),
                  tool_str("paper", run->suite ? run->suite->paper : NULL), tool_str("version", tamis_version()),
                  tool_str("commit", tool_commit), tool_str("compiler", tool_bench_compiler()));
    if (uname(&system) == 0) { /* only the numbers: the kernel's builder chose the rest of the release */
        snprintf(text, sizeof text, "%s %.*s %s", system.sysname, (int)strspn(system.release, "0123456789."),
                 system.release, system.machine);
    }
    tool_json_text(json, "system", *system.sysname ? text : NULL);
    processor_name(text, sizeof text);
    tool_json_put(json, tool_str("processor", text), tool_int("processors", sysconf(_SC_NPROCESSORS_ONLN)),
                  tool_str("device", about->name), TOOL_OF(*about, model), TOOL_OF(*about, instruction_set),
                  TOOL_OF(*about, driver), TOOL_OF(*about, threads), TOOL_OF(*about, multiprocessors),
                  TOOL_OF(*about, cache_l1), TOOL_OF(*about, cache_l2), TOOL_OF(*about, cache_l3),
                  TOOL_OF(*about, memory));
    ceilings_of(json, &device->ceilings);
    return tool_lines_end(&run->report.lines);
}

/* ------------------------------------------------------------------------------------------ matrices */

int tool_bench_describe(const tool_source *source, const tool_input *input, tool_bench_matrix *matrix) {
    *matrix = (tool_bench_matrix){.source = source, .group = input->group, .stand_in = input->stand_in};
    const char *folder = strrchr(input->spec, '/');
    matrix->spec = strncmp(input->spec, "generate:", 9) != 0 && folder ? folder + 1 : input->spec;
    tamis_status status = tamis_row_profile(source->S, &matrix->profile);
    if (status == TAMIS_OK) status = tamis_structure_find(source->S, &matrix->profile, &matrix->structure);
    return tool_library_error(status, source->name);
}

/* Writes the digits of the raster, row by row. */
static char *spy_digits(const tool_raster *raster) {
    const size_t count = (size_t)raster->rows * (size_t)raster->cols;
    char *digits = tool_allocate(count + 1, 1);
    for (int row = 0; row < raster->rows; row++) {
        for (int col = 0; col < raster->cols; col++)
            digits[row * raster->cols + col] = (char)('0' + tool_raster_level(raster, row, col, SPY_LEVELS));
    }
    return digits;
}

int tool_bench_record_matrix(tool_bench_run *run, const tool_bench_matrix *matrix) {
    tool_json *json = tool_lines_begin(&run->report.lines);
    if (!json) return 0;
    tool_raster raster;
    tool_raster_make(matrix->source->S, SPY_CELLS, &raster);
    char *digits = spy_digits(&raster);
    tool_json_put(json, tool_str("record", "matrix"), tool_str("run", run->id),
                  tool_str("matrix", matrix->source->name), TOOL_OF(*matrix, stand_in), TOOL_OF(*matrix, spec),
                  TOOL_OF(*matrix, group));
    tool_json_structure(json, &matrix->profile, &matrix->structure);
    tool_json_put(json, tool_int("spy_rows", raster.rows), tool_int("spy_cols", raster.cols), tool_str("spy", digits));
    free(digits);
    tool_raster_free(&raster);
    return tool_lines_end(&run->report.lines);
}
