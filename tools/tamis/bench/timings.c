/* Files of timings. */
#include "bench/timings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "io/files/input.h"

int tool_timings_open(const tool_device *device, const char *path, tool_timings *timings) {
    *timings = (tool_timings){.path = path, .written = tool_seconds()};
    int code = tool_library_error(tamis_timings_create(device->device, &timings->list), path);
    if (code != 0 || !path) return code;
    if (access(path, F_OK) != 0) return 0; /* it will be made */
    tamis_input input;
    code = tool_library_error(tamis_input_open(path, &(tamis_progress){.report = NULL}, &input), NULL);
    if (code != 0) return code;
    char *const text = strndup(input.text.begin, (size_t)(input.text.end - input.text.begin));
    tamis_input_close(&input);
    if (!text) return tool_failure(TOOL_MEMORY, "%s: out of memory", path);
    if (*text) code = tool_library_error(tamis_timings_read(timings->list, text, path), NULL);
    timings->foreign = !tamis_timings_are_own(timings->list);
    free(text);
    return code;
}

/* Writes a text that `write` makes. */
static int write_text(const tool_timings *timings,
                      tamis_status (*write)(const tamis_timings *list, char *text, size_t bytes, size_t *needed),
                      const char *path) {
    tool_output_file file;
    size_t needed = 0;
    int code = tool_library_error(write(timings->list, NULL, 0, &needed), path);
    if (code != 0) return code;
    char *const text = tool_allocate(needed, 1);
    code = tool_library_error(write(timings->list, text, needed, NULL), path);
    if (code == 0) code = tool_output_open(path, &file);
    if (code == 0) {
        fputs(text, file.out);
        code = tool_output_close(&file, true);
    }
    free(text);
    return code;
}

int tool_timings_save(tool_timings *timings, bool last) {
    static const double SECONDS = 5;
    if (!timings->path || timings->added == 0) return 0;
    if (!last && tool_seconds() - timings->written < SECONDS) return 0;
    timings->added = 0;
    timings->written = tool_seconds();
    return write_text(timings, tamis_timings_write, timings->path);
}

int tool_timings_export(const tool_timings *timings, const char *path) {
    return write_text(timings, tamis_timings_export, path);
}
