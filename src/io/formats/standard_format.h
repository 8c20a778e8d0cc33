/* Format of standard input, detected by its first bytes. */
#ifndef TAMIS_IO_STANDARD_FORMAT_H
#define TAMIS_IO_STANDARD_FORMAT_H

#include "base/private.h"

#include <tamis/matrix.h>

/* Detects the format of standard input without consuming bytes; TAMIS_FILE_AUTO if it is unknown. */
TAMIS_PRIVATE_API tamis_file_format tamis_standard_format(void);

#endif
