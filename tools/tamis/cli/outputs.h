/* The files on a command line: checks of all commands' outputs, before and after the work. */
#ifndef TOOL_OUTPUTS_H
#define TOOL_OUTPUTS_H

#include "cli/command.h"

/* Refuses an output that is also an input or another output, that exists with --no-clobber, or that cannot be written.
   Returns 0, or an exit code after a message. */
int tool_outputs_check(const tool_command *command, const tool_option *options, const void *settings, int count,
                       char **operands);

/* Checks that a file of at least `bytes` bytes can be written to the path. Returns 0, or an exit code after a
   message. */
int tool_output_check(const char *path, double bytes);

/* Checks that the path has room for `entries` entries. An entry takes `size` bytes in .npy, at least `characters` bytes
   in other files, and a thousandth of that in compressed ones. */
int tool_output_room(const char *path, double entries, size_t size, int characters);
enum { TOOL_ENTRY_CHARACTERS = 4, TOOL_ELEMENT_CHARACTERS = 2 }; /* "1 1\n" in a sparse .mtx, "1\n" in a dense one */

/* Prints which files the command replaced. */
void tool_outputs_replaced(void);

/* Refuses a name without one of the endings, such as ".mtx, .mtx.gz or .npz". called: its name in messages. */
int tool_output_ending(const char *called, const char *path, const char *endings);

/* A file written as a stream. After a failure the old file is unchanged, as for files that the library writes. */
typedef struct tool_output_file {
    FILE *out;
    struct tamis_output *output;
} tool_output_file;

/* Return 0, or an exit code after a message. Closing with keep = false discards the output. */
int tool_output_open(const char *path, tool_output_file *file);
int tool_output_close(tool_output_file *file, bool keep);

#endif
