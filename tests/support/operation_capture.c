/* Calls that a CUDA graph replays: captured once, launched twice, with other memory contents each time. */
#include "operation_cases.h"

#include <dlfcn.h>
#include <tamis/stream.h>

/* The driver's functions of graphs, with what cuda.h calls them. */
typedef struct graphs {
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*begin)(void *stream, int mode);
    int (*end)(void *stream, void **graph);
    int (*instantiate)(void **executable, void *graph, unsigned long long flags);
    int (*launch)(void *executable, void *stream);
    int (*destroy_executable)(void *executable);
    int (*destroy)(void *graph);
} graphs;

static bool load(graphs *g) {
    static const char *const names[] = {
        "cuDevicePrimaryCtxRetain",    "cuCtxSetCurrent", "cuStreamBeginCapture_v2", "cuStreamEndCapture",
        "cuGraphInstantiateWithFlags", "cuGraphLaunch",   "cuGraphExecDestroy",      "cuGraphDestroy"};
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), *found[8];
    for (int i = 0; library && i < 8; i++)
        if (!(found[i] = dlsym(library, names[i]))) return false;
    if (library) memcpy(g, found, sizeof found);
    return library != NULL;
}

static void check(const operation_case *c, const char *what, int error) {
    if (error != 0) fail_msg("%s: %s: CUDA's error %d", c->text, what, error);
}

/* The calls of what is open, into a graph. */
static void *capture(operation_case *c, const graphs *g) {
    void *graph = NULL, *executable = NULL;
    check(c, "the begin of a capture", g->begin(c->stream, 0));
    const tamis_status passed = c->row->pass(c), back = passed == TAMIS_OK && c->row->back ? c->row->back(c) : passed;
    const int ended = g->end(c->stream, &graph);
    if (back != TAMIS_OK) fail_msg("%s, captured: %s", c->text, tamis_last_error());
    check(c, "the end of a capture", ended);
    check(c, "making the graph", g->instantiate(&executable, graph, 0));
    g->destroy(graph);
    return executable;
}

bool operation_capture(operation_case *c, void (*compare)(operation_case *c)) {
    graphs g;
    void *context = NULL;
    if (!load(&g)) {
        print_message("libcuda.so.1 has no graphs: no call is captured\n");
        return false;
    }
    check(c, "the context", g.retain(&context, 0) + g.set_current(context));
    works(tamis_stream_create(c->device, &c->stream));
    operation_send(c);
    works(operation_call(c)); /* kernels are compiled */
    works(tamis_stream_synchronize(c->device, c->stream));
    void *const executable = capture(c, &g);
    for (int i = 0; i < 2; i++) {
        operation_send(c);
        check(c, "a launch", g.launch(executable, c->stream));
        works(tamis_stream_synchronize(c->device, c->stream));
        operation_fetch(c);
        compare(c);
    }
    g.destroy_executable(executable);
    operation_close(c);
    tamis_stream_destroy(c->device, c->stream);
    c->stream = NULL;
    return true;
}
