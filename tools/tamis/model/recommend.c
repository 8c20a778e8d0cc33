/* tamis recommend: the columns with the largest predictions for rows of the training, or for new ones. */
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "model/options.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    int64_t top;
    const char *seen, *new_rows, *among, *without;
} settings;

enum { ROWS_AT_ONCE = 1 << 16, RESULTS_AT_ONCE = 1 << 22 }; /* that are kept in memory */

static const tool_option options[] = {
    TOOL_INTEGER("top", 'n', "N", "10", offsetof(settings, top), 1, 1e6, "number of recommendations for each row"),
    TOOL_PATH("seen", 0, "FILE", offsetof(settings, seen),
              "leave out the entries of this file, such as the training data"),
    TOOL_PATH("new", 0, "FILE", offsetof(settings, new_rows),
              "the rows are new, and this file has their known entries, which are left out"),
    TOOL_PATH("among", 0, "FILE", offsetof(settings, among),
              "recommend only the columns that this file names, one per line"),
    TOOL_PATH("without", 0, "FILE", offsetof(settings, without),
              "leave out the columns that this file names, one per line"),
    TOOL_USE_JSON(settings, "a line of JSON for each recommendation"),
    TOOL_USE_OUTPUT(settings),
    TOOL_USE_DATA(settings),
    {.name = NULL},
};

/* The rows to recommend to, and their data. */
typedef struct listing {
    const tool_use *use;
    int64_t top;
    const tamis_names *names; /* names of the rows, or NULL */
    tamis_owned_dense *W;     /* factors of new rows; NULL: rows of the fit, or uses */
    tool_data known;          /* data of --new or --seen */
    int64_t row_count;        /* number of rows to choose from */
    int64_t *rows, count;     /* the rows requested */
    bool *candidates;         /* columns, or NULL: all */
} listing;

/* ------------------------------------------------------------------------------------------ which rows */

static int open_rows(listing *job, const settings *set) {
    const tool_use *use = job->use;
    const char *spec = set->new_rows ? set->new_rows : set->seen;
    job->names = use->rows;
    job->row_count = use->description.rows;
    if (set->new_rows && set->seen)
        return tool_usage_error("--new already leaves out its own entries: do not use --seen with it");
    if (!set->new_rows && job->row_count == 0)
        return tool_usage_error("%s stores no rows of its training data: name new ones with --new FILE", use->path);
    if (!spec) {
        tool_note("without --seen FILE, what a row already has may be recommended");
        return 0;
    }
    const tool_data_request request = tool_use_request(use, spec, set->new_rows != NULL);
    const int code = tool_data_open(&request, &job->known);
    if (code || !set->new_rows) return code;
    job->names = job->known.rows;
    job->row_count = job->known.S.rows;
    if (tool_method_about(use->method)->pairs) return 0; /* the model uses the rows' uses directly */
    return tool_use_transform(use, &job->known.S, &job->W);
}

/* ------------------------------------------------------------------------------------------ which columns */

/* Sets candidates[j] for each column that a file names, and counts unknown names. */
static int mark_columns(const listing *job, const char *path, bool value) {
    tamis_names *listed;
    TOOL_TRY(tool_file_error(tamis_names_read(path, &listed), path));
    const int64_t all = job->use->description.cols, count = tamis_names_count(listed);
    int64_t unknown = 0;
    for (int64_t i = 0; i < count; i++) {
        const char *const name = tamis_names_at(listed, i);
        int64_t column = -1;
        if (job->use->columns) {
            column = tamis_names_find(job->use->columns, name, strlen(name));
        } else {
            char *end;
            const long long number = strtoll(name, &end, 10);
            if (*end == 0 && number >= 0 && number < all) column = number;
        }
        if (column >= 0)
            job->candidates[column] = value;
        else
            unknown++;
    }
    tamis_names_free(listed);
    if (unknown > 0)
        tool_warning("%s: %s of %s names are not columns of the model: they are left out", path,
                     tool_word_count(unknown).text, tool_word_count(count).text);
    return 0;
}

static int choose_columns(listing *job, const settings *set) {
    const int64_t all = job->use->description.cols;
    if (!set->among && !set->without) return 0;
    job->candidates = tool_allocate((size_t)all, sizeof *job->candidates);
    for (int64_t j = 0; j < all; j++) job->candidates[j] = !set->among;
    const int code = set->among ? mark_columns(job, set->among, true) : 0;
    return code || !set->without ? code : mark_columns(job, set->without, false);
}

/* ------------------------------------------------------------------------------------------ recommending */

static int recommend_rows(const listing *job, int64_t from, int64_t count, int64_t *columns, double *scores) {
    const int top = (int)job->top;
    const tamis_status status = tamis_model_recommend_among(
        job->use->model, job->W ? tamis_owned_dense_view(job->W) : NULL, job->rows + from, count,
        job->known.matrix ? &job->known.S : NULL, job->candidates, top, columns, scores);
    if (status != TAMIS_OK) return tool_library_error(status, NULL);
    for (int64_t i = 0; i < count; i++) {
        for (int rank = 0; rank < top && columns[i * top + rank] >= 0; rank++) {
            tool_use_line(job->use, 4,
                          (tool_member[]){tool_named("row", job->names, job->rows[from + i]),
                                          tool_int("rank", rank + 1),
                                          tool_named("column", job->use->columns, columns[i * top + rank]),
                                          tool_num("score", scores[i * top + rank])});
        }
    }
    return 0;
}

static int recommend(const listing *job) {
    int64_t at_once = RESULTS_AT_ONCE / (job->top > 0 ? job->top : 1) + 1;
    if (at_once > ROWS_AT_ONCE) at_once = ROWS_AT_ONCE;
    if (at_once > job->count) at_once = job->count;
    int64_t *columns = tool_allocate(tamis_bytes(at_once, (size_t)job->top), sizeof *columns);
    double *scores = tool_allocate(tamis_bytes(at_once, (size_t)job->top), sizeof *scores);
    int code = 0;
    for (int64_t from = 0; from < job->count && code == 0 && !tool_interrupted(); from += at_once) {
        const int64_t left = job->count - from;
        if (job->use->out != stdout) tool_progress((double)from / (double)job->count, "recommending");
        code = recommend_rows(job, from, left < at_once ? left : at_once, columns, scores);
    }
    tool_progress_clear();
    free(columns);
    free(scores);
    return tool_outcome(code);
}

static int recommend_to(const tool_use *use, const void *given, int count, char **requested) {
    const settings *set = given;
    listing job = {.use = use, .top = set->top < use->description.cols ? set->top : use->description.cols};
    int code = open_rows(&job, set);
    if (code == 0) code = choose_columns(&job, set);
    if (code == 0)
        code = tool_use_choose(job.names, job.row_count, count, requested, "row", job.W ? "the new rows" : use->path,
                               &job.rows, &job.count);
    if (code == 0 && set->use.output)
        code = tool_output_room(set->use.output, (double)job.count, 0, TOOL_ENTRY_CHARACTERS);
    if (code == 0) code = recommend(&job);
    free(job.rows);
    free(job.candidates);
    tamis_owned_dense_free(job.W);
    tool_data_close(&job.known);
    return code;
}

const tool_command tool_recommend_command =
    TOOL_COMMAND("recommend", "MODEL [USER ...]", "recommend the columns with the largest predictions of a model",
                 options, settings, .use = recommend_to);
