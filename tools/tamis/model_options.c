/* The options of training: one table that says which methods have an option. The options of a method are picked from it
   when the program starts, with the library's defaults where they are fields of tamis_model_options. */
#include "model_options.h"

#include <string.h>

#include "exit.h"
#include "text.h"

#define AT(field) offsetof(tool_train_settings, field)

enum {
    ALS = 1 << TAMIS_ALS,
    IMPLICIT = 1 << TAMIS_IMPLICIT_ALS,
    CCD = 1 << TAMIS_CCD,
    LDA = 1 << TAMIS_LDA,
    SFA = 1 << TAMIS_SFA,
    GAP = 1 << TAMIS_GAP,
    TOPICS = LDA | GAP,
    FEATURES = ALS | IMPLICIT | CCD | SFA,
    BATCHES = LDA | SFA | GAP,
    COUNTS = TOPICS | IMPLICIT,
    ALL = TOPICS | FEATURES
};

/* Methods, then the option as in tool_option: name, letter, value, argument, default, help, field, least, most,
   choices. An option whose meaning differs between methods has several rows. */
static const struct {
    int methods;
    tool_option option;
} rows[] = {
    {ALL, {"output", 'o', TOOL_OUTPUT, "MODEL", NULL, "the model file to write", AT(output), 0, 0, NULL}},
    {ALL, TOOL_NO_CLOBBER(AT(no_clobber))},
    /* the model */
    {FEATURES, {"factors", 'k', TOOL_INTEGER, "K", NULL, "features of a user and an item", AT(factors), 1, 1024, NULL}},
    {TOPICS, {"factors", 'k', TOOL_INTEGER, "K", NULL, "topics", AT(factors), 1, 1024, NULL}},
    {TOPICS, {"topics", 0, TOOL_INTEGER, "K", NULL, "the same as --factors", AT(factors), 1, 1024, NULL}},
    {ALL, {"iterations", 'n', TOOL_INTEGER, "N", NULL, "passes over the data", AT(iterations), 0, 1e9, NULL}},
    {ALS | IMPLICIT | CCD,
     {"regularization", 'l', TOOL_REAL, "LAMBDA", NULL, "lambda, greater than 0", AT(regularization), 0, 0, NULL}},
    {SFA,
     {"regularization", 'l', TOOL_REAL, "LAMBDA", NULL, "lambda of a user, greater than 0", AT(regularization), 0, 0,
      NULL}},
    {SFA,
     {"column-regularization", 0, TOOL_REAL, "LAMBDA", NULL, "lambda of an item", AT(column_regularization), 0, 0,
      NULL}},
    {ALS | CCD | SFA,
     {"weighted", 0, TOOL_FLAG, NULL, NULL, "multiply lambda by 40 and the number of ratings of a user or item",
      AT(weighted), 0, 0, NULL}},
    {ALS | CCD | SFA, {"biases", 0, TOOL_FLAG, NULL, NULL, "a bias for each user and item", AT(biases), 0, 0, NULL}},
    {ALS | IMPLICIT,
     {"cg-steps", 0, TOOL_INTEGER, "N", NULL, "conjugate-gradient steps per half iteration", AT(cg_steps), 1, 1e6,
      NULL}},
    {SFA,
     {"cg-steps", 0, TOOL_INTEGER, "N", NULL, "conjugate-gradient steps per mini-batch", AT(cg_steps), 1, 1e6, NULL}},
    {IMPLICIT,
     {"confidence", 0, TOOL_REAL, "X", NULL, "an entry r has weight 1 + X * |r|; a negative r is a known dislike",
      AT(confidence), 0, 0, NULL}},
    {CCD, {"inner-rounds", 0, TOOL_INTEGER, "N", NULL, "rounds per feature", AT(inner_rounds), 1, 1e6, NULL}},
    {TOPICS,
     {"inner-rounds", 0, TOOL_INTEGER, "N", NULL, "updates of a mini-batch's documents", AT(inner_rounds), 1, 1e6,
      NULL}},
    {CCD, {"nonnegative", 0, TOOL_FLAG, NULL, NULL, "keep all factors at least 0", AT(nonnegative), 0, 0, NULL}},
    {LDA, {"row-prior", 0, TOOL_REAL, "X", NULL, "alpha of a document's topics; 0: 1 / K", AT(row_prior), 0, 0, NULL}},
    {LDA, {"column-prior", 0, TOOL_REAL, "X", NULL, "beta of a topic's words; 0: 1 / K", AT(column_prior), 0, 0, NULL}},
    {GAP,
     {"row-prior", 0, TOOL_REAL, "X", NULL, "shape of the gamma prior of a document's factors", AT(row_prior), 0, 0,
      NULL}},
    {GAP,
     {"column-prior", 0, TOOL_REAL, "X", NULL, "scale of that prior; 0: none (infinite)", AT(column_prior), 0, 0,
      NULL}},
    {LDA, {"map", 0, TOOL_FLAG, NULL, NULL, "maximum a posteriori, without exp(digamma)", AT(map), 0, 0, NULL}},
    {SFA, {"rate", 0, TOOL_REAL, "X", NULL, "ADAGRAD's rate", AT(rate), 0, 0, NULL}},
    {LDA | SFA,
     {"batch-rows", 0, TOOL_INTEGER, "N", NULL, "rows per mini-batch; 0: from the data", AT(batch_rows), 0, 9e15,
      NULL}},
    {GAP, {"batch-rows", 0, TOOL_INTEGER, "N", NULL, "rows per mini-batch; 0: all", AT(batch_rows), 0, 9e15, NULL}},
    {TOPICS,
     {"rate-decay", 0, TOOL_REAL, "X", NULL, "mini-batch t has weight (1 / (t + 1))^X", AT(rate_decay), 0, 0, NULL}},
    {ALL,
     {"seed", 's', TOOL_INTEGER, "SEED", NULL, "seed of the initial values and of the order of mini-batches", AT(seed),
      0, 9e18, NULL}},
    {ALL, {"type", 't', TOOL_CHOICE, "TYPE", NULL, "type of the numbers", AT(type), 0, 0, &tool_model_types}},
    {ALL,
     {"tolerance", 0, TOOL_REAL, "X", NULL, "stop if the loss decreases by less than this share of itself; 0: never",
      AT(tolerance), 0, 0, NULL}},
    {ALL,
     {"loss", 0, TOOL_FLAG, NULL, NULL, "compute the loss of each iteration, which takes time", AT(loss), 0, 0, NULL}},
    {ALL,
     {"threads", 0, TOOL_INTEGER, "T", NULL, "CPU threads; 0: the device's setting", AT(threads), 0, TOOL_THREADS_MOST,
      NULL}},
    {ALL, {"device", 'd', TOOL_CHOICE, "DEVICE", "best", "the device to use", AT(device), 0, 0, &tool_devices}},
    {ALL,
     {"algorithms", 0, TOOL_NAME, "NAMES", NULL,
      "for comparisons: one algorithm for all sparse calls, such as naive, or one each for sddmm, spmm and fused, "
      "separated by commas",
      AT(algorithms), 0, 0, NULL}},
    /* the data */
    {ALL, {"from", 0, TOOL_CHOICE, "FORMAT", "auto", "format of DATA", AT(from), 0, 0, &tool_file_formats}},
    {ALL & ~COUNTS,
     {"duplicates", 0, TOOL_CHOICE, "HOW", "last", "repeated pairs of a user and an item", AT(duplicates), 0, 0,
      &tool_repeats}},
    {COUNTS,
     {"duplicates", 0, TOOL_CHOICE, "HOW", "sum", "repeated entries, as in logs of events", AT(duplicates), 0, 0,
      &tool_repeats}},
    {ALL, {"vocabulary", 0, TOOL_PATH, "FILE", NULL, "names of the columns, one per line", AT(vocabulary), 0, 0, NULL}},
    {FEATURES,
     {"hold-out", 0, TOOL_REAL, "SHARE", "0", "share of each row's entries to hold out for the metric; 0: none",
      AT(hold_out), 0, 0.99, NULL}},
    {TOPICS,
     {"hold-out", 0, TOOL_REAL, "SHARE", "0", "share of each document's words to hold out for the metric; 0: none",
      AT(hold_out), 0, 0.99, NULL}},
    {ALL,
     {"leave-one-out", 0, TOOL_FLAG, NULL, NULL, "hold out one entry of each row that has two or more",
      AT(leave_one_out), 0, 0, NULL}},
    {ALL, {"split-seed", 0, TOOL_INTEGER, "SEED", "1", "seed of the held-out split", AT(split_seed), 0, 9e18, NULL}},
    {ALL,
     {"held-out", 0, TOOL_PATH, "FILE", NULL, "use the entries of this file as held-out data", AT(held_out), 0, 0,
      NULL}},
    {TOPICS,
     {"observed", 0, TOOL_PATH, "FILE", NULL,
      "the known words of the documents in --held-out; by default half of their words", AT(observed), 0, 0, NULL}},
    {BATCHES,
     {"stream", 0, TOOL_FLAG, NULL, NULL, "read DATA in mini-batches, again in each pass: it may be larger than memory",
      AT(stream), 0, 0, NULL}},
    /* what is written */
    {ALL,
     {"checkpoint", 'c', TOOL_ADDED_TO, "FILE", NULL,
      "checkpoint file of the training (MODEL.part); removed once MODEL is written", AT(checkpoint), 0, 0, NULL}},
    {ALL,
     {"checkpoint-seconds", 0, TOOL_REAL, "S", "30", "minimum time between two checkpoints", AT(checkpoint_seconds), 0,
      1e9, NULL}},
    {ALL,
     {"resume", 0, TOOL_PATH_MAYBE, "FILE", NULL,
      "continue from the checkpoint, or from FILE: another checkpoint, or a model that needs more iterations",
      AT(resume), 0, 0, NULL}},
    {ALL,
     {"json", 'j', TOOL_ADDED_TO, "FILE", NULL,
      "append a line of JSON for each iteration and one at the end; -: print them", AT(json), 0, 0, NULL}},
    {ALL,
     {"verbose", 'v', TOOL_FLAG, NULL, NULL, "print a line for each iteration even if the output is not a terminal",
      AT(verbose), 0, 0, NULL}},
    {ALL, {"quiet", 'q', TOOL_FLAG, NULL, NULL, "print nothing on success", AT(quiet), 0, 0, NULL}},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS < (int)TOOL_TRAIN_OPTIONS, "room for all options and the end of the table");

tool_option tool_train_options[TAMIS_GAP + 1][TOOL_TRAIN_OPTIONS];

/* ------------------------------------------------------------------------------------------ the library's side */

/* The C type of a field of tamis_model_options. NOT_BOOL: a bool that says the reverse. */
typedef enum kind { WHOLE, INT, SEED, ENUMERATION, REAL, BOOL, NOT_BOOL } kind;

typedef struct field_row {
    const char *option;
    kind kind;
    bool may_change; /* of a training that goes on: it does not change what the numbers are */
    size_t settings, options;
} field_row;

#define ROW(name, kind, may_change, setting, option)                                                                   \
    { name, kind, may_change, offsetof(tool_train_settings, setting), offsetof(tamis_model_options, option) }

static const field_row fields[] = {
    ROW("factors", WHOLE, false, factors, factors),
    ROW("type", ENUMERATION, false, type, type),
    ROW("iterations", INT, true, iterations, iterations),
    ROW("seed", SEED, false, seed, seed),
    ROW("tolerance", REAL, true, tolerance, tolerance),
    ROW("loss", NOT_BOOL, true, loss, skip_loss),
    ROW("regularization", REAL, false, regularization, regularization),
    ROW("weighted", BOOL, false, weighted, weighted),
    ROW("biases", BOOL, false, biases, biases),
    ROW("cg-steps", INT, false, cg_steps, cg_steps),
    ROW("confidence", REAL, false, confidence, confidence),
    ROW("inner-rounds", INT, false, inner_rounds, inner_rounds),
    ROW("nonnegative", BOOL, false, nonnegative, nonnegative),
    ROW("row-prior", REAL, false, row_prior, row_prior),
    ROW("column-prior", REAL, false, column_prior, column_prior),
    ROW("map", BOOL, false, map, maximum_a_posteriori),
    ROW("batch-rows", WHOLE, false, batch_rows, batch_rows),
    ROW("rate-decay", REAL, false, rate_decay, rate_decay),
    ROW("rate", REAL, false, rate, rate),
    ROW("column-regularization", REAL, false, column_regularization, column_regularization),
    ROW("threads", INT, true, threads, threads),
};
enum { FIELDS = sizeof fields / sizeof *fields };

static bool of_method(tamis_method method, const field_row *row) {
    return tool_option_find(tool_train_options[method], row->option, strlen(row->option)) != NULL;
}

bool tool_train_of_model(const tool_option *option) {
    for (int i = 0; i < FIELDS; i++) {
        if (strcmp(fields[i].option, option->name) == 0) return fields[i].kind != ENUMERATION;
    }
    return false;
}

void tool_train_to_library(const tool_train_settings *settings, tamis_model_options *options) {
    for (int i = 0; i < FIELDS; i++) {
        const field_row *row = &fields[i];
        const void *from = (const char *)settings + row->settings;
        void *to = (char *)options + row->options;
        if (!of_method(options->method, row)) continue;
        switch (row->kind) {
        case WHOLE: *(int64_t *)to = *(const int64_t *)from; break;
        case INT: *(int *)to = (int)*(const int64_t *)from; break;
        case SEED: *(uint64_t *)to = (uint64_t) * (const int64_t *)from; break;
        case ENUMERATION: *(tamis_type *)to = (tamis_type) * (const int *)from; break;
        case REAL: *(double *)to = *(const double *)from; break;
        case BOOL: *(bool *)to = *(const bool *)from; break;
        case NOT_BOOL: *(bool *)to = !*(const bool *)from; break;
        }
    }
}

void tool_train_from_library(const tamis_model_options *options, tool_train_settings *settings) {
    for (int i = 0; i < FIELDS; i++) {
        const field_row *row = &fields[i];
        const void *from = (const char *)options + row->options;
        void *to = (char *)settings + row->settings;
        if (!of_method(options->method, row)) continue;
        switch (row->kind) {
        case WHOLE: *(int64_t *)to = *(const int64_t *)from; break;
        case INT: *(int64_t *)to = *(const int *)from; break;
        case SEED: *(int64_t *)to = (int64_t) * (const uint64_t *)from; break;
        case ENUMERATION: *(int *)to = (int)*(const tamis_type *)from; break;
        case REAL: *(double *)to = *(const double *)from; break;
        case BOOL: *(bool *)to = *(const bool *)from; break;
        case NOT_BOOL: *(bool *)to = !*(const bool *)from; break;
        }
    }
}

/* A field as one would type it. */
static tool_word field_text(const field_row *row, const tool_train_settings *settings) {
    tool_word word;
    const void *at = (const char *)settings + row->settings;
    if (row->kind == REAL) {
        snprintf(word.text, sizeof word.text, "%.10g", *(const double *)at);
    } else if (row->kind == BOOL || row->kind == NOT_BOOL) {
        snprintf(word.text, sizeof word.text, "%s", *(const bool *)at ? "yes" : "no");
    } else if (row->kind == ENUMERATION) {
        snprintf(word.text, sizeof word.text, "%s", tamis_type_name((tamis_type) * (const int *)at));
    } else {
        snprintf(word.text, sizeof word.text, "%lld", (long long)*(const int64_t *)at);
    }
    return word;
}

/* A flag that is on unless it is turned off has a default, others none. */
static const char *preset_text(const field_row *row, const tool_train_settings *defaults, tool_word *word) {
    *word = field_text(row, defaults);
    const bool flag = row->kind == BOOL || row->kind == NOT_BOOL;
    return flag && strcmp(word->text, "yes") != 0 ? NULL : word->text;
}

static void prepare_method(tamis_method method) {
    static tool_word presets[TAMIS_GAP + 1][ROWS];
    tool_option *const options = tool_train_options[method];
    int count = 0;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].methods & (1 << method)) options[count++] = rows[i].option;
    }
    tool_train_settings settings = {0};
    tamis_model_options defaults;
    if (tamis_model_options_init(&defaults, method) != TAMIS_OK) return;
    tool_train_from_library(&defaults, &settings);
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < FIELDS; j++) {
            if (options[i].offset != fields[j].settings) continue;
            options[i].preset = preset_text(&fields[j], &settings, &presets[method][i]);
        }
    }
}

void tool_train_options_prepare(void) {
    for (int method = 0; method <= TAMIS_GAP; method++) prepare_method((tamis_method)method);
}

int tool_train_go_on(tamis_method method, const tamis_model_options *checkpoint, tool_train_settings *settings) {
    tool_train_settings before = *settings;
    tool_train_from_library(checkpoint, &before);
    *settings = before;
    const int code = tool_options_repeat(tool_train_options[method], settings);
    if (code) return code;
    for (int i = 0; i < FIELDS; i++) {
        const field_row *row = &fields[i];
        if (row->may_change || !of_method(method, row)) continue;
        const tool_word was = field_text(row, &before), wanted = field_text(row, settings);
        if (strcmp(was.text, wanted.text) == 0) continue;
        return tool_usage_error("--%s: the training to continue has %s, not %s", row->option, was.text, wanted.text);
    }
    return 0;
}
