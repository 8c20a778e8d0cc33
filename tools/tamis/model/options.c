/* The options of training, in one table. At its start the program selects each method's options by the library's
   description of the method. The library has the defaults of fields of tamis_model_options. */
#include "model/options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/exit.h"
#include "cli/text.h"
#include "group/group.h"

#define AT(field)    offsetof(tool_train_settings, field)
#define MODEL(field) (offsetof(tool_train_settings, model) + offsetof(tamis_model_options, field))

/* Which methods have an option: methods for some kind of data, with mini-batches or on groups, or methods that list
   it. */
enum {
    RATINGS = 1 << TAMIS_DATA_RATINGS,
    USES = 1 << TAMIS_DATA_USES,
    COUNTS = 1 << TAMIS_DATA_COUNTS,
    FEATURES = RATINGS | USES,
    ALL = FEATURES | COUNTS,
    BATCHES = 1 << 8,
    GROUPS = 1 << 9,
    OWN = 1 << 10,
    SEEDS = 1 << 12,
    FACTORS = 1 << 11,   /* models with factors: neither for documents nor of pairs of items */
    SUMS = 1 << 12,      /* with one of the others: repeated entries may add up */
    MAY_CHANGE = 1 << 16 /* may change when training is resumed, as it does not affect the results */
};

/* The methods that have it, then the option. An option whose meaning depends on the data has several rows. Methods may
   have their own help. */
static const struct {
    int who;
    tool_option option;
} rows[] = {
    {ALL, TOOL_OUTPUT("output", 'o', "MODEL", AT(output), "the model file to write")},
    {ALL, TOOL_NO_CLOBBER(AT(no_clobber))},
    /* the model */
    {FACTORS, TOOL_INTEGER("factors", 'k', "K", NULL, MODEL(factors), 0, 1024,
                           "features of a user and an item; 0: chosen by an inner split")},
    {COUNTS, TOOL_INTEGER("factors", 'k', "K", NULL, MODEL(factors), 1, 1024, "topics")},
    {COUNTS, TOOL_INTEGER("topics", 0, "K", NULL, MODEL(factors), 1, 1024, "the same as --factors")},
    {ALL | MAY_CHANGE, TOOL_INT("iterations", 'n', "N", NULL, MODEL(iterations), 0, 1e9, "passes over the data")},
    {OWN, TOOL_REAL("regularization", 'l', "LAMBDA", NULL, MODEL(regularization), 0, 0,
                    "lambda; 0: found from the noise of the data")},
    {OWN, TOOL_REAL("column-regularization", 0, "LAMBDA", NULL, MODEL(column_regularization), 0, 0,
                    "lambda of an item; 0: that of a user")},
    {OWN,
     TOOL_FLAG("weighted", 0, MODEL(weighted), "multiply lambda by 40 plus the number of ratings of a user or item")},
    {OWN, TOOL_FLAG("biases", 0, MODEL(biases), "a bias for each user and item")},
    {OWN, TOOL_INT("cg-steps", 0, "N", NULL, MODEL(cg_steps), 1, 1e6, "conjugate-gradient steps per half iteration")},
    {OWN, TOOL_REAL(
              "confidence", 0, "X", NULL, MODEL(confidence), 0, 0,
              "an entry r has weight 1 + X * |r|; a negative r is a known dislike; without: chosen by an inner split")},
    {OWN, TOOL_INT("neighbours", 0, "N", NULL, MODEL(neighbours), -1, 4096, "nearest items to keep for each item")},
    {OWN,
     TOOL_CHOICE(
         "weights", 0, "HOW", NULL, MODEL(weights), &tool_use_weights,
         "weight of a use with the count r; linear: r; log: r log2(1 + r); bm25: as in BM25; ones: 1; auto: chosen by an inner split; rp3beta: steps of a random walk")},
    {OWN, TOOL_REAL("beta", 0, "X", NULL, MODEL(beta), 0, 2,
                    "with --weights rp3beta: scores are divided by this power of an item's uses")},
    {OWN, TOOL_INT("inner-rounds", 0, "N", NULL, MODEL(inner_rounds), 1, 1e6, "updates of a mini-batch's documents")},
    {OWN, TOOL_FLAG("nonnegative", 0, MODEL(nonnegative), "keep all factors at least 0")},
    {OWN, TOOL_FLAG("by-prediction", 0, MODEL(by_prediction),
                    "recommend by predictions alone, without the chance of being seen")},
    {OWN, TOOL_REAL("row-prior", 0, "X", NULL, MODEL(row_prior), 0, 0, "prior of a row's factors")},
    {OWN, TOOL_REAL("column-prior", 0, "X", NULL, MODEL(column_prior), 0, 0, "prior of a column's factors")},
    {OWN, TOOL_FLAG("learn-row-prior", 0, MODEL(learn_row_prior),
                    "learn an alpha for each topic, starting from --row-prior")},
    {OWN, TOOL_FLAG("map", 0, MODEL(maximum_a_posteriori), "maximum a posteriori, without exp(digamma)")},
    {OWN, TOOL_FLAG("warp", 0, MODEL(warp), "WARP's loss, which works for the top of the list")},
    {OWN, TOOL_REAL("rate", 0, "X", NULL, MODEL(rate), 0, 0, "ADAGRAD's rate")},
    {OWN,
     TOOL_INTEGER("batch-rows", 0, "N", NULL, MODEL(batch_rows), 0, 9e15, "rows per mini-batch; 0: from the data")},
    {OWN,
     TOOL_REAL("rate-decay", 0, "X", NULL, MODEL(rate_decay), 0, 0, "mini-batch t has weight (1 / (t + offset))^X")},
    {OWN, TOOL_REAL("rate-offset", 0, "X", NULL, MODEL(rate_offset), 0, 0,
                    "the offset in that weight; larger: the first mini-batches weigh less")},
    {ALL, TOOL_INTEGER("seed", 's', "SEED", NULL, MODEL(seed), 0, 9e18,
                       "seed of the initial values and of the order of mini-batches")},
    {ALL, TOOL_CHOICE("type", 't', "TYPE", NULL, MODEL(type), &tool_model_types, "type of the numbers")},
    {ALL | MAY_CHANGE, TOOL_REAL("tolerance", 0, "X", NULL, MODEL(tolerance), 0, 0,
                                 "stop if the loss decreases by less than this share of itself; 0: never")},
    {ALL | MAY_CHANGE,
     {"loss", 0, TOOL_FLAG_NOT, NULL, NULL, "compute the loss of each iteration, which takes time", MODEL(skip_loss), 0,
      0, NULL}},
    {OWN | MAY_CHANGE, TOOL_FLAG("elbo", 0, MODEL(elbo), "also compute the evidence lower bound, which takes time")},
    {ALL | MAY_CHANGE,
     TOOL_INT("threads", 0, "T", NULL, MODEL(threads), 0, TOOL_THREADS_MOST, "CPU threads; 0: the device's setting")},
    {ALL, TOOL_CHOICE("device", 'd', "DEVICE", "best", AT(device), &tool_devices, "the device to use")},
    {GROUPS, TOOL_CHOSEN("devices", 0, "DEVICE,...", NULL, AT(devices), &tool_devices,
                         "devices to use together, each with some rows of DATA; a name may be repeated")},
    {GROUPS, TOOL_SPREAD(AT(spread))},
    {GROUPS, TOOL_TRANSPORT(AT(transport))},
    {ALL,
     TOOL_NAME(
         "algorithms", 0, "NAMES", MODEL(algorithms),
         "for comparisons: one algorithm for all sparse calls, such as naive, or one each for sddmm, spmm and fused, "
         "separated by commas")},
    /* the data */
    {ALL, TOOL_CHOICE("from", 0, "FORMAT", "auto", AT(from), &tool_file_formats, "format of DATA")},
    {ALL, TOOL_DATA_COLUMNS(AT(columns))},
    {COUNTS, TOOL_FLAG("texts", 0, AT(texts),
                       "DATA are texts, one document a line; without: folders, and .txt files that are no lists")},
    {COUNTS, TOOL_INTEGER("min-documents", 0, "N", "2", AT(min_documents), 1, 9e18,
                          "of texts: leave out words in fewer documents")},
    {COUNTS, TOOL_REAL("max-share", 0, "SHARE", "0.5", AT(max_share), 1e-12, 1,
                       "of texts: leave out words in more than this share of the documents")},
    {COUNTS, TOOL_FLAG("pairs", 0, AT(pairs), "of texts: count pairs of words too that follow each other, 'new york'")},
    {RATINGS, TOOL_CHOICE("duplicates", 0, "HOW", "last", AT(duplicates), &tool_repeats,
                          "what to do with repeated pairs of a user and an item")},
    {USES | COUNTS | SUMS, TOOL_CHOICE("duplicates", 0, "HOW", "sum", AT(duplicates), &tool_repeats,
                                       "what to do with repeated entries, as in logs of events")},
    {ALL, TOOL_PATH("vocabulary", 0, "FILE", AT(vocabulary), "names of the columns, one per line")},
    {SEEDS, TOOL_PATH("seeds", 0, "FILE", AT(seeds), "words that topics begin with: a line of words for each topic")},
    {GROUPS,
     TOOL_PATH("item-features", 0, "FILE", AT(features[1]),
               "features of items, lines 'item feature [value]', from which items without entries get factors")},
    {GROUPS, TOOL_PATH("user-features", 0, "FILE", AT(features[0]), "the same for users")},
    {FEATURES, TOOL_REAL("hold-out", 0, "SHARE", "0", AT(hold_out), 0, 0.99,
                         "share of each row's entries to hold out for the metric; 0: none")},
    {COUNTS, TOOL_REAL("hold-out", 0, "SHARE", "0", AT(hold_out), 0, 0.99,
                       "share of each document's words to hold out for the metric; 0: none")},
    {ALL, TOOL_FLAG("leave-one-out", 0, AT(leave_one_out), "hold out one entry of each row that has two or more")},
    {ALL, TOOL_INTEGER("split-seed", 0, "SEED", "1", AT(split_seed), 0, 9e18, "seed of the held-out split")},
    {ALL, TOOL_PATH("held-out", 0, "FILE", AT(held_out), "use the entries of this file as held-out data")},
    {COUNTS, TOOL_PATH("observed", 0, "FILE", AT(observed),
                       "the known words of the documents in --held-out; by default half of their words")},
    {BATCHES,
     TOOL_FLAG("stream", 0, AT(stream), "read DATA in mini-batches, again in each pass: it may be larger than memory")},
    /* what is written */
    {ALL, TOOL_ADDED_TO("checkpoint", 'c', "FILE", AT(checkpoint),
                        "checkpoint file of the training (MODEL.part); removed once MODEL is written")},
    {ALL, TOOL_REAL("checkpoint-seconds", 0, "S", "30", MODEL(checkpoint_seconds), 0, 1e9,
                    "minimum time between two checkpoints")},
    {ALL,
     {"resume", 0, TOOL_PATH_MAYBE, "FILE", NULL,
      "continue from the checkpoint, or from FILE: another checkpoint, or a model that needs more iterations",
      AT(resume), 0, 0, NULL}},
    {FEATURES,
     TOOL_PATH("continue", 0, "MODEL", AT(base),
               "begin with a model of older DATA, such as yesterday's, and add the new rows and columns to it")},
    {ALL, TOOL_JSON_LINES("iteration and one at the end", AT(json))},
    {ALL,
     TOOL_FLAG("verbose", 'v', AT(verbose), "print a line for each iteration even if the output is not a terminal")},
    {ALL, TOOL_QUIET(AT(quiet))},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Each method's command, description and options with a terminator, in the library's order. */
enum { METHODS_MOST = 32 };
tool_command tool_train_methods[METHODS_MOST + 1];
static tamis_method_description about[METHODS_MOST];
static tool_option options[METHODS_MOST][ROWS + 1];
static int method_count;

static int number_of(tamis_method method) {
    int number = 0;
    while (number < method_count - 1 && about[number].method != method) number++;
    return number;
}

const tamis_method_description *tool_method_about(tamis_method method) { return &about[number_of(method)]; }
const tool_option *tool_train_options(tamis_method method) { return options[number_of(method)]; }

_Static_assert(AT(model) == 0, "is_field() asks how far from the beginning");

/* Returns true if the option is a field of the model's options. */
static bool is_field(const tool_option *option) { return option->offset < sizeof(tamis_model_options); }

/* Returns true if the model keeps the option: it is outside the range of fields about where and how to run. */
static bool is_kept(const tool_option *option) {
    return is_field(option) && (option->offset < MODEL(algorithms) || option->offset >= MODEL(rate_offset));
}

bool tool_train_of_model(const tool_option *option) {
    const bool named = option->value == TOOL_CHOICE && option->choices != &tool_use_weights;
    return is_kept(option) && !named && strcmp(option->name, "topics") != 0;
}

/* Returns the method's description of the option's field; NULL if the method does not list it. */
static const tamis_method_option *find_own(const tamis_method_description *method, const tool_option *option) {
    char field[64];
    snprintf(field, sizeof field, "%s", strcmp(option->name, "map") == 0 ? "maximum_a_posteriori" : option->name);
    for (char *dash = strchr(field, '-'); dash; dash = strchr(dash, '-')) *dash = '_';
    const tamis_method_option *own = method->options;
    while (own->name && strcmp(own->name, field) != 0) own++;
    return own->name ? own : NULL;
}

static bool has_option(const tamis_method_description *method, int row) {
    const int who = rows[row].who;
    if (who & SUMS && method->ordered) return false;
    return who & 1 << method->data || (who & BATCHES && method->mini_batches) || (who & GROUPS && method->groups) ||
           (who & SEEDS && method->seeds) || (who & OWN && find_own(method, &rows[row].option)) ||
           (who & FACTORS && method->data != TAMIS_DATA_COUNTS && !method->pairs);
}

/* Makes a method's options. Only flags that are on by default have a preset. */
static void prepare_method(int number) {
    static tool_word presets[METHODS_MOST][ROWS];
    const tamis_method_description *const method = &about[number];
    tool_train_settings settings = {.device = 0};
    if (tamis_model_options_init(&settings.model, method->method) != TAMIS_OK) return;
    tool_train_methods[number] =
        (tool_command){.name = method->name, .summary = method->summary, .options = options[number]};
    int count = 0;
    for (int i = 0; i < ROWS; i++) {
        if (!has_option(method, i)) continue;
        tool_option *const option = &options[number][count];
        const tamis_method_option *const own = rows[i].who & OWN ? find_own(method, &rows[i].option) : NULL;
        *option = rows[i].option;
        if (own && own->help) option->help = own->help;
        tool_word *const text = &presets[number][count++];
        if (!is_field(option) || option->value == TOOL_NAME) continue;
        *text = tool_option_text(option, &settings);
        option->preset = tool_option_is_flag(option) && strcmp(text->text, "yes") != 0 ? NULL : text->text;
    }
}

void tool_train_options_prepare(void) {
    while (method_count < METHODS_MOST && tamis_method_at(method_count, &about[method_count]) == TAMIS_OK)
        prepare_method(method_count++);
}

int tool_train_go_on(tamis_method method, const tamis_model_options *checkpoint, tool_train_settings *settings) {
    const double seconds = settings->model.checkpoint_seconds;
    const int iterations = settings->model.iterations;
    settings->model = *checkpoint;
    if (settings->base) settings->model.iterations = iterations; /* more */
    settings->model.checkpoint_seconds = seconds;
    const tool_train_settings before = *settings;
    TOOL_TRY(tool_options_repeat(tool_train_options(method), settings));
    if (settings->model.factors == 0) settings->model.factors = checkpoint->factors; /* as it was chosen */
    if (settings->model.regularization == 0) settings->model.regularization = checkpoint->regularization;
    if (settings->model.column_regularization == 0)
        settings->model.column_regularization = checkpoint->column_regularization;
    if (isnan(settings->model.row_prior)) settings->model.row_prior = checkpoint->row_prior;
    if (isnan(settings->model.column_prior)) settings->model.column_prior = checkpoint->column_prior;
    if (isnan(settings->model.confidence)) settings->model.confidence = checkpoint->confidence;
    if (settings->model.weights == TAMIS_WEIGHTS_AUTO) settings->model.weights = checkpoint->weights;
    if (settings->model.neighbours == TAMIS_NEIGHBOURS_AUTO) settings->model.neighbours = checkpoint->neighbours;
    for (int i = 0; i < ROWS; i++) {
        const tool_option *option = &rows[i].option;
        if (!has_option(tool_method_about(method), i) || !is_kept(option) || rows[i].who & MAY_CHANGE) continue;
        const tool_word was = tool_option_text(option, &before), requested = tool_option_text(option, settings);
        if (strcmp(was.text, requested.text) == 0) continue;
        return tool_usage_error("--%s: the training to continue has %s, not %s", option->name, was.text,
                                requested.text);
    }
    return 0;
}
