/* Reads lists whose ids are names by the reader that `train` uses; the rows and columns of the matrix are numbered in
   the order in which the names come. */
#include "source_names.h"

#include "exit.h"
#include "progress.h"

/* The arrangement and types that were asked for. */
static tamis_status arrange(const tamis_read_options *reading, tamis_owned_sparse **matrix) {
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.format = reading->format;
    options.index_type = reading->index_type;
    options.offset_type = reading->offset_type;
    options.value_type = reading->value_type;
    options.values = reading->values;
    options.sort = true;
    tamis_owned_sparse *made = NULL;
    const tamis_status status = tamis_convert(tamis_owned_sparse_view(*matrix), &options, &made);
    tamis_owned_sparse_free(*matrix);
    *matrix = made;
    return status;
}

int tool_source_read_names(const char *path, const tamis_read_options *reading, tool_source *source) {
    if (reading->undirected) {
        tool_error("%s: --undirected: not for a list whose ids are names", path);
        return TOOL_UNSUPPORTED;
    }
    if (reading->value_column == 4) {
        tool_error("%s: --value-column 4: not for a list whose ids are names", path);
        return TOOL_UNSUPPORTED;
    }
    tamis_read_options arranged = *reading;
    tamis_ratings_options options = TAMIS_RATINGS_OPTIONS_INIT;
    options.keep = reading->duplicates == TAMIS_DUPLICATES_KEEP;
    options.sum = reading->duplicates == TAMIS_DUPLICATES_SUM;
    options.value_type = reading->value_type == TAMIS_F32 ? TAMIS_F32 : TAMIS_F64;
    options.titles = reading->titles;
    options.progress = reading->progress;
    options.progress_context = reading->progress_context;
    tamis_status status = TAMIS_OK;
    if (source->report.graph) { /* one numbering for both */
        status = tamis_names_create(&source->rows);
        options.users = options.items = source->rows;
    }
    tamis_names *rows = NULL, *columns = NULL;
    if (status == TAMIS_OK) status = tamis_read_ratings(path, &options, &source->matrix, &rows, &columns, NULL);
    if (status == TAMIS_OK) {
        source->rows = rows;
        source->columns = columns;
        if (source->report.times_column == 3) arranged.values = TAMIS_VALUES_NONE;
        status = arrange(&arranged, &source->matrix);
    }
    tool_progress_clear();
    if (status != TAMIS_OK) return tool_file_error(status, path);
    tool_note("%s: ids are names, numbered in the order in which they come%s", path,
              source->report.graph ? "" : ": rows and columns separately");
    return 0;
}
