/* Writes beside, then renames. */
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exit.h"

static int refuse(const char *path) {
    tool_error("%s: cannot be written: %s", path, strerror(errno));
    return TOOL_FILE;
}

int tool_output_open(const char *path, tool_output_file *file) {
    struct stat there;
    const size_t bytes = strlen(path) + 24;
    *file = (tool_output_file){.path = path, .beside = tool_allocate(bytes, 1)};
    /* a device or a pipe is written as it is */
    const bool whole = stat(path, &there) != 0 || S_ISREG(there.st_mode);
    if (whole) {
        snprintf(file->beside, bytes, "%s.%ld.part", path, (long)getpid());
    } else {
        snprintf(file->beside, bytes, "%s", path);
    }
    const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | (whole ? O_EXCL : 0);
    const int descriptor = open(file->beside, flags, 0666);
    file->out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    if (file->out) return 0;
    const int code = refuse(path);
    if (descriptor >= 0) close(descriptor);
    free(file->beside);
    file->beside = NULL;
    return code;
}

int tool_output_close(tool_output_file *file, bool keep) {
    if (!file->out) return 0;
    const bool renamed = strcmp(file->beside, file->path) != 0;
    bool good = ferror(file->out) == 0;
    if (fclose(file->out) != 0) good = false;
    file->out = NULL;
    int code = 0;
    if (keep && (!good || (renamed && rename(file->beside, file->path) != 0))) code = refuse(file->path);
    if (renamed && (!keep || code)) unlink(file->beside);
    free(file->beside);
    file->beside = NULL;
    return code;
}
