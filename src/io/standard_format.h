/* What standard input holds, by its first bytes. */
#ifndef TAMIS_IO_STANDARD_FORMAT_H
#define TAMIS_IO_STANDARD_FORMAT_H

#include "base/private.h"

#include <tamis/matrix.h>

/* TAMIS_FILE_AUTO where they do not tell. What was read is still there for who opens it. */
TAMIS_PRIVATE_API tamis_file_format tamis_standard_format(void);

#endif
