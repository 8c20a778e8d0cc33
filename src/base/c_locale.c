#include "base/c_locale.h"

#include <stdatomic.h>

locale_t tamis_c_locale(void) {
    static _Atomic(locale_t) cached;
    locale_t locale = cached;
    if (!locale) {
        locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a static object of the C library, never freed */
        cached = locale;
    }
    return locale;
}

locale_t tamis_c_locale_enter(void) {
    const locale_t locale = tamis_c_locale();
    return locale ? uselocale(locale) : (locale_t)0;
}

void tamis_c_locale_leave(locale_t before) {
    if (before) uselocale(before);
}
