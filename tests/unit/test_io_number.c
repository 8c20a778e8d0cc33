/* Numbers in text: exactly what strtod reads, whatever the locale; and written numbers read back as the same. */

#include "base/random.h"
#include "io/text/number.h"
#include "support/decimal_comma.h"
#include "test_io_support.h"

enum { CASES = 60000 };

static void compare(const char *text) {
    char padded[1024] = {0};
    snprintf(padded, sizeof padded - 32, "%s", text);
    double value = -1, expected;
    char *end;
    expected = strtod(padded, &end);
    const char *const after = tamis_parse_real(padded, &value);
    assert_ptr_equal(after, end);
    if (memcmp(&value, &expected, sizeof value) != 0 && !(isnan(value) && isnan(expected)))
        fail_msg("%s: %.17g, expected %.17g", padded, value, expected);
}

TEST(reads_as_strtod) {
    char cases[] =
        "0 -0 0.0 00012 .5 5. -.5e1 1e400 -1e-400 1e-320 4.9e-324 2.4703282292062327e-324 "
        "2.4703282292062328e-324 2.2250738585072011e-308 2.2250738585072014e-308 1.7976931348623157e308 "
        "1.7976931348623158e308 1.7976931348623159e308 9007199254740993 9007199254740992.9999999 "
        "123456789012345678901234567890 0.000000000000000000000000000000123456789 1e 1e+ 1e-x 7.e2 inf -Infinity "
        "+nan infinit 1e99999999999999999999 1E-5 +3 8.98846567431158e307 1234567890123456789 "
        "12345678901234567890 9223372036854775808.5";
    for (const char *text = strtok(cases, " "); text; text = strtok(NULL, " ")) compare(text);
    tamis_random random = tamis_random_start(1, 1);
    for (int i = 0; i < CASES; i++) {
        char text[512];
        const uint64_t bits = tamis_random_next(&random), more = tamis_random_next(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        switch (i % 6) {
        case 0: snprintf(text, sizeof text, "%.17g", value); break;
        case 1: snprintf(text, sizeof text, "%.*e", (int)(more % 20), (double)bits / 1e19); break;
        case 2:
            snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(bits >> (more & 63)),
                     (unsigned long long)more, (int)(bits % 700) - 350);
            break;
        case 3: /* many digits, many zeros */
            snprintf(text, sizeof text, "0.000%llu%llu%llu", (unsigned long long)bits, (unsigned long long)more,
                     (unsigned long long)bits);
            break;
        case 4:
            snprintf(text, sizeof text, "%.*g", (int)(more % 18) + 1,
                     ldexp((double)(bits >> 11), (int)(more % 90) - 60));
            break;
        default: { /* halfway between two doubles, all digits written */
            const double low = ldexp((double)(bits >> 11 | UINT64_C(1) << 52), (int)(more % 100) - 80);
            snprintf(text, sizeof text, "%.400Lg", ((long double)low + (long double)nextafter(low, INFINITY)) / 2);
        }
        }
        if (!isnan(value) || i % 6 != 0) compare(text);
    }
}

TEST(many_digits) {
    char text[1000];
    memset(text, '7', 900);
    text[900] = '\0';
    compare(text);
    text[1] = '.';
    compare(text);
    /* a point between two doubles, then a digit far away that decides */
    snprintf(text, sizeof text, "9007199254740993%0*d", 850, 0);
    compare(text);
    text[500] = '.';
    compare(text);
    snprintf(text, sizeof text, "9007199254740993.%0*d1", 850, 0);
    compare(text);
}

TEST(is_no_number) {
    static const char *const cases[] = {"", ".", "-", "+", "e5", "abc", "-.e5", "na", "in"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char padded[64] = {0};
        double value;
        int64_t integer;
        snprintf(padded, sizeof padded, "%s", cases[i]);
        assert_null(tamis_parse_real(padded, &value));
        assert_null(tamis_parse_integer(padded, &integer));
        assert_null(tamis_parse_index(padded, &integer));
    }
}

TEST(reads_integers) {
    static const struct {
        const char *text;
        int64_t index, integer;
        bool is_integer;
    } cases[] = {
        {"0", 0, 0, true},
        {"123456789", 123456789, 123456789, true},
        {"999999999999999999", 999999999999999999, 999999999999999999, true},
        {"9223372036854775807", INT64_MAX, INT64_MAX, true},
        {"9223372036854775808", INT64_MAX, 0, false},
        {"18446744073709551616", INT64_MAX, 0, false},
        {"99999999999999999999999999999999999999", INT64_MAX, 0, false},
        {"0000000000000000000000000000000000000042", 42, 42, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char padded[96] = {0};
        snprintf(padded, sizeof padded, "%s ", cases[i].text);
        int64_t value = -1;
        assert_ptr_equal(tamis_parse_index(padded, &value), padded + strlen(cases[i].text));
        assert_int_equal(value, cases[i].index);
        const char *const after = tamis_parse_integer(padded, &value);
        assert_int_equal(after != NULL, cases[i].is_integer);
        if (after) assert_int_equal(value, cases[i].integer);
    }
    int64_t value = 0;
    assert_non_null(tamis_parse_integer("-9223372036854775808                 ", &value));
    assert_true(value == INT64_MIN);
    assert_null(tamis_parse_integer("-9223372036854775809                 ", &value));
}

TEST(writes_what_reads_back) {
    tamis_random random = tamis_random_start(2, 1);
    for (int i = 0; i < CASES / 4; i++) {
        const uint64_t bits = tamis_random_next(&random);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value)) continue;
        char text[TAMIS_REAL_TEXT + 32] = {0};
        assert_true(tamis_format_real(text, value, false) < TAMIS_REAL_TEXT);
        assert_non_null(tamis_parse_real(text, &back));
        assert_memory_equal(&back, &value, sizeof back);
        memset(text, 0, sizeof text);
        const float single = (float)value;
        tamis_format_real(text, single, true);
        tamis_parse_real(text, &back);
        assert_true((float)back == single);
    }
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},          {-0.0, "-0"},        {1e15, "1e+15"},
                 {-42, "-42"},      {0.1, "0.1"},        {1e100, "1e+100"},
                 {INFINITY, "inf"}, {-INFINITY, "-inf"}, {999999999999999, "999999999999999"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TAMIS_REAL_TEXT + 1] = {0};
        assert_int_equal(tamis_format_real(text, cases[i].value, false), strlen(cases[i].text));
        assert_string_equal(text, cases[i].text);
    }
    char text[TAMIS_REAL_TEXT + 1] = {0};
    assert_int_equal(tamis_format_real(text, NAN, false), 3);
    assert_string_equal(text, "nan");
}

/* Of normal numbers none with one digit fewer is the same number; of small ones and at powers of two there are known
 * cases. */
TEST(writes_the_fewest_digits) {
    static const struct {
        double value;
        const char *text, *single;
    } cases[] = {{0.1, "0.1", "0.1"},
                 {-1.5e-7, "-1.5e-07", "-1.5e-07"},
                 {0.00012345, "0.00012345", "0.00012345"},
                 {5e-324, "5e-324", "0"},
                 {1.401298464324817e-45, "1.401298464324817e-45", "1e-45"},
                 {1.0 / 3, "0.3333333333333333", "0.33333334"},
                 {1.7976931348623157e308, "1.7976931348623157e+308", "inf"},
                 {2.2250738585072014e-308, "2.2250738585072014e-308", "0"},
                 {1234567890123456.75, "1234567890123456.8", "1.234568e+15"},
                 {9007199254740993e3, "9.007199254740993e+18", "9.007199e+18"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[TAMIS_REAL_TEXT] = {0}, single[TAMIS_REAL_TEXT] = {0};
        tamis_format_real(text, cases[i].value, false);
        tamis_format_real(single, (float)cases[i].value, true);
        assert_string_equal(text, cases[i].text);
        assert_string_equal(single, cases[i].single);
    }
    tamis_random random = tamis_random_start(3, 1);
    for (int i = 0; i < CASES / 4; i++) {
        const double value = tamis_random_uniform(&random) * 1e-3;
        char text[TAMIS_REAL_TEXT + 16] = {0}, fewer[64];
        tamis_format_real(text, value, false);
        int digits = 0;
        for (const char *p = text + strspn(text, "0."); *p && *p != 'e'; p++) digits += *p != '.';
        assert_in_range(digits, 1, 17);
        if (digits == 1) continue;
        snprintf(fewer, sizeof fewer, "%.*e", digits - 2, value);
        assert_true(strtod(fewer, NULL) != value);
    }
}

/* A locale with a decimal comma, where one is installed: numbers keep their point. */
TEST(ignores_the_locale) {
    if (!set_decimal_comma()) skip_because("no locale with a decimal comma is installed");
    char text[64] = {0};
    double value = 0;
    tamis_format_real(text, 0.25, false);
    tamis_parse_real("2.4703282292062328e-324                 ", &value); /* the slow path */
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "0.25");
    assert_true(value == 4.9e-324);
}
