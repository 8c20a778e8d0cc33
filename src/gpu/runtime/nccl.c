/*
 * NCCL, opened at run time: a dozen C functions, declared here with the types of its header. It is searched in the
 * loader's path and in pip's packages.
 */
#include "gpu/runtime/nccl.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "gpu/runtime/library.h"
#include "gpu/runtime/runtime.h"

typedef struct nccl_id {
    char bytes[TAMIS_MEETING_BYTES];
} nccl_id;

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_CHAR = 0 };

static struct {
    int (*version)(int *version);
    const char *(*error_string)(int result);
    const char *(*last_error)(void *communicator); /* NULL: an older library */
    int (*make_id)(nccl_id *id);
    int (*join)(void **communicator, int ranks, nccl_id id, int rank);
    int (*destroy)(void *communicator);
    int (*abort)(void *communicator);
    int (*async_error)(void *communicator, int *error);
    int (*group_start)(void);
    int (*group_end)(void);
    int (*send)(const void *from, size_t count, int type, int peer, void *communicator, void *stream);
    int (*receive)(void *to, size_t count, int type, int peer, void *communicator, void *stream);
} api;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool opened;
static char failure[768];

/* ------------------------------------------------------------------------------------------ the library */

enum { PLACES = 8 };

/* pip's folders: the first file that matches each pattern. */
static void find_packages(char files[PLACES][512], int *count) {
    static const char *const roots[] = {"%s/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2",
                                        "/usr/local/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
                                        "/usr/lib/python3*/*-packages/nvidia/nccl/lib/libnccl.so.2",
                                        "/opt/*/lib/python3*/site-packages/nvidia/nccl/lib/libnccl.so.2"};
    const char *const environment = secure_getenv("VIRTUAL_ENV");
    for (int i = environment ? 0 : 1; i < 4; i++) {
        char pattern[512];
        glob_t found = {.gl_pathc = 0};
        if (i == 0)
            snprintf(pattern, sizeof pattern, "%.400s%s", environment, roots[0] + 2);
        else
            snprintf(pattern, sizeof pattern, "%s", roots[i]);
        if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0 && strlen(found.gl_pathv[0]) < 512)
            snprintf(files[(*count)++], 512, "%s", found.gl_pathv[0]);
        globfree(&found);
    }
}

static void open_library(void) {
    char files[PLACES][512];
    const char *candidates[PLACES + 3] = {"libnccl.so.2", "libnccl.so"};
    int count = 0;
    find_packages(files, &count);
    for (int i = 0; i < count; i++) candidates[2 + i] = files[i];
    const tamis_symbol symbols[] = {{"ncclGetVersion", (void (**)(void)) & api.version},
                                    {"ncclGetErrorString", (void (**)(void)) & api.error_string},
                                    {"?ncclGetLastError", (void (**)(void)) & api.last_error},
                                    {"ncclGetUniqueId", (void (**)(void)) & api.make_id},
                                    {"ncclCommInitRank", (void (**)(void)) & api.join},
                                    {"ncclCommDestroy", (void (**)(void)) & api.destroy},
                                    {"ncclCommAbort", (void (**)(void)) & api.abort},
                                    {"ncclCommGetAsyncError", (void (**)(void)) & api.async_error},
                                    {"ncclGroupStart", (void (**)(void)) & api.group_start},
                                    {"ncclGroupEnd", (void (**)(void)) & api.group_end},
                                    {"ncclSend", (void (**)(void)) & api.send},
                                    {"ncclRecv", (void (**)(void)) & api.receive},
                                    {NULL, NULL}};
    opened = tamis_library_open("TAMIS_NCCL", candidates, symbols, failure, sizeof failure);
}

static tamis_status open_once(void) {
    pthread_once(&once, open_library);
    if (opened) return TAMIS_OK;
    return tamis_fail(
        TAMIS_ERROR_DEVICE,
        "no NCCL: %.560s; pip's packages nvidia/nccl were searched in VIRTUAL_ENV, /usr and /opt: install "
        "it, or name it in TAMIS_NCCL",
        failure);
}

static tamis_status check(const tamis_gpu_device *device, void *communicator, int result, const char *what) {
    if (result == NCCL_SUCCESS) return TAMIS_OK;
    const char *const last = api.last_error ? api.last_error(communicator) : NULL;
    return tamis_fail(TAMIS_ERROR_DEVICE, "%s: NCCL: %s: %s%s%.300s", device->limits.name, what,
                      api.error_string(result), last && *last ? ": " : "", last ? last : "");
}

/* ------------------------------------------------------------------------------------------ messages */

static tamis_status invite(void *device, char meeting[TAMIS_MEETING_BYTES]) {
    nccl_id id;
    TRY(open_once());
    TRY(tamis_cuda_enter(device));
    const int result = api.make_id(&id);
    tamis_cuda_leave();
    TRY(check(device, NULL, result, "making an id"));
    memcpy(meeting, id.bytes, sizeof id.bytes);
    return TAMIS_OK;
}

static tamis_status join(void *device, const char meeting[TAMIS_MEETING_BYTES], int rank, int ranks, void **place) {
    nccl_id id;
    TRY(open_once());
    memcpy(id.bytes, meeting, sizeof id.bytes);
    TRY(tamis_cuda_enter(device));
    const int result = api.join(place, ranks, id, rank);
    tamis_cuda_leave();
    if (result != NCCL_SUCCESS) *place = NULL;
    return check(device, NULL, result, "joining the other ranks");
}

/* All of them in one NCCL group, so they may be in any order and run concurrently. */
static int put_all(void *communicator, void *stream, const tamis_messages *m) {
    for (int i = 1; i < m->ranks; i++) {
        const int to = (m->rank + i) % m->ranks, from = (m->rank + m->ranks - i) % m->ranks;
        const int64_t sent = m->send_starts[to + 1] - m->send_starts[to];
        const int64_t received = m->receive_starts[from + 1] - m->receive_starts[from];
        int result = NCCL_SUCCESS;
        if (sent > 0)
            result =
                api.send((const char *)m->send + m->send_starts[to], (size_t)sent, NCCL_CHAR, to, communicator, stream);
        if (result == NCCL_SUCCESS && received > 0)
            result = api.receive((char *)m->receive + m->receive_starts[from], (size_t)received, NCCL_CHAR, from,
                                 communicator, stream);
        if (result != NCCL_SUCCESS) return result;
    }
    return NCCL_SUCCESS;
}

static tamis_status exchange(void *device, void *place, void *stream, const tamis_messages *messages) {
    TRY(tamis_cuda_enter(device));
    int result = api.group_start();
    if (result == NCCL_SUCCESS) {
        result = put_all(place, stream, messages);
        const int ended = api.group_end();
        if (result == NCCL_SUCCESS) result = ended;
    }
    tamis_cuda_leave();
    return check(device, place, result, "exchanging rows");
}

static tamis_status check_later(void *device, void *place) {
    int error = NCCL_SUCCESS;
    const int result = api.async_error(place, &error);
    if (result == NCCL_SUCCESS && error == NCCL_IN_PROGRESS) error = NCCL_SUCCESS;
    return check(device, place, result != NCCL_SUCCESS ? result : error, "an exchange under way");
}

static void leave(void *device, void *place, bool abort) {
    if (!place || tamis_cuda_enter(device) != TAMIS_OK) return;
    if (abort)
        (void)api.abort(place);
    else
        (void)api.destroy(place);
    tamis_cuda_leave();
}

const tamis_messenger tamis_nccl_messenger = {
    .open = open_once, .invite = invite, .join = join, .exchange = exchange, .check = check_later, .leave = leave};
