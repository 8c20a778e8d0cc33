/* Decimal numbers by the C library, for builds without the headers of decimal.cc: the same results, more slowly. */
#define _GNU_SOURCE
#include "io/text/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include "base/c_locale.h"

double tamis_decimal_parse(const char *begin, const char *end) {
    (void)end; /* strtod stops there by itself */
    const locale_t locale = tamis_c_locale();
    return locale ? strtod_l(begin, NULL, locale) : strtod(begin, NULL);
}

tamis_shortest tamis_decimal_shortest(double value, int single) {
    const int few = single ? 6 : 15,
              enough = single ? 9 : 17; /* every number with up to `few` digits survives the round trip */
    const int normal = value >= (single ? 1.17549435e-38 : 2.2250738585072014e-308);
    char text[40]; /* d.ddde+xx */
    const locale_t before = tamis_c_locale_enter();
    int digits = normal ? few : 1;
    for (; digits <= enough; digits++) {
        const int length = snprintf(text, sizeof text, "%.*e", digits - 1, value);
        const double back = tamis_decimal_parse(text, text + length);
        if (single ? (float)back == (float)value : back == value) break;
    }
    tamis_c_locale_leave(before);
    tamis_shortest of = {0};
    const char *p = text;
    for (; *p != 'e'; p++)
        if (*p != '.') of.digits = of.digits * 10 + (uint64_t)(*p - '0');
    of.exponent = (int32_t)strtol(p + 1, NULL, 10) - digits + 1;
    for (; of.digits % 10 == 0; of.exponent++) of.digits /= 10;
    return of;
}
