/* Subcommands of the Python package, which reads, compares and draws measurements. The options are listed here, too,
   for the help, the man page and completion; the package receives the original command line. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/device.h"
#include "cli/exit.h"
#include "cli/interrupt.h"
#include "cli/python.h"

/* Start-up code: if the package is missing, it says what to install and exits with TOOL_UNSUPPORTED. Before importing
   anything it removes the current folder from the path, as that may hold untrusted modules. */
static const char start[] =
    "import sys\n"
    "sys.path = [folder for folder in sys.path if folder]\n"
    "import importlib.util, runpy, signal\n"
    "if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN: signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\n"
    "module = sys.argv.pop(1)\n"
    "package, name = module.split('.')\n"
    "folders = '.' if package == 'tamis' else '. ./lab/python'\n"
    "for needed in ('tamis', package):\n"
    "    if importlib.util.find_spec(needed): continue\n"
    "    print(f\"tamis {name.strip('_')}: {sys.executable} has no package {needed}: pip install {folders} in a clone of \"\n"
    "          \"Tamis, or name another interpreter in TAMIS_PYTHON\", file=sys.stderr)\n"
    "    sys.exit(4)\n"
    "runpy.run_module(module, run_name='__main__', alter_sys=True)\n";

static char *word(const void *text) { return (char *)(uintptr_t)text; } /* which nobody writes to */

const char *tool_python_interpreter(void) {
    if (getauxval(AT_SECURE)) return NULL;
    const char *const named = getenv("TAMIS_PYTHON");
    return named && *named ? named : "python3";
}

int tool_python_start(const char *module, int count, char *const *given) {
    const char *const python = tool_python_interpreter();
    if (!python) {
        tool_error("this command is written in Python, which a setuid process does not start");
        return TOOL_UNSUPPORTED;
    }
    char **arguments = tool_allocate((size_t)count + 5, sizeof *arguments);
    char *const first[] = {word(python), word("-c"), word(start), word(module)};
    memcpy((void *)arguments, (const void *)first, sizeof first);
    if (count > 0) memcpy((void *)(arguments + 4), (const void *)given, (size_t)count * sizeof *arguments);
    fflush(stdout);
    tool_interrupt_hand_over();
    execvp(python, arguments);
    tool_error("%s cannot be started: %s (TAMIS_PYTHON may name another interpreter)", python, strerror(errno));
    free((void *)arguments);
    return TOOL_UNSUPPORTED;
}

int tool_python_command(const char *module) {
    int count = 0;
    char *const *given = tool_options_given(&count);
    return tool_python_start(module, count, given);
}

typedef struct settings {
    const char *output, *title, *values, *columns, *state, *devices, *set, *split, *test_from, *relevant, *where;
    double threshold, hold_out;
    int device;
    int64_t folds, iterations, seed, top;
    bool json, drift, no_clobber, grid;
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
    {"title", 0, TOOL_NAME, "TEXT", NULL, "the title of the page; by default that of the suite", AT(title), 0, 0, NULL},
    {.name = NULL},
};

const tool_command tool_report_command = {
    .name = "report",
    .summary = "make an HTML page of measurements",
    .operands = "RESULTS ...",
    .options = report_options,
    .settings_size = sizeof(settings),
    .module = "tamis_lab.report",
};

static const tool_option compare_options[] = {
    {"threshold", 0, TOOL_REAL, "PERCENT", "5", "the smallest change of a median that counts", AT(threshold), 0, 1000,
     NULL},
    {"drift", 0, TOOL_FLAG, NULL, NULL, "first divide the times of B by the drift of peers and of the naive loop",
     AT(drift), 0, 0, NULL},
    {"json", 0, TOOL_FLAG, NULL, NULL, "an object instead of text", AT(json), 0, 0, NULL},
    {.name = NULL},
};

const tool_command tool_compare_command = {
    .name = "compare",
    .summary = "compare two result files: what became faster or slower",
    .operands = "A B",
    .options = compare_options,
    .settings_size = sizeof(settings),
    .module = "tamis_lab.compare",
};

static const tool_option roofline_options[] = {
    {"output", 'o', TOOL_OUTPUT, "FILE", NULL, "output file: .svg, .png or .pdf; -: standard output, as SVG",
     AT(output), 0, 0, NULL},
    TOOL_NO_CLOBBER(AT(no_clobber)),
    {"device", 'd', TOOL_CHOICE, "DEVICE", "best", "the device; by default, with RESULTS, their first one", AT(device),
     0, 0, &tool_devices},
    {.name = NULL},
};

const tool_command tool_roofline_command = {
    .name = "roofline",
    .summary = "plot the ceilings of a device and the results reached",
    .operands = "[RESULTS ...]",
    .options = roofline_options,
    .settings_size = sizeof(settings),
    .run = run_roofline,
};

static const tool_option tune_options[] = {
    TOOL_DATA_COLUMNS(AT(columns)),
    {"values", 0, TOOL_NAME, "NAME=V,V,...", NULL,
     "values of an option to try, such as factors=16,32 or biases=yes,no; may be repeated, other options keep their list",
     AT(values), 0, 0, NULL},
    {"folds", 0, TOOL_INTEGER, "N", "3", "parts into which the data are split, one of which is held out", AT(folds), 2,
     1e6, NULL},
    {"iterations", 0, TOOL_INTEGER, "N", NULL, "iterations of a whole fit; by default the method's", AT(iterations), 1,
     1e6, NULL},
    {"seed", 0, TOOL_INTEGER, "SEED", "1", "seed of the folds and the models", AT(seed), 0, 9e18, NULL},
    {"state", 0, TOOL_ADDED_TO, "FILE", NULL, "keep results in FILE, and continue from those already there", AT(state),
     0, 0, NULL},
    {"devices", 0, TOOL_NAME, "LIST", "cpu", "devices for fits side by side, separated by commas", AT(devices), 0, 0,
     NULL},
    {"grid", 0, TOOL_FLAG, NULL, NULL, "fit all candidates to the end", AT(grid), 0, 0, NULL},
    {"json", 0, TOOL_FLAG, NULL, NULL, "an object instead of text", AT(json), 0, 0, NULL},
    {.name = NULL},
};

const tool_command tool_tune_command = {
    .name = "tune",
    .summary = "find the options of a model by cross-validation",
    .operands = "METHOD DATA",
    .options = tune_options,
    .settings_size = sizeof(settings),
    .module = "tamis.tune",
};

static const tool_option evaluate_options[] = {
    TOOL_DATA_COLUMNS(AT(columns)),
    {"set", 0, TOOL_NAME, "NAME=VALUE", NULL, "an option of the method, such as factors=64; may be repeated", AT(set),
     0, 0, NULL},
    {"split", 0, TOOL_NAME, "HOW", "random", "what is held out: random, leave-one-out, last (by time) or date",
     AT(split), 0, 0, NULL},
    {"hold-out", 0, TOOL_REAL, "SHARE", "0.2", "of each row's entries, for random", AT(hold_out), 0, 0.99, NULL},
    {"test-from", 0, TOOL_NAME, "DATE", NULL, "hold out the entries from this date or time on", AT(test_from), 0, 0,
     NULL},
    {"top", 0, TOOL_INTEGER, "N", "10", "number of recommendations", AT(top), 1, 1e6, NULL},
    {"relevant", 0, TOOL_NAME, "X", NULL, "held-out entries of at least this value are the relevant ones", AT(relevant),
     0, 0, NULL},
    {"seed", 0, TOOL_INTEGER, "SEED", "1", "seed of the split", AT(seed), 0, 9e18, NULL},
    {"device", 0, TOOL_NAME, "DEVICE", "cpu", "the device to use", AT(where), 0, 0, NULL},
    {"json", 0, TOOL_FLAG, NULL, NULL, "an object instead of a table", AT(json), 0, 0, NULL},
    {.name = NULL},
};

const tool_command tool_evaluate_command = {
    .name = "evaluate",
    .summary = "measure a method on held-out entries, beside popularity and biases",
    .operands = "METHOD DATA",
    .options = evaluate_options,
    .settings_size = sizeof(settings),
    .module = "tamis.evaluate",
};
