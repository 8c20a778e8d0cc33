/* tamis similar: the most similar columns (or rows) of a model, by the cosine of factors. */
#include <stdlib.h>

#include "cli/exit.h"
#include "cli/progress.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    int64_t top;
    bool rows;
} settings;

static const tool_option options[] = {
    TOOL_INTEGER("top", 'n', "N", "10", offsetof(settings, top), 1, 1e6, "number of similar ones for each"),
    TOOL_FLAG("rows", 0, offsetof(settings, rows), "similar rows (users, documents) instead of columns"),
    TOOL_USE_JSON(settings, "a line of JSON for each similar one"),
    TOOL_USE_OUTPUT(settings),
    TOOL_USE_COMPUTING(settings),
    {.name = NULL},
};

static int show_similar(const tool_use *use, const void *given, int count, char **requested) {
    const settings *set = given;
    const tamis_names *names = set->rows ? use->rows : use->columns;
    if (set->rows && use->description.rows == 0) return tool_use_no_rows(use, "--rows");
    const int64_t all = set->rows ? use->description.rows : use->description.cols;
    const int top = (int)(set->top < all ? set->top : all);
    int64_t *nearest = tool_allocate((size_t)top, sizeof *nearest), *chosen = NULL, asked = 0;
    double *cosines = tool_allocate((size_t)top, sizeof *cosines);
    const char *what = set->rows ? "row" : "column";
    int code = tool_use_choose(names, all, count, requested, what, use->path, &chosen, &asked);
    for (int64_t i = 0; i < asked && code == 0 && !tool_interrupted(); i++) {
        if (use->out != stdout) tool_progress((double)i / (double)asked, "comparing");
        const tamis_status status = tamis_model_similar(use->model, set->rows, &chosen[i], 1, top, nearest, cosines);
        if (status != TAMIS_OK) code = tool_library_error(status, use->path);
        for (int64_t rank = 0; rank < top && code == 0 && nearest[rank] >= 0; rank++) {
            tool_use_line(use, 4,
                          (tool_member[]){tool_named(what, names, chosen[i]), tool_int("rank", rank + 1),
                                          tool_named("similar", names, nearest[rank]),
                                          tool_num("cosine", cosines[rank])});
        }
    }
    tool_progress_clear();
    free(nearest);
    free(cosines);
    free(chosen);
    return tool_outcome(code);
}

const tool_command tool_similar_command =
    TOOL_COMMAND("similar", "MODEL [ITEM ...]", "find the items or words of a model that are most alike", options,
                 settings, .use = show_similar);
