/* Decimal numbers by fast_float (Lemire, Number Parsing at a Gigabyte per Second, 2021) and Dragonbox (Jeon, Dragonbox:
   A New Floating-Point Binary-to-Decimal Conversion Algorithm, 2022). Both are header-only and compiled without
   exceptions, so that a C program with libtamis.a needs no C++ run-time library. */
#include "io/text/decimal.h"

/* Avoids clashes with other versions of both in a program. */
#define fast_float tamis_fast_float
#define jkj        tamis_jkj
#include <dragonbox/dragonbox.h>
#include <fast_float/fast_float.h>

double tamis_decimal_parse(const char *begin, const char *end) {
    double value = 0;
    fast_float::from_chars(begin, end, value);
    return value;
}

tamis_shortest tamis_decimal_shortest(double value, int single) {
    if (single) {
        const auto found = jkj::dragonbox::to_decimal(static_cast<float>(value));
        return {found.significand, found.exponent};
    }
    const auto found = jkj::dragonbox::to_decimal(value);
    return {found.significand, found.exponent};
}
