#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

void tamis_text_add(tamis_text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t room = text->used < text->bytes ? text->bytes - text->used : 0;
    const int n = vsnprintf(room ? text->to + text->used : NULL, room, format, arguments);
    va_end(arguments);
    if (n > 0) text->used += (size_t)n;
}
