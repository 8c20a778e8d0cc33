/*
 * A file that is read block by block from beginning to end, any number of times, and decompressed on the way: bounded
 * memory for any size. For files that are read whole see io/input.h.
 */
#ifndef TAMIS_ML_STREAM_H
#define TAMIS_ML_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <tamis/tamis.h>

typedef struct ml_stream ml_stream;

enum { ML_STREAM_END = -1 };

/* `path` is copied. TAMIS_ERROR_UNSUPPORTED for a packer that this build does not include. */
tamis_status ml_stream_open(const char *path, ml_stream **stream);
void ml_stream_close(ml_stream *stream); /* NULL is allowed */

/* Back to the beginning. */
tamis_status ml_stream_rewind(ml_stream *stream);

/* The next character without taking it, ML_STREAM_END at the end of the file or on an error. */
int ml_stream_peek(ml_stream *stream);
/* Takes it. */
int ml_stream_take(ml_stream *stream);

/* The error that made the stream end, TAMIS_OK where the file ended; its message is set. */
tamis_status ml_stream_status(const ml_stream *stream);

/* "NAME:LINE: found 'what comes next', expected <format>"; or the error that made the stream end. */
tamis_status ml_stream_fail(ml_stream *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes blanks; then the next character, not taken, is no blank. */
int ml_stream_skip_blanks(ml_stream *stream);

/* Takes blank lines; then a character that is no white space is next, or the end. */
int ml_stream_skip_lines(ml_stream *stream);

/* Takes blanks and an integer from low to high. `what`: "a word number". */
tamis_status ml_stream_index(ml_stream *stream, int64_t low, int64_t high, const char *what, int64_t *value);

/* Takes a decimal number, at most 255 characters of it. */
tamis_status ml_stream_real(ml_stream *stream, const char *what, double *value);

/* Takes blanks and the end of the line (or of the file). `after`: what the line already had. */
tamis_status ml_stream_line_end(ml_stream *stream, const char *after);

#endif
