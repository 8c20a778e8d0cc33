/*
 * Calls that are refused, one a line: the field that is spoilt, its value, the status, the words of the message, the
 * call. The field gets back what it had.
 *
 *   SPOILT(o.width, -5, ARGUMENT, "options.width = -5", tamis_plan_create(device, &S, &o, &plan));
 *   REFUSED(ARGUMENT, "S = NULL", tamis_plan_create(device, NULL, &o, &plan));
 *
 * The message has the words: "a...b" is a and, somewhere after it, b; from "^" on they are its beginning, and with "$"
 * they are its end. Nothing is left of the call, and what is watched stays as it is. With _MADE there is a result,
 * which becomes NULL.
 */
#ifndef TAMIS_TESTS_REFUSALS_H
#define TAMIS_TESTS_REFUSALS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <tamis/tamis.h>

/* Refused calls leave this memory as it is, from now on; twelve such at most. NULL: none any more. */
void refusals_watch(const void *memory, size_t bytes);

/* The message has such words. */
bool message_says(const char *message, const char *words);

void refusal_begin(void);
tamis_status refusal_end(const char *file, int line, tamis_status got, tamis_status want, const char *words);

#define REFUSED(want, words, ...)                                                                                      \
    (refusal_begin(), refusal_end(__FILE__, __LINE__, (__VA_ARGS__), TAMIS_ERROR_##want, words))
/* By what changes in an object, which is any statements. */
#define SPOILT_BY(object, change, want, words, ...)                                                                    \
    do {                                                                                                               \
        unsigned char kept_[sizeof(object)];                                                                           \
        memcpy(kept_, &(object), sizeof kept_);                                                                        \
        change;                                                                                                        \
        REFUSED(want, words, __VA_ARGS__);                                                                             \
        memcpy(&(object), kept_, sizeof kept_);                                                                        \
    } while (0)
#define SPOILT(field, value, want, words, ...) SPOILT_BY(field, (field) = (value), want, words, __VA_ARGS__)
#define MADE(result, ...)                                                                                              \
    do {                                                                                                               \
        (result) = (void *)(uintptr_t)64;                                                                              \
        __VA_ARGS__;                                                                                                   \
        assert_null(result);                                                                                           \
    } while (0)
#define REFUSED_MADE(result, ...)   MADE(result, REFUSED(__VA_ARGS__))
#define SPOILT_MADE(result, ...)    MADE(result, SPOILT(__VA_ARGS__))
#define SPOILT_MADE_BY(result, ...) MADE(result, SPOILT_BY(__VA_ARGS__))

#endif
