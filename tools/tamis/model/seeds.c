/* See seeds.h. */
#include "model/seeds.h"

#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"

static const char blanks[] = " \t,";

/* Returns the column of a word, -1 for none. */
static int64_t column_of(const tamis_names *columns, int64_t count, const char *word, size_t length) {
    if (columns) return tamis_names_find(columns, word, length);
    char *end;
    const long long number = strtoll(word, &end, 10);
    return end == word + length && number >= 0 && number < count ? number : -1;
}

static int take_line(const char *path, const char *line, int64_t topic, const tamis_names *columns, int64_t count,
                     int64_t *topics) {
    for (const char *at = line + strspn(line, blanks); *at; at += strspn(at, blanks)) {
        const size_t length = strcspn(at, blanks);
        const int64_t column = column_of(columns, count, at, length);
        if (column < 0)
            return tool_failure(TOOL_FILE, "%s: line %lld: '%.*s' is %s", path, (long long)topic + 1, (int)length, at,
                                columns ? "none of the words" : "no number of a column, and the columns have no names");
        if (topics[column] >= 0 && topics[column] != topic)
            return tool_failure(TOOL_FILE, "%s: line %lld: '%.*s' is a seed of line %lld too: a word has one topic",
                                path, (long long)topic + 1, (int)length, at, (long long)topics[column] + 1);
        topics[column] = topic;
        at += length;
    }
    return 0;
}

int tool_seeds_set(const char *path, const tamis_names *columns, int64_t count, int64_t topics, tamis_model *model) {
    tamis_names *lines = NULL;
    TOOL_TRY(tool_file_error(tamis_names_read(path, &lines), path));
    const int64_t given = tamis_names_count(lines);
    int code = 0;
    if (given > topics)
        code = tool_failure(TOOL_FILE, "%s: %lld lines, but there are %lld topics: a line has the words of one", path,
                            (long long)given, (long long)topics);
    int64_t *const seeds = tool_allocate((size_t)count + 1, sizeof *seeds);
    for (int64_t j = 0; j < count; j++) seeds[j] = -1;
    for (int64_t i = 0; i < given && code == 0; i++)
        code = take_line(path, tamis_names_at(lines, i), i, columns, count, seeds);
    if (code == 0) code = tool_library_error(tamis_model_set_seeds(model, seeds, count), path);
    free(seeds);
    tamis_names_free(lines);
    return code;
}
