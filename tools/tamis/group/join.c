/* Joins the ranks of `--transport mpi`, through libtamis_mpi, opened at run time, and checks that they have the same
   command, options and matrix. */
#include "group/join.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fnv.h"
#include "cli/exit.h"
#include "cli/ranks.h"
#include "cli/text.h"

enum { THREADS, MPI }; /* in the order of tool_transports */

typedef tamis_status start_function(const tamis_transport_options *options, tamis_transport *transport);

/* Opens the library relative to the program, in an installation or in the build folder. */
static void *open_beside(tool_text *tried) {
    static const char *const folders[] = {"../lib", "../lib/x86_64-linux-gnu", "../lib/aarch64-linux-gnu", "../lib64",
                                          "../../src/mpi"};
    char program[1024];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    void *library = NULL;
    if (length <= 0) return NULL;
    program[length] = 0;
    *strrchr(program, '/') = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && !library; i++) {
        char path[1200];
        snprintf(path, sizeof path, "%s/%s/libtamis_mpi.so.1", program, folders[i]);
        if (access(path, F_OK) == 0) {
            library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's plug-ins need its symbols */
            if (!library) tool_text_add(tried, "; %s", dlerror());
        }
    }
    return library;
}

static int open_library(void **library) {
    const char *given = secure_getenv("TAMIS_MPI");
    tool_text tried = {0};
    *library = dlopen(given && *given ? given : "libtamis_mpi.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!*library) tool_text_add(&tried, "%s", dlerror());
    if (!*library && !(given && *given)) *library = open_beside(&tried);
    if (!*library)
        tool_error(
            "--transport mpi: libtamis_mpi cannot be opened (%s): build Tamis where CMake finds an MPI, or name the "
            "file in TAMIS_MPI",
            tool_text_get(&tried));
    tool_text_free(&tried);
    return *library ? 0 : TOOL_UNSUPPORTED;
}

static int join(void) {
    tamis_transport_options options = TAMIS_TRANSPORT_OPTIONS_INIT;
    const char *limit = getenv("TAMIS_TIME_LIMIT");
    void *library = NULL;
    TOOL_TRY(open_library(&library));
    void *const start = dlsym(library, "tamis_mpi_start"), *const stop = dlsym(library, "tamis_mpi_stop");
    start_function *begin = NULL;
    tool_ranks_stop *end = NULL;
    tamis_transport transport;
    if (!start || !stop)
        return tool_failure(TOOL_UNSUPPORTED,
                            "--transport mpi: libtamis_mpi has no tamis_mpi_start: it is older than this program");
    memcpy(&begin, &start, sizeof begin);
    memcpy(&end, &stop, sizeof end);
    if (limit && *limit) options.time_limit = strtod(limit, NULL);
    TOOL_TRY(tool_library_error(begin(&options, &transport), "--transport mpi"));
    tool_ranks_enter(&transport, end);
    tool_set_rank(transport.rank);
    if (transport.rank > 0 && !freopen("/dev/null", "w", stdout)) return TOOL_FILE;
    return 0;
}

/* ------------------------------------------------------------------------------------------ the same everywhere */

enum { TEXT_BYTES = TAMIS_TRANSPORT_RECORD };

typedef struct same_text {
    char text[TEXT_BYTES];
} same_text;

/* Returns true if an option may differ between ranks: devices, threads, printing, and file names, which differ between
   hosts. */
static bool may_differ(const tool_option *option) {
    static const char *const names[] = {"device", "devices", "threads", "quiet", "verbose", "no-clobber"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option->name, names[i]) == 0) return true;
    return tool_option_is_path(option);
}

static void write_integers(const tool_integers *integers, same_text *record) {
    size_t used = 0;
    for (int i = 0; i < integers->count && used < sizeof record->text; i++)
        used += (size_t)snprintf(record->text + used, sizeof record->text - used, "%s%lld", i > 0 ? "," : "",
                                 (long long)integers->at[i]);
}

static same_text text_of(const tool_option *option, const void *settings) {
    const void *at = (const char *)settings + option->offset;
    same_text record = {""};
    if (option->value == TOOL_INTEGERS) {
        write_integers(at, &record);
    } else if (option->value == TOOL_CHOSEN) {
        tool_chosen_text(option->choices, at, record.text, sizeof record.text);
    } else if (option->value == TOOL_NAME) {
        const char *name = *(const char *const *)at;
        snprintf(record.text, sizeof record.text, "%s", name ? name : "");
    } else if (option->value == TOOL_REAL) {
        snprintf(record.text, sizeof record.text, "%.17g", *(const double *)at);
    } else {
        snprintf(record.text, sizeof record.text, "%s", tool_option_text(option, settings).text);
    }
    return record;
}

/* Finds the first rank whose text differs from rank 0's; 0: none. Sets *first to rank 0's text. */
static tamis_status find_other(const same_text *mine, same_text *first, same_text *other, int *rank) {
    const int ranks = tool_rank_count();
    const tamis_transport *transport = tool_ranks_transport();
    same_text *all = tool_allocate((size_t)ranks, sizeof *all);
    const tamis_status status = transport->gather(transport->context, mine, sizeof *mine, all);
    *rank = 0;
    for (int r = 1; r < ranks && status == TAMIS_OK && *rank == 0; r++)
        if (strcmp(all[r].text, all[0].text) != 0) *rank = r;
    *first = all[0];
    *other = all[*rank];
    free(all);
    return status;
}

static int compare_texts(const char *what, const same_text *mine) {
    same_text first, other;
    int rank = 0;
    TOOL_TRY(tool_library_error(find_other(mine, &first, &other, &rank), NULL));
    if (rank == 0) return TOOL_OK;
    tool_ranks_know();
    return tool_failure(TOOL_USAGE, "rank %d: %s = %.200s, but %.200s on rank 0", rank, what,
                        *other.text ? other.text : "nothing", *first.text ? first.text : "nothing");
}

/* Checks that all ranks have the same command and options, except devices, threads, printing and file names. Returns an
   exit code, after a message that names the first rank that differs, and the option. */
static int check_options(const char *command, const tool_option *options, const void *settings) {
    same_text mine = {""};
    snprintf(mine.text, sizeof mine.text, "%s", command);
    int code = compare_texts("the command", &mine);
    for (; options->name && code == TOOL_OK; options++) {
        char name[64];
        if (may_differ(options)) continue;
        snprintf(name, sizeof name, "--%s", options->name);
        mine = text_of(options, settings);
        code = compare_texts(name, &mine);
    }
    return code;
}

tamis_status tool_ranks_same_matrix(const tamis_sparse *S) {
    enum { SIZES, PATTERN, VALUES, PARTS };
    static const char *const names[PARTS] = {"the size of the matrix differs", "the pattern of the matrix differs",
                                             "the values of the matrix differ"};
    same_text mine = {""}, first, other;
    char text[160];
    int rank = 0;
    if (!tool_ranks_transport()) return TAMIS_OK;
    for (int part = 0; part < PARTS; part++) {
        uint64_t sum = TAMIS_FNV_START;
        if (part == PATTERN) {
            sum = tamis_fnv_words(sum, S->offsets, (size_t)(S->rows + 1) * tamis_index_size(S->offset_type));
            sum = tamis_fnv_words(sum, S->columns, (size_t)S->nnz * tamis_index_size(S->index_type));
        } else if (part == VALUES) {
            sum = tamis_fnv_words(sum, S->values, (size_t)S->nnz * tamis_type_size(S->value_type));
        }
        if (part == SIZES)
            snprintf(mine.text, sizeof mine.text, "%lld x %lld with %lld nonzeros", (long long)S->rows,
                     (long long)S->cols, (long long)S->nnz);
        else
            snprintf(mine.text, sizeof mine.text, "%016llx", (unsigned long long)sum);
        TOOL_TRY(find_other(&mine, &first, &other, &rank));
        if (rank == 0) continue;
        snprintf(text, sizeof text, "rank %d: %s from rank 0's (%.40s, but %.40s)", rank, names[part], other.text,
                 first.text);
        tool_ranks_know();
        return tamis_transport_fail(TAMIS_ERROR_ARGUMENT, text);
    }
    return TAMIS_OK;
}

int tool_ranks_begin(int transport, int link, tool_chosen *devices) {
    if (transport == THREADS) return 0;
    if (link != 0) return tool_usage_error("--link does not go with --transport mpi");
    const void *settings = NULL;
    const tool_option *options = tool_options_in_use(&settings);
    TOOL_TRY(join());
    TOOL_TRY(check_options(tool_command_in_use(), options, settings));
    int cpu = 0;
    if (devices->count == 0) (void)tool_choice_parse(&tool_devices, "", "cpu", &cpu);
    const int mine = devices->count > 0 ? devices->at[tool_rank_number() % devices->count] : cpu;
    *devices = (tool_chosen){.count = 1, .at = {mine}};
    return 0;
}
