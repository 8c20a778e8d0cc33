/* Reads lists whose ids are names, by the reader of `train`; rows and columns are numbered in order of first
   occurrence. */
#include "cli/list_names.h"

#include "cli/exit.h"
#include "cli/progress.h"

/* Converts *matrix to the requested arrangement and types. */
static tamis_status arrange(const tamis_read_options *reading, tamis_values values, tamis_owned_sparse **matrix) {
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = reading->format;
    options.index_type = reading->index_type;
    options.offset_type = reading->offset_type;
    options.value_type = reading->value_type;
    options.values = values;
    options.sort = true;
    tamis_owned_sparse *made = NULL;
    const tamis_status status = tamis_convert(tamis_owned_sparse_view(*matrix), &options, &made);
    tamis_owned_sparse_free(*matrix);
    *matrix = made;
    return status;
}

int tool_list_read_names(const char *path, const tamis_read_options *reading, const tamis_read_report *report,
                         tool_named_list *list) {
    *list = (tool_named_list){0};
    if (reading->undirected)
        return tool_failure(TOOL_UNSUPPORTED, "%s: --undirected: not for a list whose ids are names", path);
    if (reading->value_column == 4)
        return tool_failure(TOOL_UNSUPPORTED, "%s: --value-column 4: not for a list whose ids are names", path);
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    options.keep = reading->duplicates == TAMIS_DUPLICATES_KEEP;
    options.sum = reading->duplicates == TAMIS_DUPLICATES_SUM;
    options.value_type = reading->value_type == TAMIS_F32 ? TAMIS_F32 : TAMIS_F64;
    options.titles = reading->titles;
    options.found = reading->found;
    options.columns = reading->columns;
    options.progress = reading->progress;
    options.progress_context = reading->progress_context;
    tamis_status status = TAMIS_OK;
    if (report->graph) { /* one numbering for both */
        status = tamis_names_create(&list->rows);
        options.users = options.items = list->rows;
    }
    tamis_names *rows = NULL, *columns = NULL;
    if (status == TAMIS_OK) status = tamis_read_ratings(path, &options, &list->matrix, &rows, &columns, NULL);
    if (status == TAMIS_OK) {
        list->rows = rows;
        list->columns = columns;
        const bool none = report->times_column == 3 || !report->weights; /* the reader filled in these values */
        if (none) status = arrange(reading, TAMIS_VALUES_NONE, &list->matrix);
        if (status == TAMIS_OK) status = arrange(reading, reading->values, &list->matrix);
    }
    tool_progress_clear();
    if (status != TAMIS_OK) {
        const int code = tool_file_error(status, path);
        tool_named_list_free(list);
        return code;
    }
    tool_note("%s: ids are names, numbered in the order in which they come%s", path,
              report->graph ? "" : ": rows and columns separately");
    return 0;
}

void tool_named_list_free(tool_named_list *list) {
    tamis_owned_sparse_free(list->matrix);
    if (list->columns != list->rows) tamis_names_free(list->columns);
    tamis_names_free(list->rows);
    *list = (tool_named_list){0};
}
