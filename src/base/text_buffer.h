/* Text that is written into what room there is, and copies of text. */
#ifndef TAMIS_BASE_TEXT_BUFFER_H
#define TAMIS_BASE_TEXT_BUFFER_H

#include "base/private.h"
#include <stddef.h>

typedef struct tamis_text_buffer {
    char *to;
    size_t bytes, used; /* used counts what would have been written */
} tamis_text_buffer;

void tamis_text_add(tamis_text_buffer *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A copy for tamis_release, called `what` in messages; NULL of NULL. */
TAMIS_PRIVATE_API tamis_status tamis_text_copy(const char *text, const char *what, char **copy);

#endif
