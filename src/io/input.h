/* A file's content in memory, unpacked where it is .gz, .xz or .zst: all of it, or a window of whole lines that moves
   on. */
#ifndef TAMIS_IO_INPUT_H
#define TAMIS_IO_INPUT_H

#include "base/private.h"

#include "io/progress.h"
#include "io/text.h"
#include "io/unpack.h"

typedef struct tamis_input {
    tamis_bounded_text text;
    bool ended;             /* the file has nothing behind the text */
    bool probing;           /* of the first window only the beginning has been read */
    bool again;             /* the file stays open at its end, for tamis_input_rewind */
    bool cut;               /* no line ends in the text, which is not the whole file */
    char *memory;           /* what tamis_input_close frees */
    int64_t size, capacity; /* bytes of the file in memory, and room */
    int64_t window;         /* the least bytes of a window; 0: all */
    int64_t passed;         /* bytes of the content before the text */
    tamis_unpacker from;
    tamis_progress progress; /* of reading */
} tamis_input;

/* The beginning of a file is looked at before more of it is read: as much as its format may need to be found. */
#ifndef TAMIS_READ_PROBE
#define TAMIS_READ_PROBE (1 << 20) /* bytes; the fuzz build makes it a few */
#endif

/* Reads all of a file, unless its beginning is binary data without a line end. */
TAMIS_PRIVATE_API tamis_status tamis_input_open(const char *path, const tamis_progress *progress, tamis_input *input);
TAMIS_PRIVATE_API void tamis_input_close(tamis_input *input); /* of one that is zero, too */

/* Reads the beginning alone, and refuses what foreign.c knows. tamis_input_fill makes it the first window: lines that
   come to `window` bytes, or one that is longer; 0: all of it. */
TAMIS_PRIVATE_API tamis_status tamis_input_open_window(const char *path, int64_t window, const tamis_progress *progress,
                                                       tamis_input *input);
tamis_status tamis_input_from_memory(const char *name, const void *data, size_t bytes, int64_t window,
                                     const tamis_progress *progress, tamis_input *input);
TAMIS_PRIVATE_API tamis_status tamis_input_fill(tamis_input *input);
/* Reads the next window in the place of this one. */
tamis_status tamis_input_next(tamis_input *input);
/* Does what tamis_input_open_window does for a file that is read several times, and goes back to its first window. */
tamis_status tamis_input_open_again(const char *path, int64_t window, const tamis_progress *progress,
                                    tamis_input *input);
tamis_status tamis_input_rewind(tamis_input *input);
/* Reads all that is left behind the window. */
tamis_status tamis_input_rest(tamis_input *input);
/* Returns how many bytes of content there are at most from `p`, which is in the text, to the end of the file. */
int64_t tamis_input_room(const tamis_input *input, const char *p);
/* Returns how many bytes the content has at least: all of it if the input has ended. */
int64_t tamis_input_bytes(const tamis_input *input);
/* Returns how much of the file has been read, 0 to 1; 1 if that is not known. */
double tamis_input_share(const tamis_input *input);

/* Estimates the entries of the whole file, with a margin, from `needed` entries in the share read so far. told: the
   number that the file states; -1: none. */
int64_t tamis_guess_entries(int64_t needed, double share, int64_t told);

#endif
