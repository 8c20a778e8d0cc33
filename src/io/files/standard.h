/* "-" as standard input and output: for the program, which asks for it. To others it is the name of a file. */
#ifndef TAMIS_IO_STANDARD_H
#define TAMIS_IO_STANDARD_H

#include "base/private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tamis/tamis.h>

/* Makes "-" standard input and output from now on. `output`: the descriptor of standard output; `form`: a name whose
   ending says how a matrix is written there, which stays the caller's. */
TAMIS_PRIVATE_API void tamis_standard_files(int output, const char *form);
bool tamis_is_standard(const char *path);

/* Opens a descriptor of standard input, and says where it begins there. A pipe can be opened once. */
tamis_status tamis_standard_input(int *descriptor, int64_t *origin);

/* Copies what a look has taken from a pipe already, up to `room` bytes: they come before what the descriptor gives. */
size_t tamis_standard_head(void *bytes, size_t room);

/* Returns a descriptor of standard output, -1 with errno if there is none. */
int tamis_standard_output(void);
const char *tamis_standard_form(void);

enum { TAMIS_STANDARD_LOOK = 64 << 10 };

/* Looks at the first bytes of standard input, so many or all; who opens it still gets them. They are valid until the
   next call. */
TAMIS_PRIVATE_API size_t tamis_standard_look(const void **bytes);

#endif
