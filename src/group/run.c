/* Runs the ranks of a local group as threads: all start or none, and one failure is reported. */
#include <tamis/group.h>

#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/scope.h"
#include "base/status.h"

/* A gate at which threads wait until all have started. */
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    enum { CLOSED, OPEN, CANCELLED } state;
} gate;

typedef struct runner {
    gate *gate;
    tamis_rank_work work;
    void *context;
    int rank;
    pthread_t thread;
    tamis_status status;
    tamis_message message;
} runner;

static void *run(void *memory) {
    runner *const r = memory;
    pthread_mutex_lock(&r->gate->lock);
    while (r->gate->state == CLOSED) pthread_cond_wait(&r->gate->opened, &r->gate->lock);
    const bool goes = r->gate->state == OPEN;
    pthread_mutex_unlock(&r->gate->lock);
    if (goes) r->status = r->work(r->context, r->rank);
    if (goes) tamis_message_keep(&r->message); /* messages belong to a thread */
    return NULL;
}

/* Opens the gate. all: every thread was started and may run; else none does any work. */
static void open_gate(gate *at, bool all) {
    pthread_mutex_lock(&at->lock);
    at->state = all ? OPEN : CANCELLED;
    pthread_cond_broadcast(&at->opened);
    pthread_mutex_unlock(&at->lock);
}

/* Returns the first failure, preferring ranks that failed by themselves to ranks that failed because of others. */
static tamis_status first_failure(const runner *runners, int ranks) {
    static const char heard[] = "the group has failed";
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < ranks; r++) {
            const runner *const one = &runners[r];
            if (one->status == TAMIS_OK) continue;
            if (pass == 0 && strncmp(one->message.text, heard, sizeof heard - 1) == 0) continue;
            return tamis_fail(one->status, "%s", one->message.text);
        }
    }
    return TAMIS_OK;
}

tamis_status tamis_group_run(int ranks, tamis_rank_work work, void *context) {
    gate all = {.lock = PTHREAD_MUTEX_INITIALIZER, .opened = PTHREAD_COND_INITIALIZER, .state = CLOSED};
    runner *runners;
    int started = 0;
    TAMIS_SCOPE;
    tamis_clear_error();
    if (ranks < 1) return tamis_fail(TAMIS_ERROR_ARGUMENT, "ranks = %d: expected 1 or more", ranks);
    if (!work) return tamis_fail(TAMIS_ERROR_ARGUMENT, "work = NULL: expected a function");
    TRY(tamis_allocate_zeros(ranks, "the threads of a group", runners));
    for (; started < ranks; started++) {
        runner *const next = &runners[started];
        *next = (runner){.gate = &all, .work = work, .context = context, .rank = started};
        if (tamis_memory_fails_now() || pthread_create(&next->thread, NULL, run, next) != 0) break;
    }
    open_gate(&all, started == ranks);
    for (int r = 0; r < started; r++) pthread_join(runners[r].thread, NULL);
    const tamis_status status =
        started == ranks ? first_failure(runners, ranks)
                         : tamis_fail(TAMIS_ERROR_MEMORY, "no memory for the thread of rank %d of %d", started, ranks);
    pthread_cond_destroy(&all.opened);
    pthread_mutex_destroy(&all.lock);
    return status;
}
