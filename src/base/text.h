/* Text of any length that is written into what room there is. */
#ifndef TAMIS_BASE_TEXT_H
#define TAMIS_BASE_TEXT_H

#include <stddef.h>

typedef struct tamis_text {
    char *to;
    size_t bytes, used; /* used counts what would have been written */
} tamis_text;

void tamis_text_add(tamis_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
