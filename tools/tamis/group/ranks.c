/* The ranks of `--transport mpi`: libtamis_mpi at run time, and what ranks agree on. */
#include "group/ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/interrupt.h"
#include "cli/text.h"

enum { THREADS, MPI }; /* in the order of tool_transports */

typedef tamis_status start_function(const tamis_transport_options *options, tamis_transport *transport);
typedef void stop_function(tamis_transport *transport, int code);

static struct {
    tamis_transport transport;
    stop_function *stop;
    bool on;
    bool shared; /* all ranks know of the failure that this one has seen */
} here;

void tool_ranks_know(void) { here.shared = true; }
const tamis_transport *tool_ranks_transport(void) { return here.on ? &here.transport : NULL; }
int tool_rank_number(void) { return here.on ? here.transport.rank : 0; }
int tool_rank_count(void) { return here.on ? here.transport.ranks : 1; }

/* ------------------------------------------------------------------------------------------ the library */

/* Beside the program, as it is installed and as it is built. */
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
            library = dlopen(path, RTLD_NOW | RTLD_GLOBAL); /* MPI's plug-ins look for its symbols */
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
    if (!*library) {
        tool_error(
            "--transport mpi: libtamis_mpi cannot be opened (%s): build Tamis where CMake finds an MPI, or name the "
            "file in TAMIS_MPI",
            tool_text_get(&tried));
    }
    tool_text_free(&tried);
    return *library ? 0 : TOOL_UNSUPPORTED;
}

static int join(void) {
    tamis_transport_options options = TAMIS_TRANSPORT_OPTIONS_INIT;
    const char *limit = getenv("TAMIS_TIME_LIMIT");
    void *library = NULL;
    const int code = open_library(&library);
    if (code) return code;
    void *const start = dlsym(library, "tamis_mpi_start"), *const stop = dlsym(library, "tamis_mpi_stop");
    start_function *begin = NULL;
    if (!start || !stop) {
        tool_error("--transport mpi: libtamis_mpi has no tamis_mpi_start: it is older than this program");
        return TOOL_UNSUPPORTED;
    }
    memcpy(&begin, &start, sizeof begin);
    memcpy(&here.stop, &stop, sizeof here.stop);
    if (limit && *limit) options.time_limit = strtod(limit, NULL);
    const tamis_status status = begin(&options, &here.transport);
    if (status != TAMIS_OK) return tool_library_error(status, "--transport mpi");
    here.on = true;
    tool_set_rank(here.transport.rank);
    if (here.transport.rank > 0 && !freopen("/dev/null", "w", stdout)) return TOOL_FILE;
    return 0;
}

int tool_ranks_begin(int transport, int link, tool_chosen *devices) {
    if (transport == THREADS) return 0;
    if (link != 0) return tool_usage_error("--link does not go with --transport mpi");
    const void *settings = NULL;
    const tool_option *options = tool_options_in_use(&settings);
    int code = join();
    if (code == 0) code = tool_ranks_same_options(tool_command_in_use(), options, settings);
    if (code) return code;
    int cpu = 0;
    if (devices->count == 0) (void)tool_choice_parse(&tool_devices, "", "cpu", &cpu);
    const int mine = devices->count > 0 ? devices->at[tool_rank_number() % devices->count] : cpu;
    *devices = (tool_chosen){.count = 1, .at = {mine}};
    return 0;
}

/* A rank whose code the others do not know has left them: they wait for it. */
int tool_ranks_end(int code) {
    if (!here.on) return code;
    fflush(NULL);
    const bool alone = code != TOOL_OK && code != TOOL_FAILED && !here.shared;
    if (alone) {
        here.transport.abort(here.transport.context, *tool_last_message() ? tool_last_message() : "it has ended");
        tool_interrupt_wait(5);
        sleep(1); /* the others say so, before all processes end */
    }
    here.stop(&here.transport, code);
    here.on = false;
    return code;
}

/* ------------------------------------------------------------------------------------------ agreeing */

typedef struct report {
    int32_t status, code;
    char message[400];
} report;

static tamis_status exchange_reports(const report *mine, report *all) {
    return here.transport.gather(here.transport.context, mine, sizeof *mine, all);
}

/* The first that has failed, or NULL. */
static const report *first_failure(const report *all) {
    for (int r = 0; r < tool_rank_count(); r++) {
        if (all[r].status != TAMIS_OK || all[r].code != 0) return &all[r];
    }
    return NULL;
}

tamis_status tool_ranks_agree(tamis_status status) {
    report mine = {.status = (int32_t)status};
    char text[480];
    if (!here.on) return status;
    if (status != TAMIS_OK) snprintf(mine.message, sizeof mine.message, "%s", tamis_last_error());
    report *all = tool_allocate((size_t)tool_rank_count(), sizeof *all);
    const tamis_status met = exchange_reports(&mine, all);
    const report *failed = met == TAMIS_OK ? first_failure(all) : NULL;
    if (met != TAMIS_OK) {
        status = status == TAMIS_OK ? met : tamis_transport_fail(status, mine.message);
    } else if (failed) {
        const bool named = strncmp(failed->message, "rank ", 5) == 0; /* the library has agreed already */
        char name[24] = "";
        if (!named) snprintf(name, sizeof name, "rank %d: ", (int)(failed - all));
        snprintf(text, sizeof text, "%s%s", name, failed->message);
        status = tamis_transport_fail((tamis_status)failed->status, text);
        here.shared = true;
    }
    free(all);
    return status;
}

int tool_ranks_agree_code(int code) {
    const report mine = {.code = code};
    if (!here.on) return code;
    report *all = tool_allocate((size_t)tool_rank_count(), sizeof *all);
    const tamis_status met = exchange_reports(&mine, all);
    const report *failed = met == TAMIS_OK ? first_failure(all) : NULL;
    if (met != TAMIS_OK && code == 0) code = tool_library_error(met, NULL);
    if (failed) {
        code = failed->code;
        here.shared = true;
    }
    free(all);
    return code;
}

double tool_ranks_most(double value) {
    if (!here.on) return value;
    double *all = tool_allocate((size_t)tool_rank_count(), sizeof *all);
    if (here.transport.gather(here.transport.context, &value, sizeof value, all) == TAMIS_OK) {
        for (int r = 0; r < tool_rank_count(); r++) {
            if (all[r] > value) value = all[r];
        }
    }
    free(all);
    return value;
}

tamis_status tool_ranks_collect(const void *mine, void *whole, const int64_t *starts) {
    const int ranks = tool_rank_count(), rank = tool_rank_number();
    if (!here.on) return TAMIS_OK;
    int64_t *sends = tool_allocate((size_t)ranks + 1, sizeof *sends);
    int64_t *receives = tool_allocate((size_t)ranks + 1, sizeof *receives);
    for (int r = 0; r <= ranks; r++) {
        sends[r] = r > 0 && rank > 0 ? starts[rank + 1] - starts[rank] : 0;
        receives[r] = rank == 0 ? starts[r] : 0;
    }
    const tamis_transfer transfer = {.send = mine, .send_starts = sends, .receive = whole, .receive_starts = receives};
    tamis_status status = here.transport.exchange_begin(here.transport.context, &transfer);
    if (status == TAMIS_OK) status = here.transport.exchange_end(here.transport.context);
    free(sends);
    free(receives);
    return status;
}
