/* A locale with a decimal comma, for what must have a point in any. */
#ifndef TAMIS_TEST_DECIMAL_COMMA_H
#define TAMIS_TEST_DECIMAL_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

/* Sets the first that is installed; false if none is. setlocale(LC_ALL, "C") ends it. */
static inline bool set_decimal_comma(void) {
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8", "fr_FR.utf8"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) return true;
    return false;
}

#endif
