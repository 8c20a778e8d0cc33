/* What standard input holds, by its first bytes. */
#ifndef TAMIS_IO_STANDARD_FORMAT_H
#define TAMIS_IO_STANDARD_FORMAT_H

#include "base/private.h"

#include <tamis/matrix.h>

/* Tells the format of standard input by its first bytes, TAMIS_FILE_AUTO if they do not tell. Who opens it still gets
   them. */
TAMIS_PRIVATE_API tamis_file_format tamis_standard_format(void);

#endif
