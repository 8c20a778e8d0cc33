#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef tamis_fail

static _Thread_local char message[TAMIS_MESSAGE_MOST];

tamis_status tamis_fail(tamis_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return status;
}

void tamis_message_keep(tamis_message *kept) { memcpy(kept->text, message, sizeof message); }

void tamis_message_restore(const tamis_message *kept) { memcpy(message, kept->text, sizeof message); }

void tamis_clear_error(void) { message[0] = 0; }

const char *tamis_last_error(void) { return message; }
