/* A stream over the library's own way to write files. */
#define _GNU_SOURCE
#include "output_file.h"

#include <stdlib.h>

#include "exit.h"
#include "io/output.h"

static ssize_t write_some(void *output, const char *data, size_t bytes) {
    return tamis_output_write(output, data, (int64_t)bytes) == TAMIS_OK ? (ssize_t)bytes : 0;
}

int tool_output_open(const char *path, tool_output_file *file) {
    tamis_output *const output = tool_allocate(1, sizeof *output);
    const tamis_status status = tamis_output_open(path, false, output);
    *file = (tool_output_file){.output = output};
    if (status == TAMIS_OK) {
        file->out = fopencookie(output, "w", (cookie_io_functions_t){.write = write_some});
        if (file->out) return 0;
        tool_output_close(file, false);
        tool_error("%s: out of memory", path);
        return TOOL_MEMORY;
    }
    tool_output_close(file, false);
    return tool_library_error(status, NULL);
}

int tool_output_close(tool_output_file *file, bool keep) {
    if (!file->output) return 0;
    bool good = !file->out || !ferror(file->out);
    if (file->out && fclose(file->out) != 0) good = false;
    const tamis_status status = tamis_output_close(file->output, keep && good ? TAMIS_OK : TAMIS_ERROR_FILE);
    free(file->output);
    *file = (tool_output_file){0};
    return keep && status != TAMIS_OK ? tool_library_error(status, NULL) : 0;
}
