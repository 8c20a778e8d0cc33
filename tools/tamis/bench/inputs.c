/* Opens the matrices of a benchmark once, describes them, and caches them while there is memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "cli/exit.h"

/* The matrices measured last stay open, since the cases of a suite often measure the same ones. */
typedef struct open_matrix {
    char *spec;
    int types; /* what it was opened as */
    double bytes;
    tool_source source;
    tool_bench_matrix matrix;
} open_matrix;

enum { MOST_OPEN = 32 };
static const double MOST_BYTES = 4e9;
static open_matrix *opened[MOST_OPEN]; /* the one measured last comes first; NULL past the end */

static void close_from(int first) {
    for (int i = first; i < MOST_OPEN && opened[i]; i++) {
        tool_source_close(&opened[i]->source);
        free(opened[i]->spec);
        free(opened[i]);
        opened[i] = NULL;
    }
}

void tool_bench_close_inputs(void) { close_from(0); }

/* Closes the least recently measured matrices, until there is a place, and memory, for one more. */
static void make_place(void) {
    double bytes = 0;
    int kept = 0;
    while (kept < MOST_OPEN - 1 && opened[kept] && bytes + opened[kept]->bytes <= MOST_BYTES)
        bytes += opened[kept++]->bytes;
    close_from(kept);
}

static void put_first(open_matrix *one, int from) {
    memmove((void *)(opened + 1), (void *)opened, (size_t)from * sizeof(void *));
    opened[0] = one;
}

int tool_bench_open(tool_bench_run *run, const tool_input *input, tool_bench_matrix **matrix) {
    const tool_bench_settings *settings = run->settings;
    const tool_reading *how = &settings->reading;
    const int type = settings->types.count == 1 ? settings->types.at[0] : (int)TAMIS_F64;
    const tamis_read_options reading = tool_read_options(how, type, TAMIS_I32);
    const int types = type * 256 + how->format * 4 + how->relabel * 2 + how->undirected;
    int place = 0;
    while (place < MOST_OPEN && opened[place] &&
           (opened[place]->types != types || strcmp(opened[place]->spec, input->spec) != 0))
        place++;
    if (place < MOST_OPEN && opened[place]) {
        put_first(opened[place], place);
        *matrix = &opened[0]->matrix;
        return 0;
    }
    make_place();
    open_matrix *one = tool_allocate(1, sizeof *one);
    int code = tool_source_open(input->spec, &reading, &one->source);
    if (code) {
        free(one);
        return code;
    }
    const tamis_sparse *S = one->source.S;
    one->types = types;
    one->bytes = (double)S->nnz * (double)(tamis_index_size(S->index_type) + tamis_type_size(S->value_type)) +
                 (double)S->rows * (double)tamis_index_size(S->offset_type);
    one->spec = tool_copy(input->spec);
    if (input->name) snprintf(one->source.name, sizeof one->source.name, "%s", input->name);
    for (place = 0; place < MOST_OPEN - 1 && opened[place];) place++;
    put_first(one, place);
    code = tool_bench_describe(&one->source, input, &one->matrix);
    if (code) one->types = -1; /* a matrix without description does not count as opened */
    one->matrix.spec = one->spec + (one->matrix.spec - input->spec); /* the input may be freed before it */
    *matrix = &one->matrix;
    return code ? code : tool_bench_record_matrix(run, &one->matrix);
}
