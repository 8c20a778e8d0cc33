/* Subcommands of the Python package: what is measured is read, compared and drawn there. The options are listed here
   too, for the help, the man page and completion; the package gets the command line as it was given. */
#include "cli/python.h"

#include <stddef.h>

#include "cli/command.h"
#include "cli/exit.h"

typedef struct settings {
    const char *output, *title, *values, *columns, *state, *devices, *set, *split, *test_from, *relevant, *where, *by,
        *test;
    double threshold, hold_out;
    int device;
    int64_t folds, iterations, seed, top;
    bool json, drift, no_clobber, grid, tuned;
} settings;

static int run_roofline(const void *given, int count, char **operands) {
    (void)count, (void)operands;
    return ((const settings *)given)->output ? tool_python_command("tamis_lab.roofline")
                                             : tool_usage_error("-o FILE is missing");
}

#define AT(field) offsetof(settings, field)

static const tool_option report_options[] = {
    {"output", 'o', TOOL_OUTPUT, "FILE", "report.html", "the output file; -: standard output", AT(output), 0, 0, NULL},
    TOOL_NO_CLOBBER(AT(no_clobber)),
    TOOL_NAME("title", 0, "TEXT", AT(title), "the title of the page; by default that of the suite"),
    {.name = NULL},
};

const tool_command tool_report_command = TOOL_COMMAND("report", "RESULTS ...", "make an HTML page of measurements",
                                                      report_options, settings, .module = "tamis_lab.report");

static const tool_option compare_options[] = {
    TOOL_REAL("threshold", 0, "PERCENT", "5", AT(threshold), 0, 1000, "the smallest change of a median that counts"),
    TOOL_FLAG("drift", 0, AT(drift), "first divide the times of B by the drift of peers and of the naive loop"),
    TOOL_FLAG("json", 0, AT(json), "an object instead of text"),
    {.name = NULL},
};

const tool_command tool_compare_command =
    TOOL_COMMAND("compare", "A B", "compare two result files: what became faster or slower", compare_options, settings,
                 .module = "tamis_lab.compare");

static const tool_option roofline_options[] = {
    TOOL_OUTPUT("output", 'o', "FILE", AT(output), "output file: .svg, .png or .pdf; -: standard output, as SVG"),
    TOOL_NO_CLOBBER(AT(no_clobber)),
    TOOL_CHOICE("device", 'd', "DEVICE", "best", AT(device), &tool_devices,
                "the device; by default, with RESULTS, their first one"),
    {.name = NULL},
};

const tool_command tool_roofline_command =
    TOOL_COMMAND("roofline", "[RESULTS ...]", "plot the ceilings of a device and the results reached", roofline_options,
                 settings, .run = run_roofline);

static const tool_option tune_options[] = {
    TOOL_DATA_COLUMNS(AT(columns)),
    TOOL_NAME(
        "values", 0, "NAME=V,V,...", AT(values),
        "values of an option to try, such as factors=16,32 or biases=yes,no; may be repeated, other options keep their list"),
    TOOL_INTEGER("folds", 0, "N", "3", AT(folds), 2, 1e6,
                 "parts into which the data are split, one of which is held out"),
    TOOL_INTEGER("iterations", 0, "N", NULL, AT(iterations), 1, 1e6,
                 "iterations of a whole fit; by default the method's"),
    TOOL_INTEGER("seed", 0, "SEED", "1", AT(seed), 0, 9e18, "seed of the folds and the models"),
    TOOL_NAME("by", 0, "recall|ndcg", AT(by), "for uses: judge by this number of the first ten; by default recall"),
    TOOL_ADDED_TO("state", 0, "FILE", AT(state), "keep results in FILE, and continue from those already there"),
    {"devices", 0, TOOL_NAME, "LIST", "cpu", "devices for fits side by side, separated by commas", AT(devices), 0, 0,
     NULL},
    TOOL_FLAG("grid", 0, AT(grid), "fit all candidates to the end"),
    TOOL_FLAG("json", 0, AT(json), "an object instead of text"),
    {.name = NULL},
};

const tool_command tool_tune_command =
    TOOL_COMMAND("tune", "METHOD DATA", "find the options of a model by cross-validation", tune_options, settings,
                 .module = "tamis.tune");

static const tool_option evaluate_options[] = {
    TOOL_DATA_COLUMNS(AT(columns)),
    TOOL_NAME("set", 0, "NAME=VALUE", AT(set), "an option of the method, such as factors=64; may be repeated"),
    TOOL_FLAG("tuned", 0, AT(tuned),
              "first find each method's options, on folds of what is fitted, as tamis tune does"),
    TOOL_NAME("split", 0, "HOW", AT(split),
              "what is held out: time, random, leave-one-out, last or date; by default time where the data have times, "
              "else random"),
    TOOL_REAL("hold-out", 0, "SHARE", "0.2", AT(hold_out), 0, 0.99,
              "of each row's entries, for random; of all entries, the latest, for time"),
    TOOL_NAME("test-from", 0, "DATE", AT(test_from), "hold out the entries from this date or time on"),
    TOOL_PATH("test", 0, "FILE", AT(test), "measure on the entries of this file, and fit to all of DATA"),
    TOOL_INTEGER("folds", 0, "N", "1", AT(folds), 1, 1000, "random splits; prints the mean and the deviation"),
    TOOL_INTEGER("top", 0, "N", "10", AT(top), 1, 1e6, "number of recommendations"),
    TOOL_NAME("relevant", 0, "X", AT(relevant), "held-out entries of at least this value are the relevant ones"),
    TOOL_INTEGER("seed", 0, "SEED", "1", AT(seed), 0, 9e18, "seed of the split"),
    {"device", 0, TOOL_NAME, "DEVICE", "cpu", "the device to use", AT(where), 0, 0, NULL},
    TOOL_FLAG("json", 0, AT(json), "an object instead of a table"),
    {.name = NULL},
};

const tool_command tool_evaluate_command =
    TOOL_COMMAND("evaluate", "METHOD DATA", "measure a method on held-out entries, beside popularity and biases",
                 evaluate_options, settings, .module = "tamis.evaluate");
