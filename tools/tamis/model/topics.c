/* tamis topics: the columns with the largest weight in each factor. */
#include <stdlib.h>

#include "base/sizes.h"
#include "cli/exit.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    int64_t top;
    const char *vocabulary;
} settings;

static const tool_option options[] = {
    TOOL_INTEGER("top", 'n', "N", "10", offsetof(settings, top), 1, 1e6, "number of words per topic"),
    TOOL_PATH("vocabulary", 0, "FILE", offsetof(settings, vocabulary),
              "names of the columns, one per line, instead of the model's"),
    TOOL_USE_JSON(settings, "a line of JSON for each topic"),
    TOOL_USE_OUTPUT(settings),
    TOOL_USE_COMPUTING(settings),
    {.name = NULL},
};

static void write_json(FILE *out, int64_t topic, int count, const int64_t *columns, const double *weights,
                       const tamis_names *names) {
    tool_json json = tool_json_open(out, false);
    tool_json_integer(&json, "topic", topic);
    tool_json_array(&json, "words");
    for (int i = 0; i < count && columns[i] >= 0; i++) {
        tool_json_item(&json, tool_named("word", names, columns[i]), tool_num("weight", weights[i]));
    }
    tool_json_finish(&json);
}

static void add_row(tool_table *table, int64_t topic, int count, const int64_t *columns, const double *weights,
                    const tamis_names *names) {
    tool_text words = {0};
    for (int i = 0; i < count && columns[i] >= 0; i++) {
        const char *name = names ? tamis_names_at(names, columns[i]) : NULL;
        tool_text_add(&words, "%s", i ? ", " : "");
        if (name)
            tool_text_add(&words, "%s", tool_visible(name));
        else
            tool_text_add(&words, "%lld", (long long)columns[i]);
        tool_text_add(&words, " %.3g", weights[i]);
    }
    tool_table_row(table, (const char *[]){tool_word_of("%lld", (long long)topic).text, tool_text_get(&words)});
    tool_text_free(&words);
}

/* Returns true if a topic of documents is empty: its words have nearly uniform weights. */
static bool is_empty(const tool_use *use, const double *weights) {
    return tool_method_of_documents(use->method) && weights[0] * (double)use->description.cols < 1.5;
}

static void write_topics(const tool_use *use, int count, const int64_t *columns, const double *weights,
                         const tamis_names *names) {
    tool_table table;
    tool_table_start(&table, 2, (tool_column[]){{"topic", true, 0}, {"words and their weights", false, 0}});
    int64_t empty = 0;
    for (int64_t topic = 0; topic < use->description.options.factors; topic++) {
        const int64_t at = topic * count;
        if (count > 0 && is_empty(use, weights + at)) {
            empty++;
            continue;
        }
        if (use->settings->json)
            write_json(use->out, topic, count, columns + at, weights + at, names);
        else
            add_row(&table, topic, count, columns + at, weights + at, names);
    }
    if (!use->settings->json) tool_table_print(&table, use->out, 0);
    if (empty > 0)
        tool_note("%s: %s of %s topics are empty, and left out: fewer --topics, or more --inner-rounds", use->path,
                  tool_word_count(empty).text, tool_word_count(use->description.options.factors).text);
}

static int show_topics(const tool_use *use, const void *given, int operand_count, char **operands) {
    const settings *set = given;
    (void)operand_count, (void)operands;
    const int64_t cols = use->description.cols;
    const int count = (int)(set->top < cols ? set->top : cols);
    const int64_t entries = tamis_times(use->description.options.factors, count);
    int64_t known = 0;
    tamis_names *names = NULL;
    int code = tool_vocabulary_open(set->vocabulary, &known, &names);
    if (code == 0 && names && known != cols)
        code = tool_failure(TOOL_FILE, "%s: %s names, but the model has %s columns", set->vocabulary,
                            tool_word_count(known).text, tool_word_count(cols).text);
    if (code == 0) {
        int64_t *columns = tool_allocate((size_t)entries, sizeof *columns);
        double *weights = tool_allocate((size_t)entries, sizeof *weights);
        const tamis_status status = tamis_model_topics(use->model, count, columns, weights);
        code = tool_library_error(status, use->path);
        if (code == 0) write_topics(use, count, columns, weights, names ? names : use->columns);
        free(columns);
        free(weights);
    }
    tamis_names_free(names);
    return code;
}

const tool_command tool_topics_command =
    TOOL_COMMAND("topics", "MODEL", "show the words with the largest weights in each topic of a model", options,
                 settings, .use = show_topics);
