/*
 * Ranks that are threads of one process synchronise at a barrier, which counts rounds. A rank that enters round n + 1
 * has left round n, so two buffers of records suffice. An exchange needs no buffer: the sent data stay in the sender's
 * memory until, in a second round, all have copied them. In an exchange of device memory the two rounds ensure that all
 * have recorded events in their streams: that the sent data are ready, and that the copies are done. The streams wait
 * for these events, the hosts do not.
 */
#include "group/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <tamis/stream.h>
#include <time.h>

#include "base/memory.h"
#include "base/status.h"

enum { TEXT = 512, SPINS = 100 };

static const size_t OF_DEVICES = (size_t)-1; /* instead of the size of records: an exchange of device memory */

struct barrier;

typedef struct member {
    struct barrier *barrier;
    int rank;
    bool counted;   /* counted in `copying`, during an exchange of device memory */
    int64_t rounds; /* rounds that this rank has entered */
    const tamis_transfer *transfer;
    tamis_device *device; /* of the current exchange of device memory, with its stream; events are reused */
    void *stream, *ready, *copied;
} member;

typedef struct barrier {
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t arrival;
    int ranks, open, arrived; /* open: members that have not closed; arrived: members in the current round */
    int copying;              /* members that are reading others' memory */
    int64_t rounds;           /* completed rounds */
    double time_limit;
    bool failed;
    char reason[TEXT];
    size_t bytes; /* size of a record in the current round */
    char *records[2];
    member members[];
} barrier;

/* ------------------------------------------------------------------------------------------ failing */

/* The first reason stays. */
static void fail_barrier(barrier *b, const char *reason) {
    if (b->failed) return;
    b->failed = true;
    snprintf(b->reason, sizeof b->reason, "%s", reason);
    pthread_cond_broadcast(&b->arrival);
}

static void fail_absent(barrier *b) {
    char reason[TEXT];
    int length = snprintf(reason, sizeof reason, "after %g seconds these ranks had not come:", b->time_limit);
    for (int r = 0; r < b->ranks && length < TEXT - 16; r++)
        if (b->members[r].rounds <= b->rounds)
            length += snprintf(reason + length, sizeof reason - (size_t)length, " %d", r);
    fail_barrier(b, reason);
}

static tamis_status give_up(const member *m) { return tamis_fail(TAMIS_ERROR_DEVICE, "%s", m->barrier->reason); }

/* ------------------------------------------------------------------------------------------ rounds */

static struct timespec deadline_of(double seconds) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const double most = 1e9, whole = seconds < most ? seconds : most;
    time.tv_sec += (time_t)whole;
    time.tv_nsec += (long)((whole - (double)(time_t)whole) * 1e9);
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

/* Enters the next round; the last rank ends it. The caller holds the lock. */
static void enter(member *m) {
    barrier *const b = m->barrier;
    m->rounds++;
    if (++b->arrived < b->ranks) return;
    b->arrived = 0;
    __atomic_store_n(&b->rounds, b->rounds + 1, __ATOMIC_RELEASE); /* spin reads it without the lock */
    pthread_cond_broadcast(&b->arrival);
}

/* Spins briefly: ranks arrive at nearly the same time, and waking a thread takes longer. */
static void spin(const member *m) {
    barrier *const b = m->barrier;
    pthread_mutex_unlock(&b->lock);
    for (int i = 0; i < SPINS && __atomic_load_n(&b->rounds, __ATOMIC_ACQUIRE) < m->rounds; i++) sched_yield();
    pthread_mutex_lock(&b->lock);
}

/* Waits for the end of the round that this rank has entered. The caller holds the lock. */
static tamis_status wait_for_all(member *m) {
    barrier *const b = m->barrier;
    const struct timespec deadline = deadline_of(b->time_limit);
    if (b->rounds < m->rounds && !b->failed) spin(m);
    while (b->rounds < m->rounds) {
        if (b->failed) return give_up(m);
        if (pthread_cond_timedwait(&b->arrival, &b->lock, &deadline) == ETIMEDOUT && b->rounds < m->rounds)
            fail_absent(b);
    }
    return TAMIS_OK;
}

static tamis_status meet(member *m) {
    if (m->barrier->failed) return give_up(m);
    enter(m);
    return wait_for_all(m);
}

/* ------------------------------------------------------------------------------------------ entries */

static tamis_status gather(void *context, const void *record, size_t bytes, void *records) {
    member *const m = context;
    barrier *const b = m->barrier;
    pthread_mutex_lock(&b->lock);
    char *const place = b->records[m->rounds % 2];
    if (b->arrived == 0) b->bytes = bytes;
    if (bytes != b->bytes || bytes > TAMIS_TRANSPORT_RECORD) fail_barrier(b, "ranks make different calls");
    if (!b->failed) memcpy(place + (size_t)m->rank * bytes, record, bytes);
    const tamis_status status = meet(m);
    pthread_mutex_unlock(&b->lock);
    if (status == TAMIS_OK) memcpy(records, place, (size_t)b->ranks * bytes);
    return status;
}

static tamis_status exchange_begin(void *context, const tamis_transfer *transfer) {
    member *const m = context;
    barrier *const b = m->barrier;
    tamis_status status = TAMIS_OK;
    pthread_mutex_lock(&b->lock);
    if (b->arrived == 0) b->bytes = 0;
    if (b->bytes != 0) fail_barrier(b, "ranks make different calls");
    m->transfer = transfer;
    if (b->failed)
        status = give_up(m);
    else
        enter(m);
    pthread_mutex_unlock(&b->lock);
    return status;
}

/* Copies the other rank's data for this one. Returns false if they expect different numbers of bytes. */
static bool copy_from(const member *m, const member *other) {
    const tamis_transfer *const to = m->transfer, *const from = other->transfer;
    const int64_t first = from->send_starts[m->rank], bytes = from->send_starts[m->rank + 1] - first;
    const int64_t place = to->receive_starts[other->rank];
    if (to->receive_starts[other->rank + 1] - place != bytes) return false;
    if (bytes > 0) memcpy((char *)to->receive + place, (const char *)from->send + first, (size_t)bytes);
    return true;
}

/* Waits until no rank reads another's memory, even if the barrier has failed. The caller holds the lock. */
static void wait_for_readers(barrier *b) {
    while (b->copying > 0) pthread_cond_wait(&b->arrival, &b->lock);
}

static tamis_status copy_from_all(member *m) {
    barrier *const b = m->barrier;
    bool agrees = true;
    TRY(wait_for_all(m));
    if (b->failed) return give_up(m);
    b->copying++;
    pthread_mutex_unlock(&b->lock);
    for (int i = 1; i < b->ranks && agrees; i++) agrees = copy_from(m, &b->members[(m->rank + i) % b->ranks]);
    pthread_mutex_lock(&b->lock);
    b->copying--;
    if (!agrees) fail_barrier(b, "a rank sends another number of bytes than the other one expects");
    if (b->failed) pthread_cond_broadcast(&b->arrival);
    return meet(m);
}

static tamis_status exchange_end(void *context) {
    member *const m = context;
    pthread_mutex_lock(&m->barrier->lock);
    const tamis_status status = copy_from_all(m);
    if (status != TAMIS_OK) wait_for_readers(m->barrier);
    pthread_mutex_unlock(&m->barrier->lock);
    return status;
}

static void abort_all(void *context, const char *message) {
    member *const m = context;
    char reason[TEXT];
    snprintf(reason, sizeof reason, "rank %d: %.400s", m->rank, message);
    pthread_mutex_lock(&m->barrier->lock);
    fail_barrier(m->barrier, reason);
    pthread_mutex_unlock(&m->barrier->lock);
}

/* ------------------------------------------------------------------------------------------ device memory */

/* Enters a round of an exchange of device memory, and waits for the others. The caller holds the lock. */
static tamis_status meet_on_devices(member *m) {
    barrier *const b = m->barrier;
    if (b->arrived == 0) b->bytes = OF_DEVICES;
    if (b->bytes != OF_DEVICES) fail_barrier(b, "ranks make different calls");
    return meet(m);
}

/* Copies the other rank's data for this one, after the event that they are ready. */
static tamis_status copy_from_device(const member *m, const member *other) {
    const tamis_transfer *const to = m->transfer, *const from = other->transfer;
    const int64_t first = from->send_starts[m->rank], bytes = from->send_starts[m->rank + 1] - first;
    const int64_t place = to->receive_starts[other->rank];
    if (to->receive_starts[other->rank + 1] - place != bytes)
        return tamis_fail(TAMIS_ERROR_DEVICE, "a rank sends another number of bytes than the other one expects");
    if (bytes == 0) return TAMIS_OK;
    TRY(tamis_stream_wait(m->device, m->stream, other->ready));
    return tamis_device_copy_from(m->device, m->stream, to->receive, (size_t)place, other->device, from->send,
                                  (size_t)first, (size_t)bytes);
}

static tamis_status copy_from_devices(member *m) {
    const barrier *const b = m->barrier;
    for (int i = 1; i < b->ranks; i++) TRY(copy_from_device(m, &b->members[(m->rank + i) % b->ranks]));
    return tamis_event_record(m->device, m->stream, &m->copied);
}

/* Makes later work in this rank's stream wait for the others' copies of its memory. */
static tamis_status wait_for_copies(member *m) {
    const barrier *const b = m->barrier;
    for (int r = 0; r < b->ranks; r++)
        if (m->transfer->send_starts[r + 1] > m->transfer->send_starts[r])
            TRY(tamis_stream_wait(m->device, m->stream, b->members[r].copied));
    return TAMIS_OK;
}

/* Counts this rank as a reader of others' memory and events, or no longer. The caller holds the lock. */
static void count(member *m, bool copies) {
    barrier *const b = m->barrier;
    if (m->counted == copies) return;
    m->counted = copies;
    b->copying += copies ? 1 : -1;
    if (b->failed) pthread_cond_broadcast(&b->arrival);
}

/* After an error: waits until this rank's device and the other ranks have finished their copies. Keeps the message. */
static void fail_on_device(member *m) {
    barrier *const b = m->barrier;
    tamis_message kept;
    char reason[TEXT];
    tamis_message_keep(&kept);
    snprintf(reason, sizeof reason, "rank %d: %.400s", m->rank, kept.text);
    if (m->counted) (void)tamis_stream_synchronize(m->device, m->stream);
    pthread_mutex_lock(&b->lock);
    fail_barrier(b, reason);
    count(m, false);
    wait_for_readers(b);
    pthread_mutex_unlock(&b->lock);
    tamis_message_restore(&kept);
}

static tamis_status device_begin(void *context, tamis_device *device, void *stream, const tamis_transfer *transfer) {
    member *const m = context;
    barrier *const b = m->barrier;
    tamis_status status = TAMIS_OK;
    m->transfer = transfer;
    m->device = device;
    m->stream = stream;
    TRY_GOTO(failed, tamis_event_record(device, stream, &m->ready));
    pthread_mutex_lock(&b->lock);
    status = meet_on_devices(m);
    if (status == TAMIS_OK && b->failed)
        status = give_up(m);                /* a rank that has failed since then has not waited for this one */
    if (status == TAMIS_OK) count(m, true); /* until device_end */
    pthread_mutex_unlock(&b->lock);
    TRY_GOTO(failed, status);
    TRY_GOTO(failed, copy_from_devices(m));
    return TAMIS_OK;
failed:
    fail_on_device(m);
    return status;
}

static tamis_status device_end(void *context) {
    member *const m = context;
    barrier *const b = m->barrier;
    pthread_mutex_lock(&b->lock);
    tamis_status status = meet_on_devices(m);
    pthread_mutex_unlock(&b->lock);
    TRY_GOTO(failed, status);
    TRY_GOTO(failed, wait_for_copies(m));
    pthread_mutex_lock(&b->lock);
    count(m, false);
    pthread_mutex_unlock(&b->lock);
    return TAMIS_OK;
failed:
    fail_on_device(m);
    return status;
}

/* ------------------------------------------------------------------------------------------ opening */

static void release(barrier *b) {
    pthread_cond_destroy(&b->arrival);
    pthread_mutex_destroy(&b->lock);
    tamis_release(b->records[0]);
    tamis_release(b);
}

/* Waits until the others' streams wait for this rank's events, which may be after the exchange is over for this one.
   There is a time limit, since a rank that died within an exchange stays a reader. The caller holds the lock. */
static void wait_for_last_readers(barrier *b) {
    const struct timespec deadline = deadline_of(b->time_limit);
    while (b->copying > 0 && pthread_cond_timedwait(&b->arrival, &b->lock, &deadline) != ETIMEDOUT) continue;
}

void tamis_threads_close(void *context) {
    member *const m = context;
    barrier *const b = m->barrier;
    char reason[TEXT];
    snprintf(reason, sizeof reason, "rank %d has closed its group", m->rank);
    pthread_mutex_lock(&b->lock);
    fail_barrier(b, reason);
    count(m, false);
    wait_for_last_readers(b);
    pthread_mutex_unlock(&b->lock);
    tamis_event_destroy(m->device, m->ready);
    tamis_event_destroy(m->device, m->copied);
    pthread_mutex_lock(&b->lock);
    const bool last = --b->open == 0;
    pthread_mutex_unlock(&b->lock);
    if (last) release(b);
}

static tamis_status make(int ranks, double time_limit, barrier **result) {
    void *records = NULL;
    barrier *b = NULL;
    pthread_condattr_t attributes;
    const int64_t bytes = (int64_t)sizeof(barrier) + (int64_t)tamis_bytes(ranks, sizeof(member));
    TRY(tamis_allocate(2 * (int64_t)ranks, TAMIS_TRANSPORT_RECORD, "the records of a group", &records));
    const tamis_status status = tamis_allocate_zeroed(bytes, 1, "a group of threads", (void **)&b);
    if (status != TAMIS_OK) {
        tamis_release(records);
        return status;
    }
    b->ranks = b->open = ranks;
    b->time_limit = time_limit;
    b->records[0] = records;
    b->records[1] = b->records[0] + (size_t)ranks * TAMIS_TRANSPORT_RECORD;
    pthread_mutex_init(&b->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&b->arrival, &attributes);
    pthread_condattr_destroy(&attributes);
    *result = b;
    return TAMIS_OK;
}

tamis_status tamis_threads_open(int ranks, const tamis_transport_options *options, tamis_transport *transports) {
    barrier *b = NULL;
    TRY(make(ranks, options->time_limit, &b));
    for (int r = 0; r < ranks; r++) {
        b->members[r] = (member){.barrier = b, .rank = r};
        transports[r] = (tamis_transport){.size = sizeof *transports,
                                          .name = "threads",
                                          .context = &b->members[r],
                                          .rank = r,
                                          .ranks = ranks,
                                          .gather = gather,
                                          .exchange_begin = exchange_begin,
                                          .exchange_end = exchange_end,
                                          .abort = abort_all,
                                          .device_begin = device_begin,
                                          .device_end = device_end};
    }
    return TAMIS_OK;
}
