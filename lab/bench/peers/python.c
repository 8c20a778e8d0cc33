/*
 * PyTorch and SciPy, each in a Python process (driver.h) that copies the arrays, tries its ways to compute, and
 * measures with its own clock. PyTorch comes twice: with its sparse matrices, and with gathered rows that are added up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "cli/exit.h"
#include "driver.h"
#include "kinds.h"

enum { ALIGNMENT = 64 };

typedef struct state {
    tool_driver *driver;
    int id;
    bool known; /* the process knows the problem */
} state;

/* An array of the problem as it goes into the file. */
typedef struct array {
    const char *name, *type;
    const void *data;           /* NULL: there is none */
    size_t lines, line, stride; /* bytes of a line, and from one line to the next */
    size_t element;
} array;

static const char *type_word(tamis_type type) { return tamis_type_name(type); }
static const char *index_word(tamis_index_type type) { return type == TAMIS_I64 ? "int64" : "int32"; }

static array of_dense(const char *name, const tamis_dense *dense) {
    const size_t size = tamis_type_size(dense->type);
    return (array){.name = name,
                   .type = type_word(dense->type),
                   .data = dense->data,
                   .lines = (size_t)dense->rows,
                   .line = (size_t)dense->cols * size,
                   .stride = (size_t)dense->stride * size,
                   .element = size};
}

static array of_list(const char *name, const char *type, const void *data, int64_t count, size_t size) {
    return (array){.name = name, .type = type, .data = data, .lines = 1, .line = (size_t)count * size, .element = size};
}

/* ------------------------------------------------------------------------------------------ computing */

static tamis_status failed(const tool_peer *peer, const tool_text *answer) {
    if (answer->length > 0) tool_error("%s: %s", peer->name, tool_text_get(answer));
    return answer->length > 0 ? TAMIS_ERROR_DEVICE : TAMIS_ERROR_CANCELLED;
}

static tamis_status timed(tool_peer *peer, double beta, int count, double *seconds) {
    const state *self = peer->own;
    char command[64];
    tool_text answer = {0};
    (void)beta; /* always 0: make() declines others */
    snprintf(command, sizeof command, "run id=%d count=%d", self->id, count);
    if (!tool_driver_ask(self->driver, command, &answer)) {
        const tamis_status status = failed(peer, &answer);
        tool_text_free(&answer);
        return status;
    }
    char *at = answer.data, *next = NULL;
    double processor = at ? strtod(at, &next) : 0;
    int got = 0;
    for (; got < count && next && next != at; got++) {
        at = next;
        seconds[got] = strtod(at, &next);
    }
    const bool all = got == count && next != at;
    if (all) tamis_load_add_own(processor);
    if (!all) tool_error("%s: its Python process answers \"%.40s\" to %s", peer->name, tool_text_get(&answer), command);
    tool_text_free(&answer);
    return all ? TAMIS_OK : TAMIS_ERROR_DEVICE;
}

static tamis_status execute(tool_peer *peer, double beta) {
    double seconds = 0;
    return timed(peer, beta, 1, &seconds);
}

static tamis_status fetch(tool_peer *peer, const tool_problem *host, const tamis_oracle *oracle) {
    const state *self = peer->own;
    const array output = of_dense("output", &host->output);
    char command[32];
    tool_text answer = {0};
    (void)oracle; /* the whole result is fetched */
    const char *memory = tool_driver_memory(self->driver, output.lines * output.line);
    snprintf(command, sizeof command, "fetch id=%d", self->id);
    tamis_status status = TAMIS_OK;
    if (!memory) tool_text_add(&answer, "no memory for its result");
    if (!memory || !tool_driver_ask(self->driver, command, &answer)) status = failed(peer, &answer);
    for (size_t i = 0; i < output.lines && status == TAMIS_OK; i++) {
        memcpy((char *)host->output.data + i * output.stride, memory + i * output.line, output.line);
    }
    tool_driver_return_memory(self->driver);
    tool_text_free(&answer);
    return status;
}

static void release(tool_peer *peer) {
    state *self = peer->own;
    char command[32];
    tool_text answer = {0};
    snprintf(command, sizeof command, "drop id=%d", self->id);
    if (self->known) (void)tool_driver_ask(self->driver, command, &answer);
    tool_text_free(&answer);
}

/* ------------------------------------------------------------------------------------------ making */

/* Assigns each array its place in the file, equal arrays the same place, and adds the words that describe it. Returns
   the total size. */
static size_t arrange(const array *arrays, size_t count, size_t *places, tool_text *command) {
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (!arrays[i].data) continue;
        size_t same = 0;
        while (arrays[same].data != arrays[i].data) same++;
        places[i] = same < i ? places[same] : end;
        const size_t bytes = arrays[i].lines * arrays[i].line;
        if (same == i) end += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        tool_text_add(command, " %s=%s:%zu:%zu", arrays[i].name, arrays[i].type, bytes / arrays[i].element, places[i]);
    }
    return end;
}

static void write_arrays(const array *arrays, size_t count, const size_t *places, char *memory) {
    for (size_t i = 0; i < count; i++) {
        for (size_t line = 0; arrays[i].data && line < arrays[i].lines; line++) {
            memcpy(memory + places[i] + line * arrays[i].line, (const char *)arrays[i].data + line * arrays[i].stride,
                   arrays[i].line);
        }
    }
}

/* Writes the arrays into the file and makes the command that prepares the problem. False: there is no memory. */
static bool hand_over(const tool_peer *peer, tool_text *command) {
    const state *self = peer->own;
    const tool_problem *problem = peer->host;
    const tamis_sparse *S = &problem->S;
    const tool_device *device = peer->mirror->device;
    enum { ARRAYS = 6 };
    const array arrays[ARRAYS] = {
        of_list("offsets", index_word(S->offset_type), S->offsets, S->rows + 1, tamis_index_size(S->offset_type)),
        of_list("columns", index_word(S->index_type), S->columns, S->nnz, tamis_index_size(S->index_type)),
        of_list("values", type_word(problem->type), S->values, S->nnz, tamis_type_size(problem->type)),
        of_dense("A", &problem->A),
        of_dense("B", &problem->B),
        of_dense("D", &problem->D)};
    size_t places[ARRAYS] = {0};
    tool_text_add(command,
                  "prepare id=%d peer=%s operation=%s device=%s threads=%d type=%s rows=%lld cols=%lld inner=%lld "
                  "width=%lld scale=%.17g memory=%zu",
                  self->id, peer->name, tamis_operation_name(problem->operation),
                  device->gpu ? device->description.name : "cpu", peer->threads, type_word(problem->type),
                  (long long)S->rows, (long long)S->cols, (long long)problem->inner, (long long)problem->width,
                  problem->edge_scale, tool_peer_free_host_memory());
    char *memory = tool_driver_memory(self->driver, arrange(arrays, ARRAYS, places, command));
    if (memory) write_arrays(arrays, ARRAYS, places, memory);
    return memory != NULL;
}

static bool prepare(tool_peer *peer) {
    state *self = peer->own;
    tool_text command = {0}, answer = {0};
    bool made = hand_over(peer, &command);
    if (!made) tool_text_add(&answer, "no memory for its operands");
    made = made && tool_driver_ask(self->driver, tool_text_get(&command), &answer);
    tool_driver_return_memory(self->driver);
    const char *said = tool_text_get(&answer);
    int at = 0;
    if (made && (sscanf(said, "%lf %d %n", &peer->setup, &peer->threads, &at) != 2 || at == 0 || peer->threads < 1)) {
        made = tool_peer_decline(peer, "its Python process answers \"%.40s\" to prepare", said);
    } else if (made) {
        self->known = true;
        snprintf(peer->variant, sizeof peer->variant, "%s", said + at);
    } else {
        tool_peer_decline(peer, "%s", said);
    }
    tool_text_free(&command);
    tool_text_free(&answer);
    return made;
}

static bool make(tool_peer *peer, const char *module, const char *refused) {
    static int problems = 0;
    if (refused) return tool_peer_decline(peer, "%s", refused);
    tool_driver *driver = tool_driver_get(module);
    if (!driver) return false; /* the driver has said why */
    *(state *)peer->own = (state){.driver = driver, .id = ++problems};
    return prepare(peer);
}

static bool make_torch(tool_peer *peer) { return make(peer, "torch", tool_peer_refusal(peer->host)); }

/* Attention over a dense mask: the only peer that computes a softmax. */
static bool make_attention(tool_peer *peer) {
    const bool attention = peer->host->operation == TAMIS_OP_FUSED && peer->host->edge == TAMIS_EDGE_SOFTMAX;
    const char *refused = attention ? tool_peer_refusal_of_form(peer->host) : "it computes only fused softmax";
    peer->edge = true;
    return make(peer, "torch", refused);
}

static bool make_scipy(tool_peer *peer) { return make(peer, "scipy", tool_peer_refusal(peer->host)); }

/* A peer's row, but for its names. */
#define ROW(places_, make_)                                                                                            \
    .places = places_, .state_bytes = sizeof(state), .make = make_, .execute = execute, .timed = timed,                \
    .fetch = fetch, .release = release

enum { ANYWHERE = TOOL_PEER_CPU | TOOL_PEER_CUDA };
const tool_peer_kind tool_peer_torch = {.library = "torch", .name = "torch", ROW(ANYWHERE, make_torch)};
const tool_peer_kind tool_peer_torch_scatter = {
    .library = "torch-scatter", .name = "torch-scatter", ROW(ANYWHERE, make_torch)};
const tool_peer_kind tool_peer_torch_attention = {
    .library = "torch-attention", .name = "torch-attention", ROW(ANYWHERE, make_attention)};
const tool_peer_kind tool_peer_scipy = {.library = "scipy", .name = "scipy", ROW(TOOL_PEER_CPU, make_scipy)};
