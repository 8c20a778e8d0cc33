/* Error messages of failed system calls. */
#ifndef TAMIS_IO_FILE_ERROR_H
#define TAMIS_IO_FILE_ERROR_H

#include <tamis/types.h>

/* Fails with "PATH: cannot DO: what errno says". */
tamis_status tamis_file_error(const char *path, const char *doing);

#endif
