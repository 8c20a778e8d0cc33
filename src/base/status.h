/* The message of the calling thread's last error, and the library's macros for early returns. */
#ifndef TAMIS_BASE_STATUS_H
#define TAMIS_BASE_STATUS_H

#include "base/private.h"
#include <tamis/types.h>

enum { TAMIS_MESSAGE_MOST = 512 }; /* bytes of a message, with the 0 at its end */

/* Sets the thread's message and returns `status`: return tamis_fail(TAMIS_ERROR_ARGUMENT, "inner = %lld ...", ...). */
TAMIS_PRIVATE_API tamis_status tamis_fail(tamis_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* Tells the static analyser, which does not see other files, that tamis_fail returns its status. */
void tamis_fail_seen(const char *format, ...);
#define tamis_fail(status, ...) (tamis_fail_seen(__VA_ARGS__), (status))
#endif

/* Saves the thread's message during calls that may set another one. */
typedef struct tamis_message {
    char text[TAMIS_MESSAGE_MOST];
} tamis_message;
void tamis_message_keep(tamis_message *kept);
void tamis_message_restore(const tamis_message *kept);

/* Clears the thread's message; every public function begins with it. */
TAMIS_PRIVATE_API void tamis_clear_error(void);

/* Propagates an error whose message is already set. Functions that own something open a scope (scope.h), or use
   TRY_GOTO with one cleanup label and a local variable named `status`. */
#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        const tamis_status try_status_ = (expression);                                                                 \
        if (try_status_ != TAMIS_OK) return try_status_;                                                               \
    } while (0)

#define TRY_GOTO(label, expression)                                                                                    \
    do {                                                                                                               \
        status = (expression);                                                                                         \
        if (status != TAMIS_OK) goto label;                                                                            \
    } while (0)

#endif
