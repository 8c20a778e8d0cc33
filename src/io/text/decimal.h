/* Conversion of decimal numbers to doubles, and of doubles to the shortest decimal numbers: by the headers of two C++
   libraries (decimal.cc) if the build has them, else by the C library (decimal.c). */
#ifndef TAMIS_IO_DECIMAL_H
#define TAMIS_IO_DECIMAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the double closest to the number in begin .. end: digits with an optional point, an optional exponent after e
   or E. Too large is infinity, too small is zero. `*end` can be read and does not continue the number. */
double tamis_decimal_parse(const char *begin, const char *end);

/* digits * 10^exponent, without a zero as last digit */
typedef struct tamis_shortest {
    uint64_t digits;
    int32_t exponent;
} tamis_shortest;

/* Finds the fewest digits that read back as the value, positive and finite (single: as the same float). */
tamis_shortest tamis_decimal_shortest(double value, int single);

#ifdef __cplusplus
}
#endif

#endif
