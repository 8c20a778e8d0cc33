/* Joins the ranks of `--transport mpi`, through libtamis_mpi, opened at run time. */
#include "group/join.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/exit.h"
#include "cli/ranks.h"
#include "cli/text.h"
#include "group/same.h"

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

int tool_ranks_begin(int transport, int link, tool_chosen *devices) {
    if (transport == THREADS) return 0;
    if (link != 0) return tool_usage_error("--link does not go with --transport mpi");
    const void *settings = NULL;
    const tool_option *options = tool_options_in_use(&settings);
    TOOL_TRY(join());
    TOOL_TRY(tool_ranks_same_options(tool_command_in_use(), options, settings));
    int cpu = 0;
    if (devices->count == 0) (void)tool_choice_parse(&tool_devices, "", "cpu", &cpu);
    const int mine = devices->count > 0 ? devices->at[tool_rank_number() % devices->count] : cpu;
    *devices = (tool_chosen){.count = 1, .at = {mine}};
    return 0;
}
