/* Converts text to numbers and back: eight digits at a time; short decimals by one multiplication or division, others
   by decimal.h. */
#include "io/text/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/text/decimal.h"

/* A parsed decimal number: (-1)^negative digits 10^exponent, with at most 19 digits. */
typedef struct decimal {
    uint64_t digits;
    int64_t exponent;
    bool negative;
    bool cut; /* nonzero digits beyond the 19th were dropped */
} decimal;

enum { MOST_DIGITS = 19, EXPONENT_LIMIT = 100000 };

const char *tamis_parse_integer(const char *p, int64_t *value) {
    const bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (!tamis_is_digit(*p)) return NULL;
    uint64_t number = 0;
    const uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    for (; tamis_is_digit(*p); p++) {
        const uint64_t digit = (uint64_t)(*p - '0');
        if (number > (most - digit) / 10) return NULL;
        number = number * 10 + digit;
    }
    *value = negative ? (int64_t)(0 - number) : (int64_t)number;
    return p;
}

const char *tamis_parse_integer_real(const char *p, bool is_signed, double *value) {
    int64_t integer;
    if (!is_signed && !tamis_is_digit(*p)) return NULL;
    const char *after = tamis_parse_integer(p, &integer);
    if (after) {
        *value = (double)integer;
        return after;
    }
    if (is_signed || !tamis_is_digit(*p)) return NULL;
    uint64_t number = 0;
    for (after = p; tamis_is_digit(*after); after++) {
        const uint64_t digit = (uint64_t)(*after - '0');
        if (number > (UINT64_MAX - digit) / 10) return NULL;
        number = number * 10 + digit;
    }
    *value = (double)number;
    return after;
}

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
/* Returns true if the next eight characters are digits, with their number in *value (SWAR). */
static inline bool eight_digits(const char *p, uint64_t *value) {
    uint64_t bits;
    memcpy(&bits, p, 8);
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    if (((bits & high) | (((bits + UINT64_C(0x0606060606060606)) & high) >> 4)) != UINT64_C(0x3333333333333333))
        return false;
    bits = (bits & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    bits = (bits & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    *value = (bits & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32;
    return true;
}
#else
static inline bool eight_digits(const char *p, uint64_t *value) {
    (void)p;
    (void)value;
    return false;
}
#endif

/* Appends a run of digits. The 19 most significant digits are kept; *dropped counts the others. */
static inline const char *take_digits(const char *p, decimal *number, int *kept, int64_t *dropped) {
    if (number->digits == 0)
        while (*p == '0') p++;
    uint64_t eight;
    while (*kept <= MOST_DIGITS - 8 && eight_digits(p, &eight)) {
        number->digits = number->digits * 100000000 + eight;
        *kept += 8;
        p += 8;
    }
    for (; tamis_is_digit(*p); p++) {
        if (*kept < MOST_DIGITS) {
            number->digits = number->digits * 10 + (uint64_t)(*p - '0');
            *kept += 1;
        } else {
            *dropped += 1;
            number->cut |= *p != '0';
        }
    }
    return p;
}

static inline const char *take_exponent(const char *p, bool letter_needed, decimal *number, bool *found) {
    const char *q = p;
    const bool letter = *q == 'e' || *q == 'E' || *q == 'd' || *q == 'D';
    if (letter)
        q++;
    else if (letter_needed || (*q != '+' && *q != '-'))
        return p;
    const bool negative = *q == '-';
    if (*q == '-' || *q == '+') q++;
    if (!tamis_is_digit(*q)) return p;
    int64_t exponent = 0;
    for (; tamis_is_digit(*q); q++)
        if (exponent < EXPONENT_LIMIT) exponent = exponent * 10 + (*q - '0');
    number->exponent += negative ? -exponent : exponent;
    *found = true;
    return q;
}

/* Computes digits * 10^exponent if both are exact doubles, so that one operation rounds correctly (Clinger, How to read
   floating point numbers accurately, 1990): short numbers, which most files have. */
static bool round_short(const decimal *number, int64_t exponent, double *value) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (number->digits >> 53 || number->cut || exponent < -22 || exponent > 22) return false;
    const double digits = (double)number->digits;
    *value = exponent < 0 ? digits / powers[-exponent] : digits * powers[exponent];
    return true;
}

/* Reads all digits of p .. end as one integer, times 10^exponent. Digits beyond the 800th only matter as "not zero": a
   point between two doubles has at most 768. */
static double round_scaled(const char *p, const char *end, int64_t exponent) {
    enum { KEPT = 800 };
    char text[KEPT + 40];
    int count = 0;
    bool rest = false;
    for (; p < end; p++) {
        if (!tamis_is_digit(*p) || (count == 0 && *p == '0')) continue;
        if (count < KEPT) {
            text[count++] = *p;
        } else {
            exponent++;
            rest |= *p != '0';
        }
    }
    if (count == 0) return 0;
    if (rest) {
        text[count++] = '1';
        exponent--;
    }
    text[count++] = 'e';
    count += tamis_format_integer(text + count, exponent);
    text[count] = '\0';
    return tamis_decimal_parse(text, text + count);
}

static bool matches(const char *p, const char *lower) {
    for (; *lower; p++, lower++)
        if ((*p | 0x20) != *lower) return false;
    return true;
}

static const char *parse_special(const char *p, bool negative, double *value) {
    if (matches(p, "nan")) {
        *value = negative ? -(double)NAN : (double)NAN;
        return p + 3;
    }
    if (!matches(p, "inf")) return NULL;
    *value = negative ? -HUGE_VAL : HUGE_VAL;
    return p + (matches(p + 3, "inity") ? 8 : 3);
}

static inline const char *parse_decimal(const char *p, int decimals, int scale, bool letter_needed, double *value) {
    decimal number = {0};
    number.negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    const char *const start = p;
    int kept = 0;
    int64_t dropped = 0;
    p = take_digits(p, &number, &kept, &dropped);
    const bool point = *p == '.';
    if (p == start && !point) return parse_special(p, number.negative, value);
    int64_t fraction = decimals;
    if (point) {
        const char *const after = p + 1;
        p = take_digits(after, &number, &kept, &dropped);
        fraction = p - after;
        if (fraction == 0 && after - start == 1) return NULL; /* a point alone */
    }
    const char *const digits_end = p;
    bool has_exponent = false;
    p = take_exponent(p, letter_needed, &number, &has_exponent);
    number.exponent -= fraction;
    if (!has_exponent) number.exponent -= scale;
    double magnitude;
    if (!round_short(&number, number.exponent + dropped, &magnitude)) {
        const bool fortran = !letter_needed || (has_exponent && (*digits_end | 0x20) == 'd');
        magnitude = fortran ? round_scaled(start, digits_end, number.exponent) : tamis_decimal_parse(start, p);
    }
    *value = number.negative ? -magnitude : magnitude;
    return p;
}

const char *tamis_parse_real(const char *p, double *value) { return parse_decimal(p, 0, 0, true, value); }

const char *tamis_parse_fortran_real(const char *p, int decimals, int scale, double *value) {
    return parse_decimal(p, decimals, scale, false, value);
}

/* Counts digits that have at most a point and zeros behind them; 0 for anything else. */
static int64_t integer_digits(const char *p, const char *end) {
    const char *q = p;
    while (q < end && tamis_is_digit(*q)) q++;
    const int64_t count = q - p;
    if (q < end && *q == '.') q++;
    while (q < end && *q == '0') q++;
    return q == end ? count : 0;
}

bool tamis_number_holds(const char *p, const char *end, double value) {
    enum { MOST = 320 };
    char text[MOST];
    if (*p == '-' || *p == '+') p++;
    if (!tamis_is_digit(*p) && *p != '.') return true; /* inf or nan by its name */
    if (isinf(value)) return false;
    if (value == 0) {
        while (p < end && (*p == '0' || *p == '.')) p++;
        return p == end || !tamis_is_digit(*p);
    }
    while (p < end && *p == '0') p++;
    const int64_t digits = integer_digits(p, end);
    if (digits == 0) return true;
    const int length = snprintf(text, sizeof text, "%.0f", fabs(value));
    return length == digits && memcmp(text, p, (size_t)digits) == 0;
}

/* The two digits of each number below 100. */
static const char PAIRS[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849"
    "5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/* Writes the digits of the number, which are `count`. */
static void put_digits(char *text, uint64_t number, int count) {
    while (count >= 2) {
        count -= 2;
        memcpy(text + count, PAIRS + 2 * (number % 100), 2);
        number /= 100;
    }
    if (count > 0) *text = (char)('0' + number);
}

static int count_digits(uint64_t number) {
    int count = 1;
    for (uint64_t bound = 10; count < 20 && number >= bound; bound *= 10) count++;
    return count;
}

int tamis_format_integer(char *text, int64_t value) {
    const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    const int count = count_digits(magnitude);
    if (value < 0) *text++ = '-';
    put_digits(text, magnitude, count);
    return count + (value < 0);
}

/* Writes the digits in fixed notation if that needs at most four extra zeros, else with an exponent of at least two
   digits, as printf does. */
static int put_shortest(char *text, tamis_shortest of) {
    enum { MOST_ZEROS = 4 };
    char digits[20];
    const int count = count_digits(of.digits), first = of.exponent + count - 1; /* the first digit's exponent */
    const bool fixed = first >= -MOST_ZEROS && first < count;
    const int before = !fixed ? 1 : first < 0 ? 0 : first + 1; /* digits before the point */
    put_digits(digits, of.digits, count);
    char *p = text;
    memcpy(p, digits, (size_t)before);
    p += before;
    if (before == 0) *p++ = '0';
    if (count > before) *p++ = '.';
    for (int i = first + 1; fixed && i < 0; i++) *p++ = '0';
    memcpy(p, digits + before, (size_t)(count - before));
    p += count - before;
    if (fixed) return (int)(p - text);
    const int exponent = first < 0 ? -first : first;
    *p++ = 'e';
    *p++ = first < 0 ? '-' : '+';
    if (exponent < 10) *p++ = '0';
    p += tamis_format_integer(p, exponent);
    return (int)(p - text);
}

int tamis_format_real(char *text, double value, bool single) {
    if (value == floor(value) && fabs(value) < 1e15 && !(value == 0 && signbit(value)))
        return tamis_format_integer(text, (int64_t)value);
    if (isnan(value)) {
        memcpy(text, "nan", 3);
        return 3;
    }
    const bool negative = signbit(value);
    if (negative) *text++ = '-';
    if (isinf(value)) {
        memcpy(text, "inf", 3);
        return 3 + negative;
    }
    if (value != 0) return put_shortest(text, tamis_decimal_shortest(fabs(value), single)) + negative;
    *text = '0';
    return 1 + negative;
}
