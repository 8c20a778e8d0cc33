/* tamis score: the quality of predictions for entries that are not in the fit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/use.h"

typedef struct settings {
    tool_use_settings use;
    const char *held_out, *observed, *relevant;
    bool fold_in;
    int64_t top, split_seed;
} settings;

#define AT(field) offsetof(settings, field)

static const tool_option options[] = {
    TOOL_PATH("held-out", 0, "FILE", AT(held_out), "the entries to predict"),
    TOOL_PATH(
        "observed", 0, "FILE", AT(observed),
        "the known entries of the rows; they are left out of recommendations, and the factors of new rows and documents "
        "are computed from them"),
    TOOL_FLAG("fold-in", 0, AT(fold_in),
              "the rows are new, and their factors are computed from --observed (as those of documents always are)"),
    TOOL_NAME("relevant", 0, "X", AT(relevant),
              "held-out entries of at least this value are the relevant ones, such as 4 of 5 stars; by default all"),
    TOOL_INTEGER("top", 'n', "N", "10", AT(top), 1, 1e6,
                 "number of recommendations, and of words per topic, to consider"),
    TOOL_INTEGER("split-seed", 0, "SEED", "1", AT(split_seed), 0, 9e18,
                 "documents without --observed: seed for the half of their words that is known"),
    TOOL_USE_JSON(settings, "an object instead of a table"),
    TOOL_USE_DATA(settings),
    {.name = NULL},
};

/* The numbers of a score, in the order of the output; NaN: not defined for the method. # stands for --top. */
static const struct {
    const char *name, *title, *meaning;
    size_t offset;
} rows[] = {
    {"rmse", "RMSE", "root of the mean squared error", offsetof(tamis_score, rmse)},
    {"mae", "MAE", "mean absolute error", offsetof(tamis_score, mae)},
    {"log_likelihood", "log-likelihood", "mean per word", offsetof(tamis_score, log_likelihood)},
    {"perplexity", "perplexity", "so many words seem equally likely", offsetof(tamis_score, perplexity)},
    {"unigram_perplexity", "unigram perplexity", "by the frequencies of words in the training",
     offsetof(tamis_score, unigram_perplexity)},
    {"bound_perplexity", "bound perplexity", "of whole documents, by the variational bound",
     offsetof(tamis_score, bound_perplexity)},
    {"precision", "precision", "share of the first # that are held-out entries", offsetof(tamis_score, precision)},
    {"recall", "recall", "share of held-out entries among the first #", offsetof(tamis_score, recall)},
    {"ndcg", "NDCG", "discounted gain of the first #, over the best", offsetof(tamis_score, ndcg)},
    {"coherence", "coherence", "mean NPMI of the first # words of a topic", offsetof(tamis_score, coherence)},
};

static double number_at(const tamis_score *score, size_t i) {
    return *(const double *)((const char *)score + rows[i].offset);
}

static void print_table(const tamis_score *score, int64_t top) {
    printf("%s held-out %s of %s row%s\n", tool_word_count(score->entries).text,
           score->entries == 1 ? "entry" : "entries", tool_word_count(score->rows).text, score->rows == 1 ? "" : "s");
    tool_table table;
    tool_table_start(&table, 3, (tool_column[]){{"", false, 0}, {"", true, 0}, {"", false, 0}});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (isnan(number_at(score, i))) continue;
        const tool_word number = tool_word_of("%.5g", number_at(score, i));
        const char *mark = strchr(rows[i].meaning, '#');
        tool_text meaning = {0};
        tool_text_add(&meaning, "%.*s", mark ? (int)(mark - rows[i].meaning) : 96, rows[i].meaning);
        if (mark) tool_text_add(&meaning, "%lld%s", (long long)top, mark + 1);
        tool_table_row(&table, (const char *[]){rows[i].title, number.text, tool_text_get(&meaning)});
        tool_text_free(&meaning);
    }
    tool_table_print(&table, stdout, 2);
}

static void print_json(const tool_use *use, const tamis_score *score, int64_t top) {
    tool_json json = tool_json_open(stdout, true);
    tool_json_put(&json, tool_str("model", use->path), tool_str("method", tamis_method_name(use->method)),
                  TOOL_OF(*score, entries), TOOL_OF(*score, rows), tool_int("top", top));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) tool_json_number(&json, rows[i].name, number_at(score, i));
    tool_json_finish(&json);
}

static int score_held_out(const tool_use *use, const void *given, int count, char **operands) {
    const settings *set = given;
    (void)count, (void)operands;
    const bool fold_in = set->fold_in || tool_method_of_documents(use->method);
    const tool_data_request request = tool_use_request(use, set->held_out, fold_in);
    tool_held_out held;
    TOOL_TRY(tool_hold_out_read(&request, set->observed, set->split_seed, &held));
    if (set->relevant) {
        held.view.threshold = true;
        held.view.relevant = strtod(set->relevant, NULL); /* checked */
    }
    if (!held.view.observed && !set->use.json)
        tool_warning(
            "without --observed, precision, recall and NDCG rank the entries of the training too: name them with "
            "--observed FILE");
    if (!fold_in && set->observed && strcmp(set->observed, set->held_out) == 0)
        tool_warning(
            "--held-out and --observed are the same file: what is observed is not recommended, so precision, recall "
            "and NDCG are 0");
    tamis_score score;
    const tamis_status status = tamis_model_score(use->model, &held.view, fold_in, (int)set->top, &score);
    const int code = tool_library_error(status, set->held_out);
    if (code == 0 && set->use.json) print_json(use, &score, set->top);
    if (code == 0 && !set->use.json) print_table(&score, set->top);
    tool_held_out_free(&held);
    return code;
}

static int run_score(const void *given, int count, char **operands) {
    const settings *set = given;
    if (!set->held_out) return tool_usage_error("--held-out FILE is missing");
    char *end = NULL;
    if (set->relevant && (!isfinite(strtod(set->relevant, &end)) || end == set->relevant || *end))
        return tool_usage_error("--relevant %s: expected a number", set->relevant);
    if (set->fold_in && !set->observed) return tool_usage_error("--fold-in: needs --observed FILE");
    return tool_use_run(given, count, operands, score_held_out);
}

const tool_command tool_score_command =
    TOOL_COMMAND("score", "MODEL", "measure the prediction quality of a model on held-out entries", options, settings,
                 .run = run_score);
