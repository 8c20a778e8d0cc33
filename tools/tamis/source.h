/* Input matrices: files, and "generate:KIND:rows=1000,nnz=10k,name=..." in place of one. */
#ifndef TOOL_SOURCE_H
#define TOOL_SOURCE_H

#include <tamis/matrix.h>

typedef struct tool_source {
    tamis_owned_sparse *matrix;
    const tamis_sparse *S;
    char name[128]; /* as tables and JSON show it */
    double seconds; /* reading or generating took */
    int64_t bytes;  /* of the file, 0 for a generated one */
} tool_source;

/* Of a file whose first line was left out. */
#define TOOL_TITLES_NOTE "%s: the first line is no data: it was taken for titles and left out"

/* Opens it with a progress bar. Returns 0 or an exit code, after a message. options may be NULL (fp32, int32). */
int tool_source_open(const char *spec, const tamis_read_options *options, tool_source *source);
void tool_source_close(tool_source *source);

#endif
