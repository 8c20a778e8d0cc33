#include "base/text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/memory.h"
#include "base/status.h"

void tamis_text_add(tamis_text_buffer *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const size_t room = text->used < text->bytes ? text->bytes - text->used : 0;
    const locale_t before =
        tamis_c_locale_enter(); /* programs parse these texts, so they must not depend on the locale */
    const int n = vsnprintf(room ? text->to + text->used : NULL, room, format, arguments);
    tamis_c_locale_leave(before);
    va_end(arguments);
    if (n > 0) text->used += (size_t)n;
}

tamis_status tamis_text_copy(const char *text, const char *what, char **copy) {
    *copy = NULL;
    if (!text) return TAMIS_OK;
    const size_t bytes = strlen(text) + 1;
    TRY(tamis_allocate((int64_t)bytes, 1, what, (void **)copy));
    memcpy(*copy, text, bytes);
    return TAMIS_OK;
}
