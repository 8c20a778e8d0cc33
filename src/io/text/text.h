/* A file in memory, whole or a window of its lines, and error messages about it. */
#ifndef TAMIS_IO_TEXT_H
#define TAMIS_IO_TEXT_H

#include "base/private.h"
#include "base/sizes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tamis/tamis.h>

#include "io/text/number.h"

/* end[0] .. end[TAMIS_TEXT_PADDING - 1] can be read and are zero, so that a scanner needs no bounds checks: a zero
   before `end` is a bad character, one at `end` is the end. */
enum { TAMIS_TEXT_PADDING = 64 };

typedef struct tamis_bounded_text {
    const char *name;
    const char *begin, *end;
    int64_t lines_before; /* of the file, before `begin` */
} tamis_bounded_text;

/* Fails with "NAME:LINE: found 'token at `at`', expected <format>" and TAMIS_ERROR_FORMAT. */
TAMIS_PRIVATE_API tamis_status tamis_text_fail(const tamis_bounded_text *text, const char *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails with "NAME:LINE: <format>" and any status. */
TAMIS_PRIVATE_API tamis_status tamis_text_refuse(tamis_status status, const tamis_bounded_text *text, const char *at,
                                                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Returns the number of the line of `at`, 1 for the first. */
TAMIS_PRIVATE_API int64_t tamis_text_line(const tamis_bounded_text *text, const char *at);

static inline const char *tamis_skip_blanks(const char *p) {
    while (tamis_is_blank(*p)) p++;
    return p;
}

static inline bool tamis_at_line_end(const tamis_bounded_text *text, const char *p) {
    return *p == '\n' || (*p == '\0' && p == text->end);
}

/* Returns the first character after the line that p is in; `end` after the last line. */
TAMIS_PRIVATE_API const char *tamis_next_line(const tamis_bounded_text *text, const char *p);

/* Skips blank lines and lines whose first non-blank character is in `comments`; returns the next line's first non-blank
   character, or `end`. */
const char *tamis_skip_comments(const tamis_bounded_text *text, const char *p, const char *comments);

/* Parses an integer from low to high (nonnegative) at *p, after blanks, and moves *p behind it. what: for messages,
   such as "a row count". */
tamis_status tamis_text_index(const tamis_bounded_text *text, const char **p, int64_t low, int64_t high,
                              const char *what, int64_t *value);

/* Requires only blanks up to the end of the line, and moves *p to the next line. after: for messages, the line's last
   item. */
tamis_status tamis_text_line_end(const tamis_bounded_text *text, const char **p, const char *after);

/* Checks that only white space and comments follow from p on. */
tamis_status tamis_text_file_end(const tamis_bounded_text *text, const char *p, const char *comments,
                                 const char *after);

#endif
