/* "-" as standard input and output. Only the program enables it; for other callers "-" is a file name. */
#ifndef TAMIS_IO_STANDARD_H
#define TAMIS_IO_STANDARD_H

#include "base/private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tamis/tamis.h>

/* Makes "-" mean standard input and output from now on. output: the descriptor of standard output. form: a name whose
   ending selects the format there; not copied. */
TAMIS_PRIVATE_API void tamis_standard_files(int output, const char *form);
bool tamis_is_standard(const char *path);

/* Opens a descriptor of standard input and sets *origin to its current position. A pipe can be opened only once. */
tamis_status tamis_standard_input(int *descriptor, int64_t *origin);

/* Copies the bytes that tamis_standard_look has already taken from a pipe, up to `room`; they precede the descriptor's
   data. */
size_t tamis_standard_head(void *bytes, size_t room);

/* Returns a descriptor of standard output, -1 with errno if there is none. */
int tamis_standard_output(void);
const char *tamis_standard_form(void);

enum { TAMIS_STANDARD_LOOK = 64 << 10 };

/* Peeks at the first TAMIS_STANDARD_LOOK bytes of standard input (or fewer, at its end) and returns their number. A
   later open still reads them. *bytes is valid until the next call. */
TAMIS_PRIVATE_API size_t tamis_standard_look(const void **bytes);

#endif
