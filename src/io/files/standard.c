/* One standard input and one standard output, as a process has them. */
#include "io/files/standard.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/status.h"

enum { NONE = -1 };

static struct {
    bool on;
    int output;
    const char *form;
    bool opened;    /* the input, once */
    int64_t origin; /* position of the input, if it can seek; NONE: a pipe or the like */
    bool looked;    /* a pipe whose first bytes are stored here */
    size_t bytes;
    char first[TAMIS_STANDARD_LOOK];
} standard;

void tamis_standard_files(int output, const char *form) {
    standard.on = true;
    standard.output = output;
    standard.form = form;
    standard.origin = (int64_t)lseek(STDIN_FILENO, 0, SEEK_CUR);
}

bool tamis_is_standard(const char *path) { return standard.on && strcmp(path, "-") == 0; }

tamis_status tamis_standard_input(int *descriptor, int64_t *origin) {
    const bool again = standard.opened;
    *origin = standard.origin > 0 ? standard.origin : 0;
    *descriptor = NONE;
    if (again && standard.origin < 0)
        return tamis_fail(TAMIS_ERROR_FILE, "-: standard input is a pipe, which cannot be read a second time: write it "
                                            "to a file first");
    if (again && lseek(STDIN_FILENO, standard.origin, SEEK_SET) < 0)
        return tamis_fail(TAMIS_ERROR_FILE, "-: cannot go back to its beginning: %s", strerror(errno));
    *descriptor = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (*descriptor < 0) return tamis_fail(TAMIS_ERROR_FILE, "-: cannot open standard input: %s", strerror(errno));
    standard.opened = true;
    return TAMIS_OK;
}

size_t tamis_standard_head(void *bytes, size_t room) {
    const size_t count = standard.looked && standard.bytes <= room ? standard.bytes : 0;
    memcpy(bytes, standard.first, count);
    return count;
}

int tamis_standard_output(void) { return fcntl(standard.output, F_DUPFD_CLOEXEC, STDERR_FILENO + 1); }
const char *tamis_standard_form(void) { return standard.form; }

size_t tamis_standard_look(const void **bytes) {
    const bool back = standard.origin >= 0;
    *bytes = standard.first;
    if (standard.looked) return standard.bytes;
    standard.bytes = 0;
    while (standard.bytes < TAMIS_STANDARD_LOOK) {
        char *const to = standard.first + standard.bytes;
        const size_t room = TAMIS_STANDARD_LOOK - standard.bytes;
        const ssize_t count = back ? pread(STDIN_FILENO, to, room, (off_t)(standard.origin + (int64_t)standard.bytes))
                                   : read(STDIN_FILENO, to, room);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) break;
        standard.bytes += (size_t)count;
    }
    standard.looked = !back;
    return standard.bytes;
}
