/* The common form of messages. */
#include "io/files/file_error.h"

#include <errno.h>
#include <string.h>

#include "base/status.h"

tamis_status tamis_file_error(const char *path, const char *doing) {
    return tamis_fail(TAMIS_ERROR_FILE, "%s: cannot %s: %s", path, doing, strerror(errno));
}
