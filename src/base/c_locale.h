/* Numbers in our files have a decimal point, whatever the caller's locale. */
#ifndef TAMIS_BASE_C_LOCALE_H
#define TAMIS_BASE_C_LOCALE_H

#include <locale.h>

/* Returns the C locale, never to be freed; 0 if the system has no memory for it. */
locale_t tamis_c_locale(void);

/* Switches this thread to the C locale. Returns the previous locale, for tamis_c_locale_leave. */
locale_t tamis_c_locale_enter(void);
void tamis_c_locale_leave(locale_t before);

#endif
