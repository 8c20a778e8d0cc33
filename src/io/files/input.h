/* A file's content in memory, decompressed if it is .gz, .xz or .zst: all of it, or a sliding window of whole lines. */
#ifndef TAMIS_IO_INPUT_H
#define TAMIS_IO_INPUT_H

#include "base/private.h"

#include "io/pack/unpack.h"
#include "io/progress.h"
#include "io/text/text.h"

typedef struct tamis_input {
    tamis_bounded_text text;
    bool ended;             /* the text reaches the end of the file */
    bool probing;           /* only the beginning of the first window has been read */
    bool again;             /* the file stays open at its end, for tamis_input_rewind */
    bool cut;               /* the text has no line end, and is not the whole file */
    char *memory;           /* what tamis_input_close frees */
    int64_t size, capacity; /* bytes of the file in memory, and room */
    int64_t window;         /* minimum bytes of a window; 0: all */
    int64_t passed;         /* bytes of the content before the text */
    tamis_unpacker from;
    tamis_progress progress; /* of reading */
} tamis_input;

/* The probe: the beginning of a file, read first, from which its format is detected. */
#ifndef TAMIS_READ_PROBE
#define TAMIS_READ_PROBE (1 << 20) /* bytes; the fuzz build makes it a few */
#endif

/* Reads all of a file, unless its beginning is binary data without a line end. */
TAMIS_PRIVATE_API tamis_status tamis_input_open(const char *path, const tamis_progress *progress, tamis_input *input);
TAMIS_PRIVATE_API void tamis_input_close(tamis_input *input); /* of one that is zero, too */

/* Reads the probe, and refuses foreign formats (foreign.c). tamis_input_fill extends it to the first window: lines of
   at least `window` bytes in all; 0: the whole file. */
TAMIS_PRIVATE_API tamis_status tamis_input_open_window(const char *path, int64_t window, const tamis_progress *progress,
                                                       tamis_input *input);
tamis_status tamis_input_from_memory(const char *name, const void *data, size_t bytes, int64_t window,
                                     const tamis_progress *progress, tamis_input *input);
TAMIS_PRIVATE_API tamis_status tamis_input_fill(tamis_input *input);
/* Replaces the window by the next one. */
tamis_status tamis_input_next(tamis_input *input);
/* tamis_input_open_again: as tamis_input_open_window, for a file that is read several times. tamis_input_rewind: goes
   back to its first window. */
tamis_status tamis_input_open_again(const char *path, int64_t window, const tamis_progress *progress,
                                    tamis_input *input);
tamis_status tamis_input_rewind(tamis_input *input);
/* Extends the window to the rest of the file. */
tamis_status tamis_input_rest(tamis_input *input);
/* Returns an upper bound of the bytes of content from `p`, which is in the text, to the end of the file. */
int64_t tamis_input_room(const tamis_input *input, const char *p);
/* Returns a lower bound of the bytes of content; exact if the input has ended. */
int64_t tamis_input_bytes(const tamis_input *input);
/* Returns the share of the file that has been read, 0 to 1; 1 if it is not known. */
double tamis_input_share(const tamis_input *input);

/* Estimates the entries of the whole file, with a margin, from `needed` entries in the share read so far. told: the
   number that the file states; -1: none. */
int64_t tamis_guess_entries(int64_t needed, double share, int64_t told);

#endif
