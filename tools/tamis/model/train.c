/* tamis train METHOD: reads data, fits a model, printing a row per iteration, and writes the model. Checkpoints allow
   an interrupted training to resume. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tamis/structure.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/exit.h"
#include "cli/operands.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/text.h"
#include "cli/visible.h"
#include "group/join.h"
#include "io/files/output.h"
#include "model/data.h"
#include "model/group.h"
#include "model/options.h"
#include "model/report.h"
#include "model/seeds.h"

enum { SPREAD_AUTO = 0 };                /* of tool_spreads */
static const int64_t STREAM_ROWS = 1024; /* default rows of a mini-batch with --stream */

typedef struct training {
    tool_train_settings settings;
    tamis_method method;
    const char *data_spec;
    char *checkpoint;            /* its file, NULL for none */
    bool saved;                  /* the whole model is in it */
    const char *resume;          /* the file from which to resume, NULL for none */
    tool_chosen devices;         /* devices that fit together; none: one device */
    tool_device device;          /* the first of them */
    tamis_model_options options; /* of the model's fit */
    tamis_model *model;
    tool_data data;        /* without --stream */
    tool_data features[2]; /* of rows and columns */
    tamis_batches *batches;
    tamis_sparse batch;         /* of the stream, widened to the vocabulary */
    tamis_owned_sparse *unique; /* the same without replaced ratings; NULL: there are none */
    int64_t columns;
    tamis_names *vocabulary;
    tool_held_out held;
    tool_group_choice choice; /* of several devices */
    tool_training_report report;
    double read_seconds;
    tool_text last_words;
} training;

/* ------------------------------------------------------------------------------------------ what is asked for */

static bool is_file(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 && S_ISREG(there.st_mode);
}

static int check_settings(const tool_train_settings *set, tamis_method method) {
    if (!set->output) return tool_usage_error("-o MODEL is missing");
    const int ways = (set->hold_out > 0) + set->leave_one_out + (set->held_out != NULL);
    if (ways > 1) return tool_usage_error("--hold-out, --leave-one-out and --held-out exclude one another");
    if (set->observed && !set->held_out) return tool_usage_error("--observed: needs --held-out");
    if (set->stream && ways > 0 && !set->held_out)
        return tool_usage_error("--stream: held-out entries must be in a separate file, --held-out FILE");
    if (set->stream && set->held_out && !tool_method_of_documents(method))
        return tool_usage_error(
            "--held-out: not with --stream, since %s stores nothing of a stream's rows; use 'tamis score' to measure the "
            "model on other rows",
            tamis_method_name(method));
    if (set->stream && set->from != TAMIS_FILE_AUTO)
        return tool_usage_error("--from: not with --stream, whose format is determined by its name and content");
    if (set->stream && set->columns)
        return tool_usage_error(
            "--columns: not with --stream, which reads a matrix: train without --stream, or convert "
            "the file");
    if (set->stream && set->duplicates != tool_method_of_counts(method)) { /* the default */
        return tool_usage_error("--duplicates: not with --stream, where a row's repeated entries %s",
                                tool_method_of_counts(method) ? "add up" : "are replaced by the last");
    }
    if (set->texts && (set->stream || set->columns || set->from != TAMIS_FILE_AUTO))
        return tool_usage_error("--texts: not with --stream, --columns or --from");
    if (set->devices.count > 0 && (set->features[0] || set->features[1]))
        return tool_usage_error("--%s-features: not with --devices: features are of use to fits on one device",
                                set->features[0] ? "user" : "item");
    if (set->base && set->stream) return tool_usage_error("--continue: not with --stream");
    if (set->base && set->devices.count > 0) return tool_usage_error("--continue: not with --devices");
    return 0;
}

/* Chooses the checkpoint's file, and the file from which to resume. */
static int choose_checkpoint(training *run) {
    const tool_train_settings *set = &run->settings;
    struct stat there;
    const bool device = strcmp(set->output, "-") == 0 ||
                        (stat(set->output, &there) == 0 &&
                         !S_ISREG(there.st_mode)); /* a device or pipe has no place for a checkpoint beside it */
    if (set->checkpoint && strcmp(set->checkpoint, "-") == 0)
        return tool_usage_error("--checkpoint: -, that is standard output, cannot be read again; name a file");
    if (set->checkpoint || !device) {
        const char *base = set->checkpoint ? set->checkpoint : set->output;
        const size_t bytes = strlen(base) + 8;
        run->checkpoint = tool_allocate(bytes, 1);
        snprintf(run->checkpoint, bytes, "%s%s", base, set->checkpoint ? "" : ".part");
    }
    if (run->checkpoint && tamis_output_same(run->checkpoint, set->output))
        return tool_usage_error("--checkpoint: %s is the model file; use another name", set->output);
    if (run->checkpoint && set->json && tamis_output_same(run->checkpoint, set->json))
        return tool_usage_error("--json: %s is the checkpoint of the training; use another name", set->json);
    TOOL_TRY(run->checkpoint ? tool_output_check(run->checkpoint, 1) : 0);
    if (!set->resume) {
        if (!run->checkpoint || !is_file(run->checkpoint)) return 0;
        return tool_usage_error("%s exists, from an unfinished training: continue it with --resume, or remove the file "
                                "to start again",
                                run->checkpoint);
    }
    run->resume = *set->resume ? set->resume : run->checkpoint;
    if (!run->resume) return tool_usage_error("--resume: FILE is missing");
    if (run->checkpoint && !tamis_output_same(run->resume, run->checkpoint) && is_file(run->checkpoint))
        return tool_usage_error(
            "%s exists, from another unfinished training: continue that training, or remove the file", run->checkpoint);
    if (is_file(run->resume)) return 0;
    return tool_failure(TOOL_FILE, "%s: no such checkpoint", run->resume);
}

/* ------------------------------------------------------------------------------------------ model and data */

/* Sets the library's options. With several processes, rank 0 writes and reports. */
static void set_library_options(training *run) {
    const bool first = tool_rank_number() == 0;
    run->options = run->settings.model;
    run->options.checkpoint = first ? run->checkpoint : NULL;
    run->options.callback = first ? tool_training_report_add : NULL;
    run->options.callback_context = &run->report;
}

static int make_model(training *run) {
    set_library_options(run);
    return tool_library_error(tamis_model_create(run->device.device, &run->options, &run->model), NULL);
}

static int open_model(const training *run, const char *path, tamis_model **model,
                      tamis_model_description *description) {
    tamis_status status = tamis_model_load(run->device.device, path, model);
    if (status == TAMIS_OK) status = tamis_model_describe(*model, description);
    if (status != TAMIS_OK) return tool_file_error(status, path);
    if (description->options.method == run->method) return 0;
    return tool_usage_error("%s is a model of %s, not of %s", path, tamis_method_name(description->options.method),
                            tamis_method_name(run->method));
}

/* Sets *done to the number of iterations of the model of --continue. */
static int count_done(const training *run, int *done) {
    tamis_model *base = NULL;
    tamis_model_description description = {.iterations_done = 0};
    const int code = open_model(run, run->settings.base, &base, &description);
    tamis_model_free(base);
    if (code == 0) *done = description.iterations_done;
    return code;
}

/* Loads the model of --continue, or a checkpoint, perhaps of such a training. */
static int load_model(training *run) {
    tamis_model_description description;
    const char *const base = run->settings.base, *const path = run->resume ? run->resume : base;
    int done = 0;
    TOOL_TRY(open_model(run, path, &run->model, &description));
    TOOL_TRY(tool_train_go_on(run->method, &description.options, &run->settings));
    TOOL_TRY(base && run->resume ? count_done(run, &done) : 0);
    run->settings.model.iterations += done;
    set_library_options(run);
    tamis_status status = tamis_model_continue_with(run->model, &run->options);
    if (status == TAMIS_OK && base && !run->resume) status = tamis_model_renew(run->model);
    return tool_library_error(status, path);
}

/* Checks that either both data and model have names, or neither: otherwise rows and columns cannot be matched. */
static int check_names(const training *run) {
    const bool named = tamis_model_column_names(run->model) != NULL;
    if (!run->settings.base || named == (run->data.columns != NULL)) return 0;
    return tool_failure(TOOL_FILE,
                        "%s %s names, and %s %s: a training goes on with data whose ids are of the same kind",
                        run->settings.base, named ? "has" : "has no", run->data_spec, named ? "has none" : "has");
}

/* Keeps the last of repeated ratings in a batch, as in data that are read at once; a fit would sum them. */
static tamis_status replace_repeated(training *run, const tamis_sparse **batch) {
    tamis_profile profile;
    tamis_status status = tamis_row_profile(*batch, &profile);
    if (status != TAMIS_OK || profile.duplicates == 0) return status;
    tamis_convert_options options = TAMIS_CONVERT_OPTIONS_INIT;
    options.index_type = (*batch)->index_type;
    options.offset_type = TAMIS_I64;
    options.value_type = (*batch)->value_type;
    options.sort = true;
    options.duplicates = TAMIS_DUPLICATES_LAST;
    status = tamis_convert(*batch, &options, &run->unique);
    if (status == TAMIS_OK) *batch = tamis_owned_sparse_view(run->unique);
    return status;
}

/* Widens the batches of a stream to the vocabulary. */
static tamis_status next_batch(void *context, const tamis_sparse **batch) {
    training *run = context;
    tamis_owned_sparse_free(run->unique);
    run->unique = NULL;
    const tamis_status status = tamis_batches_next(run->batches, batch);
    if (status != TAMIS_OK || !*batch) return status;
    run->batch = **batch;
    run->batch.cols = run->columns;
    *batch = &run->batch;
    return tool_method_of_counts(run->method) ? TAMIS_OK : replace_repeated(run, batch);
}

/* Refuses pairs without ratings, which are uses, for models of ratings: if all ratings are 1, there is nothing to
   learn. */
static int check_rated(const training *run) {
    const tamis_sparse *const S = &run->data.S;
    if (run->settings.stream || tool_method_about(run->method)->data != TAMIS_DATA_RATINGS || S->nnz < 2) return 0;
    for (int64_t t = 0; t < S->nnz; t++)
        if (S->values && tool_element_get(S->values, S->value_type, t) != 1) return 0;
    return tool_failure(
        TOOL_FILE,
        "%s: all ratings are 1: %s models ratings that differ; 'tamis train implicit-als' models uses, purchases "
        "and clicks",
        run->data_spec, tamis_method_name(run->method));
}

static int open_data(training *run) {
    const tool_train_settings *set = &run->settings;
    const double start = tool_seconds();
    if (set->stream) {
        const int64_t rows = set->model.batch_rows > 0 ? set->model.batch_rows : STREAM_ROWS;
        TOOL_TRY(tool_file_error(tamis_batches_open(run->data_spec, rows, &run->batches), run->data_spec));
        run->columns = tamis_batches_columns(run->batches);
        tool_matrix_name(run->data_spec, run->data.name, sizeof run->data.name);
    } else {
        const tool_data_request request = {.spec = run->data_spec,
                                           .format = set->from,
                                           .columns_of = set->columns,
                                           .method = run->method,
                                           .sum = set->duplicates == 1,
                                           .texts = set->texts,
                                           .min_documents = set->min_documents,
                                           .max_share = set->max_share,
                                           .pairs = set->pairs,
                                           .rows = set->base ? tamis_model_row_names(run->model) : NULL,
                                           .columns = set->base ? tamis_model_column_names(run->model) : NULL,
                                           .unknown_too = set->base != NULL};
        TOOL_TRY(tool_data_open(&request, &run->data));
        TOOL_TRY(check_names(run));
        for (int i = 0; i < 2; i++)
            if (set->features[i])
                TOOL_TRY(tool_features_open(set->features[i], run->method, i == 0, &run->data, &run->features[i]));
        run->columns = run->data.S.cols;
    }
    if (set->vocabulary && run->data.columns)
        return tool_usage_error("--vocabulary: %s already has names", run->data_spec);
    TOOL_TRY(check_rated(run));
    const int code = tool_vocabulary_open(set->vocabulary, &run->columns, &run->vocabulary);
    run->data.S.cols = run->columns;
    if (code == 0 && !set->stream && run->data.S.nnz == 0 && run->columns > 0 && tool_rank_number() == 0)
        tool_warning("%s: no entries: the model learns nothing", run->data_spec);
    run->read_seconds = tool_seconds() - start;
    return code;
}

/* Returns the number of common entries of a and b: CSR, sorted, without duplicates. */
static int64_t count_common(const tamis_sparse *a, const tamis_sparse *b) {
    int64_t common = 0;
    for (int64_t row = 0; row < a->rows && row < b->rows; row++) {
        int64_t s = tool_index_get(a->offsets, a->offset_type, row),
                t = tool_index_get(b->offsets, b->offset_type, row);
        const int64_t s_end = tool_index_get(a->offsets, a->offset_type, row + 1);
        const int64_t t_end = tool_index_get(b->offsets, b->offset_type, row + 1);
        while (s < s_end && t < t_end) {
            const int64_t p = tool_index_get(a->columns, a->index_type, s);
            const int64_t q = tool_index_get(b->columns, b->index_type, t);
            common += p == q;
            s += p <= q;
            t += q <= p;
        }
    }
    return common;
}

/* Refuses held-out entries that are also in the training data. */
static int check_overlap(const training *run) {
    const tamis_sparse *data = &run->data.S, *held = &run->held.entries.S;
    const bool same_size = data->rows == held->rows && data->cols == held->cols; /* else the fit says so */
    const int64_t common = same_size ? count_common(data, held) : 0;
    if (common == 0) return 0;
    return tool_failure(
        TOOL_FILE, "%s: %s of its %s entries are in %s too: hold out entries that the training does not have",
        run->settings.held_out, tool_word_count(common).text, tool_word_count(held->nnz).text, run->data_spec);
}

static int hold_out(training *run) {
    const tool_train_settings *set = &run->settings;
    if (set->hold_out > 0 || set->leave_one_out)
        return tool_hold_out_split(run->method, run->data_spec, &run->data.S, set->leave_one_out, set->hold_out,
                                   set->split_seed, &run->held);
    if (!set->held_out) return 0;
    const bool documents = tool_method_of_documents(run->method);
    const tool_data_request request = {.spec = set->held_out,
                                       .format = set->from,
                                       .columns_of = set->columns,
                                       .method = run->method,
                                       .sum = set->duplicates == 1,
                                       .texts = set->texts,
                                       .rows = documents ? NULL : run->data.rows,
                                       .columns = run->vocabulary ? run->vocabulary : run->data.columns,
                                       .row_count = documents ? 0 : run->data.S.rows,
                                       .column_count = run->columns,
                                       .new_rows = documents};
    const int code = tool_hold_out_read(&request, set->observed, set->split_seed, &run->held);
    if (code || documents) return code;
    run->held.view.observed = &run->data.S; /* not recommended again */
    return set->stream ? 0 : check_overlap(run);
}

static int set_names(training *run) {
    const tamis_names *rows = run->data.rows, *columns = run->vocabulary ? run->vocabulary : run->data.columns;
    if (!rows && !columns) return 0; /* a resumed model keeps its names */
    if (!rows) rows = tamis_model_row_names(run->model);
    if (!columns) columns = tamis_model_column_names(run->model);
    return tool_library_error(tamis_model_set_names(run->model, rows, columns), NULL);
}

/* A training that goes on has its seeds. */
static int set_seeds(training *run) {
    const tool_train_settings *set = &run->settings;
    if (!set->seeds || run->resume) return 0;
    return tool_seeds_set(set->seeds, run->vocabulary ? run->vocabulary : run->data.columns, run->columns,
                          set->model.factors, run->model);
}

/* ------------------------------------------------------------------------------------------ fitting */

/* Appends the command that resumes the training. */
static void add_continuation(const training *run, tool_text *text) {
    tool_text line = {0};
    tool_options_retype(&line, "resume");
    tool_text_add(text, "tamis train %s --resume%s", tamis_method_name(run->method), tool_text_get(&line));
    tool_text_free(&line);
}

/* Prepares the message for a signal that ends the process within a long iteration. */
static void prepare_last_words(training *run) {
    tool_text *const words = &run->last_words;
    if (!run->checkpoint) return;
    tool_text_add(words,
                  "tamis train %s: interrupted; the progress of the last checkpoint is saved in %s. To continue:\n",
                  tamis_method_name(run->method), tool_visible(run->checkpoint));
    tool_text line = {0};
    add_continuation(run, &line);
    tool_text_add(words, "%s\n", tool_visible(tool_text_get(&line)));
    tool_text_free(&line);
    tool_interrupt_words_if(run->checkpoint, tool_text_get(words));
}

static int report_interrupted(const training *run) {
    const tamis_iteration *last = &run->report.last;
    if (last->iteration == 0) return tool_failure(TOOL_INTERRUPTED, "interrupted before the first iteration");
    const tool_word where =
        tool_word_of("%s iteration %d", last->batch == last->batches ? "after" : "in", last->iteration);
    if (!run->checkpoint || !is_file(run->checkpoint))
        return tool_failure(TOOL_INTERRUPTED, "interrupted %s of %d", where.text, last->iterations);
    tool_text how = {0};
    add_continuation(run, &how);
    tool_error("interrupted %s of %d; the progress is saved in %s. To continue:", where.text, last->iterations,
               run->checkpoint);
    tool_message_line(tool_text_get(&how));
    tool_text_free(&how);
    return TOOL_INTERRUPTED;
}

/* Returns true if only the last checkpoint could not be written. With several devices the first one writes it. */
static bool checkpoint_failed(const training *run, tamis_status status) {
    static const char who[] = "rank 0: ";
    const char *said = tamis_last_error();
    if (strncmp(said, who, sizeof who - 1) == 0) said += sizeof who - 1;
    return status == TAMIS_ERROR_FILE && run->checkpoint &&
           strncmp(said, run->checkpoint, strlen(run->checkpoint)) == 0;
}

/* Gives the features to the model. */
static int set_features(training *run) {
    tamis_status status = TAMIS_OK;
    for (int i = 0; i < 2 && status == TAMIS_OK; i++)
        if (run->settings.features[i]) status = tamis_model_set_features(run->model, i == 0, &run->features[i].S);
    return tool_library_error(status, NULL);
}

/* Returns the data without held-out entries. */
static const tamis_sparse *fitted_data(const training *run) {
    return run->held.kept && !run->settings.held_out ? tamis_owned_sparse_view(run->held.kept) : &run->data.S;
}

static tool_group_fit group_fit_of(const training *run, const tamis_held_out *held) {
    return (tool_group_fit){.devices = &run->devices,
                            .device = run->device.device,
                            .model = run->model,
                            .options = &run->options,
                            .resume = run->resume,
                            .S = fitted_data(run),
                            .held_out = held};
}

/* Chooses all devices, or only the first if it is predicted to be no slower. */
static int choose_devices(training *run) {
    const tool_group_fit what = group_fit_of(run, NULL);
    if (run->settings.spread == SPREAD_AUTO) run->choice = tool_fit_predict(&what);
    return 0;
}

static bool is_alone(const training *run) { return run->devices.count == 0 || run->choice.stays; }

static tamis_status fit_model(training *run, const tamis_held_out *held) {
    if (run->settings.stream) return tamis_model_fit_stream(run->model, next_batch, run, run->columns, held);
    if (is_alone(run)) return tamis_model_fit(run->model, fitted_data(run), held);
    const tool_group_fit what = group_fit_of(run, held);
    return tool_fit_group(&what);
}

static int fit(training *run, double *seconds) {
    const double start = tool_seconds();
    if (tool_rank_number() == 0) prepare_last_words(run);
    const tamis_status status = fit_model(run, run->held.view.entries ? &run->held.view : NULL);
    *seconds = tool_seconds() - start;
    run->saved = status == TAMIS_OK && run->checkpoint;
    tool_interrupt_words_if(NULL, NULL);
    tool_progress_clear();
    if (run->report.written) return run->report.written;
    if (status == TAMIS_ERROR_CANCELLED) return report_interrupted(run);
    if (status == TAMIS_OK || (checkpoint_failed(run, status) && !tool_interrupted())) return 0;
    return tool_library_error(status, checkpoint_failed(run, status) ? NULL : run->data_spec);
}

static void name_devices(const training *run, tool_text *text) {
    char names[512];
    tool_chosen_text(&tool_devices, &run->devices, names, sizeof names);
    if (tool_ranks_transport())
        tool_text_add(text, tool_rank_count() == 1 ? "one process" : "%d processes", tool_rank_count());
    else
        tool_text_add(text, "%s", is_alone(run) ? run->device.description.name : names);
}

/* Tries to link the last checkpoint as the output file, since large models take seconds to write. Returns true on
   success. This requires that the output does not exist, that both are on one file system, and that this training made
   the checkpoint, with a new file's permissions. */
static bool takes_checkpoint(const training *run) {
    const char *const output = run->settings.output;
    struct stat is;
    return run->saved && !run->resume && strcmp(output, "-") != 0 && lstat(run->checkpoint, &is) == 0 &&
           S_ISREG(is.st_mode) && link(run->checkpoint, output) == 0;
}

static int finish(training *run, double seconds) {
    const tool_train_settings *set = &run->settings;
    tamis_model_description description;
    const bool taken = takes_checkpoint(run);
    tamis_status status = taken ? TAMIS_OK : tamis_model_save(run->model, set->output);
    if (status != TAMIS_OK) {
        const int code = tool_file_error(status, set->output);
        if (run->checkpoint && is_file(run->checkpoint))
            tool_error("the progress is saved in %s: continue with --resume -o ANOTHER", run->checkpoint);
        return code;
    }
    if (run->checkpoint && is_file(run->checkpoint) && (taken || !tamis_output_same(run->checkpoint, set->output)))
        unlink(run->checkpoint);
    status = tamis_model_describe(run->model, &description);
    double baseline = (double)NAN;
    if (status == TAMIS_OK && run->held.view.entries && !set->stream)
        status = tamis_baseline(run->method, fitted_data(run), run->held.view.entries, &baseline);
    if (status != TAMIS_OK) return tool_library_error(status, NULL);
    tool_text device = {0};
    name_devices(run, &device);
    const tool_training_summary summary = {
        .model = set->output,
        .data = run->data.name,
        .device = tool_text_get(&device),
        .devices = tool_ranks_transport() ? 0 : run->devices.count,
        .choice = run->choice,
        .rows = run->data.S.rows,
        .held_out = run->held.view.entries ? run->held.view.entries->nnz : -1,
        .baseline = baseline,
        .read_seconds = run->read_seconds,
        .fit_seconds = seconds,
        .asked = &run->settings.model,
        .features = {set->features[0] != NULL, set->features[1] != NULL},
    };
    tool_training_report_end(&run->report, &summary, &description, set->quiet);
    tool_text_free(&device);
    return run->report.written;
}

/* Checks that there is room for the model and its checkpoint, which have at least the columns' factors. */
static int check_space(training *run) {
    const tamis_model_options *const model = &run->settings.model;
    const double factors = model->factors > 0 ? (double)model->factors : 1; /* not chosen yet */
    const double bytes = (double)run->columns * factors * (double)tamis_type_size(model->type);
    const int code = tool_output_check(run->settings.output, bytes);
    return code || !run->checkpoint ? code : tool_output_check(run->checkpoint, bytes);
}

/* Trains. Makes the model first, so that invalid options are refused before large data are read. */
static int train(training *run) {
    int (*const steps[])(training *) = {run->resume || run->settings.base ? load_model : make_model,
                                        open_data,
                                        check_space,
                                        hold_out,
                                        set_names,
                                        set_seeds,
                                        set_features,
                                        choose_devices};
    double seconds = 0;
    int code = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && code == 0; i++) code = tool_ranks_agree_code(steps[i](run));
    if (code == 0) code = tool_ranks_agree_code(fit(run, &seconds));
    if (code == 0 && tool_rank_number() == 0) code = finish(run, seconds);
    return tool_ranks_agree_code(code);
}

static int run_train(const void *given, int count, char **operands) {
    (void)count;
    training run = {.settings = *(const tool_train_settings *)given, .data_spec = operands[1]};
    tamis_status status = tamis_method_from_name(operands[0], &run.method);
    if (status == TAMIS_OK) status = tamis_model_options_init(&run.settings.model, run.method);
    if (status != TAMIS_OK) return tool_library_error(status, NULL);
    TOOL_TRY(tool_options_repeat(tool_train_options(run.method), &run.settings));
    TOOL_TRY(check_settings(&run.settings, run.method));
    run.devices = run.settings.devices;
    TOOL_TRY(tool_ranks_begin(run.settings.transport, 0, &run.devices));
    int code = tool_ranks_agree_code(choose_checkpoint(&run));
    if (code == 0)
        code = tool_device_open(run.devices.count > 0 ? run.devices.at[0] : run.settings.device, false, &run.device);
    if (code == 0) {
        const char *json = tool_rank_number() == 0 ? run.settings.json : NULL;
        code = tool_ranks_agree_code(
            tool_training_report_open(&run.report, json, run.settings.verbose, run.settings.quiet));
    }
    if (code == 0) {
        code = train(&run);
        const int closed = tool_training_report_close(&run.report);
        if (code == 0) code = closed;
    }
    tool_held_out_free(&run.held);
    tool_data_close(&run.data);
    for (int i = 0; i < 2; i++) tool_data_close(&run.features[i]);
    tamis_names_free(run.vocabulary);
    tamis_batches_close(run.batches);
    tamis_owned_sparse_free(run.unique);
    tamis_model_free(run.model);
    tool_device_close(&run.device);
    tool_text_free(&run.last_words);
    free(run.checkpoint);
    return code;
}

/* ------------------------------------------------------------------------------------------ the command */

const tool_command tool_train_command = {
    .name = "train",
    .summary = "fit a model to ratings, uses or documents",
    .operands = "DATA",
    .methods = tool_train_methods,
    .settings_size = sizeof(tool_train_settings),
    .run = run_train,
};
