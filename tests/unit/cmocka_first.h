/* cmocka and what it needs before it. */
#ifndef TAMIS_TESTS_CMOCKA_FIRST_H
#define TAMIS_TESTS_CMOCKA_FIRST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
