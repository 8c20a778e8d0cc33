/* The options of training: one table that says which methods have an option. The options of a method are picked from it
   when the program starts, with the library's defaults where they are fields of tamis_model_options. */
#include "model/options.h"

#include <string.h>

#include "cli/exit.h"
#include "cli/text.h"
#include "group/group.h"

#define AT(field)    offsetof(tool_train_settings, field)
#define MODEL(field) (offsetof(tool_train_settings, model) + offsetof(tamis_model_options, field))

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
    SHARED = ALS | IMPLICIT, /* among several devices */
    COUNTS = TOPICS | IMPLICIT,
    ALL = TOPICS | FEATURES,
    MAY_CHANGE = 1 << 16 /* of a training that goes on: it does not change what the numbers are */
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
    {FEATURES,
     {"factors", 'k', TOOL_INTEGER, "K", NULL, "features of a user and an item", MODEL(factors), 1, 1024, NULL}},
    {TOPICS, {"factors", 'k', TOOL_INTEGER, "K", NULL, "topics", MODEL(factors), 1, 1024, NULL}},
    {TOPICS, {"topics", 0, TOOL_INTEGER, "K", NULL, "the same as --factors", MODEL(factors), 1, 1024, NULL}},
    {ALL | MAY_CHANGE,
     {"iterations", 'n', TOOL_INT, "N", NULL, "passes over the data", MODEL(iterations), 0, 1e9, NULL}},
    {ALS | IMPLICIT | CCD,
     {"regularization", 'l', TOOL_REAL, "LAMBDA", NULL, "lambda; 0: by the noise of the data", MODEL(regularization), 0,
      0, NULL}},
    {SFA,
     {"regularization", 'l', TOOL_REAL, "LAMBDA", NULL, "lambda of a user, greater than 0", MODEL(regularization), 0, 0,
      NULL}},
    {SFA,
     {"column-regularization", 0, TOOL_REAL, "LAMBDA", NULL, "lambda of an item", MODEL(column_regularization), 0, 0,
      NULL}},
    {ALS | CCD | SFA,
     {"weighted", 0, TOOL_FLAG, NULL, NULL, "multiply lambda by 40 plus the number of ratings of a user or item",
      MODEL(weighted), 0, 0, NULL}},
    {ALS | CCD | SFA, {"biases", 0, TOOL_FLAG, NULL, NULL, "a bias for each user and item", MODEL(biases), 0, 0, NULL}},
    {ALS | IMPLICIT,
     {"cg-steps", 0, TOOL_INT, "N", NULL, "conjugate-gradient steps per half iteration", MODEL(cg_steps), 1, 1e6,
      NULL}},
    {SFA,
     {"cg-steps", 0, TOOL_INT, "N", NULL, "conjugate-gradient steps per mini-batch", MODEL(cg_steps), 1, 1e6, NULL}},
    {IMPLICIT,
     {"confidence", 0, TOOL_REAL, "X", NULL, "an entry r has weight 1 + X * |r|; a negative r is a known dislike",
      MODEL(confidence), 0, 0, NULL}},
    {CCD, {"inner-rounds", 0, TOOL_INT, "N", NULL, "rounds per feature", MODEL(inner_rounds), 1, 1e6, NULL}},
    {TOPICS,
     {"inner-rounds", 0, TOOL_INT, "N", NULL, "updates of a mini-batch's documents", MODEL(inner_rounds), 1, 1e6,
      NULL}},
    {CCD, {"nonnegative", 0, TOOL_FLAG, NULL, NULL, "keep all factors at least 0", MODEL(nonnegative), 0, 0, NULL}},
    {LDA,
     {"row-prior", 0, TOOL_REAL, "X", NULL, "alpha of a document's topics; 0: 1 / K", MODEL(row_prior), 0, 0, NULL}},
    {LDA,
     {"column-prior", 0, TOOL_REAL, "X", NULL, "beta of a topic's words; 0: 1 / K", MODEL(column_prior), 0, 0, NULL}},
    {LDA,
     {"learn-row-prior", 0, TOOL_FLAG, NULL, NULL, "learn alpha, one for each topic, from --row-prior on",
      MODEL(learn_row_prior), 0, 0, NULL}},
    {GAP,
     {"row-prior", 0, TOOL_REAL, "X", NULL, "shape of the gamma prior of a document's factors", MODEL(row_prior), 0, 0,
      NULL}},
    {GAP,
     {"column-prior", 0, TOOL_REAL, "X", NULL, "scale of that prior; 0: none (infinite)", MODEL(column_prior), 0, 0,
      NULL}},
    {LDA,
     {"map", 0, TOOL_FLAG, NULL, NULL, "maximum a posteriori, without exp(digamma)", MODEL(maximum_a_posteriori), 0, 0,
      NULL}},
    {SFA, {"rate", 0, TOOL_REAL, "X", NULL, "ADAGRAD's rate", MODEL(rate), 0, 0, NULL}},
    {LDA | SFA,
     {"batch-rows", 0, TOOL_INTEGER, "N", NULL, "rows per mini-batch; 0: from the data", MODEL(batch_rows), 0, 9e15,
      NULL}},
    {GAP, {"batch-rows", 0, TOOL_INTEGER, "N", NULL, "rows per mini-batch; 0: all", MODEL(batch_rows), 0, 9e15, NULL}},
    {TOPICS,
     {"rate-decay", 0, TOOL_REAL, "X", NULL, "mini-batch t has weight (1 / (t + offset))^X", MODEL(rate_decay), 0, 0,
      NULL}},
    {TOPICS,
     {"rate-offset", 0, TOOL_REAL, "X", NULL, "the offset of that weight: less of it for the first mini-batches",
      MODEL(rate_offset), 0, 0, NULL}},
    {ALL,
     {"seed", 's', TOOL_INTEGER, "SEED", NULL, "seed of the initial values and of the order of mini-batches",
      MODEL(seed), 0, 9e18, NULL}},
    {ALL, {"type", 't', TOOL_CHOICE, "TYPE", NULL, "type of the numbers", MODEL(type), 0, 0, &tool_model_types}},
    {ALL | MAY_CHANGE,
     {"tolerance", 0, TOOL_REAL, "X", NULL, "stop if the loss decreases by less than this share of itself; 0: never",
      MODEL(tolerance), 0, 0, NULL}},
    {ALL | MAY_CHANGE,
     {"loss", 0, TOOL_FLAG_NOT, NULL, NULL, "compute the loss of each iteration, which takes time", MODEL(skip_loss), 0,
      0, NULL}},
    {LDA | MAY_CHANGE,
     {"elbo", 0, TOOL_FLAG, NULL, NULL, "also compute the evidence lower bound, which takes time", MODEL(elbo), 0, 0,
      NULL}},
    {ALL | MAY_CHANGE,
     {"threads", 0, TOOL_INT, "T", NULL, "CPU threads; 0: the device's setting", MODEL(threads), 0, TOOL_THREADS_MOST,
      NULL}},
    {ALL, {"device", 'd', TOOL_CHOICE, "DEVICE", "best", "the device to use", AT(device), 0, 0, &tool_devices}},
    {SHARED,
     {"devices", 0, TOOL_CHOSEN, "DEVICE,...", NULL,
      "the devices to use together, each with some rows of DATA; one may be named several times", AT(devices), 0, 0,
      &tool_devices}},
    {SHARED, TOOL_SPREAD(AT(spread))},
    {SHARED, TOOL_TRANSPORT(AT(transport))},
    {ALL,
     {"algorithms", 0, TOOL_NAME, "NAMES", NULL,
      "for comparisons: one algorithm for all sparse calls, such as naive, or one each for sddmm, spmm and fused, "
      "separated by commas",
      MODEL(algorithms), 0, 0, NULL}},
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
     {"checkpoint-seconds", 0, TOOL_REAL, "S", "30", "minimum time between two checkpoints", MODEL(checkpoint_seconds),
      0, 1e9, NULL}},
    {ALL,
     {"resume", 0, TOOL_PATH_MAYBE, "FILE", NULL,
      "continue from the checkpoint, or from FILE: another checkpoint, or a model that needs more iterations",
      AT(resume), 0, 0, NULL}},
    {ALL, TOOL_JSON_LINES("iteration and one at the end", AT(json))},
    {ALL,
     {"verbose", 'v', TOOL_FLAG, NULL, NULL, "print a line for each iteration even if the output is not a terminal",
      AT(verbose), 0, 0, NULL}},
    {ALL, {"quiet", 'q', TOOL_FLAG, NULL, NULL, "print nothing on success", AT(quiet), 0, 0, NULL}},
};
enum { ROWS = sizeof rows / sizeof *rows };
_Static_assert((int)ROWS < (int)TOOL_TRAIN_OPTIONS, "room for all options and the end of the table");

tool_option tool_train_options[TAMIS_GAP + 1][TOOL_TRAIN_OPTIONS];

_Static_assert(AT(model) == 0, "is_field() asks how far from the beginning");

/* A field of the model's options. */
static bool is_field(const tool_option *option) { return option->offset < sizeof(tamis_model_options); }

/* One that the model keeps: it stands before or after those that say where and how. */
static bool is_kept(const tool_option *option) {
    return is_field(option) && (option->offset < MODEL(algorithms) || option->offset >= MODEL(rate_offset));
}

bool tool_train_of_model(const tool_option *option) {
    return is_kept(option) && option->value != TOOL_CHOICE && strcmp(option->name, "topics") != 0;
}

/* A flag that is on unless it is turned off has a default, others none. */
static void prepare_method(tamis_method method) {
    static tool_word presets[TAMIS_GAP + 1][ROWS];
    tool_option *const options = tool_train_options[method];
    tool_train_settings settings = {.device = 0};
    if (tamis_model_options_init(&settings.model, method) != TAMIS_OK) return;
    int count = 0;
    for (int i = 0; i < ROWS; i++) {
        if (!(rows[i].methods & (1 << method))) continue;
        tool_option *const option = &options[count];
        *option = rows[i].option;
        tool_word *const text = &presets[method][count++];
        if (!is_field(option) || option->value == TOOL_NAME) continue;
        *text = tool_option_text(option, &settings);
        option->preset = tool_option_is_flag(option) && strcmp(text->text, "yes") != 0 ? NULL : text->text;
    }
}

void tool_train_options_prepare(void) {
    for (int method = 0; method <= TAMIS_GAP; method++) prepare_method((tamis_method)method);
}

int tool_train_go_on(tamis_method method, const tamis_model_options *checkpoint, tool_train_settings *settings) {
    const double seconds = settings->model.checkpoint_seconds;
    settings->model = *checkpoint;
    settings->model.checkpoint_seconds = seconds;
    const tool_train_settings before = *settings;
    const int code = tool_options_repeat(tool_train_options[method], settings);
    if (code) return code;
    for (int i = 0; i < ROWS; i++) {
        const tool_option *option = &rows[i].option;
        if (!(rows[i].methods & (1 << method)) || !is_kept(option) || rows[i].methods & MAY_CHANGE) continue;
        const tool_word was = tool_option_text(option, &before), wanted = tool_option_text(option, settings);
        if (strcmp(was.text, wanted.text) == 0) continue;
        return tool_usage_error("--%s: the training to continue has %s, not %s", option->name, was.text, wanted.text);
    }
    return 0;
}
