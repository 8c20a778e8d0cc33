/* Numbers in text, independent of the locale. Every function reads from `p` and needs at least 16 readable bytes after
   the text, the first not a digit (tamis_bounded_text ensures that). */
#ifndef TAMIS_IO_NUMBER_H
#define TAMIS_IO_NUMBER_H

#include "base/private.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool tamis_is_digit(char c) { return (unsigned char)(c - '0') < 10; }
static inline bool tamis_is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Parses digits. Returns the first character after them, NULL when there is none; too large a number saturates at
   INT64_MAX, which no bound here reaches. */
static inline const char *tamis_parse_index(const char *p, int64_t *value) {
    if (!tamis_is_digit(*p)) return NULL;
    const char *const start = p;
    uint64_t number = 0;
    do number = number * 10 + (uint64_t)(*p++ - '0');
    while (tamis_is_digit(*p) && p - start < 18);
    while (tamis_is_digit(*p)) {
        const uint64_t digit = (uint64_t)(*p++ - '0');
        number = number > (uint64_t)INT64_MAX / 10 ? (uint64_t)INT64_MAX : number * 10 + digit;
        if (number > (uint64_t)INT64_MAX) number = (uint64_t)INT64_MAX;
    }
    *value = (int64_t)number;
    return p;
}

/* Parses an optional sign and digits; NULL when there is no digit or the number does not fit. */
const char *tamis_parse_integer(const char *p, int64_t *value);

/* Parses the same, or an unsigned 64-bit integer, to a double. */
const char *tamis_parse_integer_real(const char *p, bool is_signed, double *value);

/* Parses a decimal number: sign, digits with an optional point, an optional exponent after e, E, d or D (Fortran writes
   D), or inf, infinity or nan in any case. Correctly rounded; too large is infinity, too small is zero, as with strtod.
   Returns the first character after the number, NULL when there is none. */
TAMIS_PRIVATE_API const char *tamis_parse_real(const char *p, double *value);

/* Does the same for one field of a Fortran format: without a point the last `decimals` digits are the fraction, without
   an exponent the value is divided by 10^scale, and the exponent's letter may be missing ("1.5-103"). */
const char *tamis_parse_fortran_real(const char *p, int decimals, int scale, double *value);

/* Returns true if `value` holds the number in the text from `p` to `end`, apart from rounding of its fraction: its
   integer digits are exact, and it did not become infinite or zero. */
bool tamis_number_holds(const char *p, const char *end, double value);

/* The same with a fast path: below 2^53 integers are exact. */
static inline bool tamis_number_kept(const char *p, const char *end, double value) {
    const double magnitude = value < 0 ? -value : value;
    return (magnitude > 0 && magnitude < 9007199254740992.0) || tamis_number_holds(p, end, value);
}

/* Writes the fewest digits that read back as the same number (single: as the same float), without a final zero byte,
   and returns the length: at most TAMIS_REAL_TEXT - 1. */
enum { TAMIS_REAL_TEXT = 40 };
int tamis_format_real(char *text, double value, bool single);

/* Writes a decimal integer without a final zero and returns its length (at most 20). */
int tamis_format_integer(char *text, int64_t value);

#endif
