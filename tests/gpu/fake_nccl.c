/*
 * NCCL's functions between the threads of one process, over the host's memory: messages are copied when the receiver
 * ends its group, within five seconds or not at all. TAMIS_NCCL names it, beside the driver of fake_cuda.c. The
 * environment says what goes wrong: FAKE_NCCL_FAULT "ncclSend@2": the second call of that function fails.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum { SUCCESS = 0, SYSTEM_ERROR = 2, RANKS_MOST = 8, MESSAGES_MOST = 64 };

typedef struct nccl_id {
    char bytes[128];
} nccl_id;

typedef struct message {
    void *memory;
    size_t bytes;
    int from, to;
} message;

typedef struct communicator {
    int rank, ranks;
} communicator;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static message sent[MESSAGES_MOST]; /* and not received; memory NULL: free */
static __thread message wanted[MESSAGES_MOST], offered[MESSAGES_MOST];
static __thread int wants, offers;

static int fault(const char *function) {
    static int calls;
    char which[64];
    int number = 0;
    const char *const text = getenv("FAKE_NCCL_FAULT");
    if (!text || sscanf(text, "%63[^@]@%d", which, &number) != 2 || strcmp(which, function) != 0) return SUCCESS;
    return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == number ? SYSTEM_ERROR : SUCCESS;
}

EXPORT int ncclGetVersion(int *version) {
    *version = 22800;
    return SUCCESS;
}

EXPORT const char *ncclGetErrorString(int result) {
    return result == SUCCESS ? "no error" : "a system error of the stub";
}

EXPORT int ncclGetUniqueId(nccl_id *id) {
    memset(id->bytes, 'i', sizeof id->bytes);
    return fault("ncclGetUniqueId");
}

EXPORT int ncclCommInitRank(void **made, int ranks, nccl_id id, int rank) {
    const int wrong = fault("ncclCommInitRank");
    communicator *const c = malloc(sizeof *c);
    for (size_t i = 0; i < sizeof id.bytes; i++)
        if (id.bytes[i] != 'i') abort();
    if (wrong || !c || ranks > RANKS_MOST) {
        free(c);
        return SYSTEM_ERROR;
    }
    *c = (communicator){rank, ranks};
    *made = c;
    return SUCCESS;
}

EXPORT int ncclCommDestroy(void *c) {
    free(c);
    return SUCCESS;
}

EXPORT int ncclCommAbort(void *c) { return ncclCommDestroy(c); }

EXPORT int ncclCommGetAsyncError(void *c, int *error) {
    *error = fault("ncclCommGetAsyncError");
    return SUCCESS;
}

EXPORT int ncclGroupStart(void) {
    wants = offers = 0;
    return fault("ncclGroupStart");
}

EXPORT int ncclSend(const void *from, size_t count, int type, int peer, void *c, void *stream) {
    if (type != 0 || offers == MESSAGES_MOST) return SYSTEM_ERROR;
    offered[offers++] = (message){(void *)(size_t)from, count, ((communicator *)c)->rank, peer};
    return fault("ncclSend");
}

EXPORT int ncclRecv(void *to, size_t count, int type, int peer, void *c, void *stream) {
    if (type != 0 || wants == MESSAGES_MOST) return SYSTEM_ERROR;
    wanted[wants++] = (message){to, count, peer, ((communicator *)c)->rank};
    return fault("ncclRecv");
}

static message *find(const message *want) {
    for (int i = 0; i < MESSAGES_MOST; i++)
        if (sent[i].memory && sent[i].from == want->from && sent[i].to == want->to) return &sent[i];
    return NULL;
}

static int put(const message *m) {
    for (int i = 0; i < MESSAGES_MOST; i++)
        if (!sent[i].memory) {
            sent[i] = *m;
            sent[i].memory = malloc(m->bytes);
            if (!sent[i].memory) return SYSTEM_ERROR;
            memcpy(sent[i].memory, m->memory, m->bytes);
            return SUCCESS;
        }
    return SYSTEM_ERROR;
}

static int take(const message *want, const struct timespec *deadline) {
    message *found;
    while (!(found = find(want)))
        if (pthread_cond_timedwait(&change, &lock, deadline) == ETIMEDOUT) return SYSTEM_ERROR;
    if (found->bytes != want->bytes) return SYSTEM_ERROR;
    memcpy(want->memory, found->memory, want->bytes);
    free(found->memory);
    found->memory = NULL;
    return SUCCESS;
}

EXPORT int ncclGroupEnd(void) {
    int result = fault("ncclGroupEnd");
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 5;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < offers && result == SUCCESS; i++) result = put(&offered[i]);
    pthread_cond_broadcast(&change);
    for (int i = 0; i < wants && result == SUCCESS; i++) result = take(&wanted[i], &deadline);
    pthread_mutex_unlock(&lock);
    return result;
}
