/* Text written to a buffer and truncated at its end, and copies of text. */
#ifndef TAMIS_BASE_TEXT_BUFFER_H
#define TAMIS_BASE_TEXT_BUFFER_H

#include "base/private.h"
#include <stddef.h>

typedef struct tamis_text_buffer {
    char *to;
    size_t bytes, used; /* used: length of the untruncated text */
} tamis_text_buffer;

void tamis_text_add(tamis_text_buffer *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Copies a text, or NULL; tamis_release frees the copy. Messages call it `what`. */
TAMIS_PRIVATE_API tamis_status tamis_text_copy(const char *text, const char *what, char **copy);

#endif
