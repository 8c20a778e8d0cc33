/* Numbers in our files have a point, whatever the locale of the caller's program says. */
#ifndef TAMIS_BASE_C_LOCALE_H
#define TAMIS_BASE_C_LOCALE_H

#include <locale.h>

/* The C locale; 0 if the system has no room for it. Nobody frees it. */
locale_t tamis_c_locale(void);

/* Puts the C locale into force for this thread. Returns the one before, for tamis_c_locale_leave. */
locale_t tamis_c_locale_enter(void);
void tamis_c_locale_leave(locale_t before);

#endif
