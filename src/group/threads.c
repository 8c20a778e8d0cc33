/*
 * Ranks that are threads of one process meet in a hall: they arrive with what they bring, and go on when all are there.
 * The hall counts meetings. A rank that enters meeting n + 1 has left meeting n, so two places for records are enough.
 * A meeting of an exchange needs no place: what is sent stays in the sender's memory until a second meeting says that
 * all have copied theirs. Of device memory the two meetings say that all have recorded an event in their streams, that
 * what they send is ready and that they have copied theirs; the streams then wait for these events, the hosts do not.
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

enum { TEXT = 512, LOOKS = 100 };

static const size_t OF_DEVICES = (size_t)-1; /* in place of the records' size: ranks meet to exchange device memory */

struct hall;

typedef struct member {
    struct hall *hall;
    int rank;
    int64_t meetings; /* that this rank has entered */
    const tamis_transfer *transfer;
    tamis_device *device; /* of the exchange of device memory under way, with its stream; the events last */
    void *stream, *ready, *copied;
} member;

typedef struct hall {
    pthread_mutex_t lock; /* for all that follows */
    pthread_cond_t arrival;
    int ranks, open, arrived; /* open: members that have not closed; arrived: at the meeting under way */
    int copying;              /* members that read the others' memory */
    int64_t meetings;         /* that are over */
    double time_limit;
    bool failed;
    char reason[TEXT];
    size_t bytes; /* of the records of the meeting under way */
    char *records[2];
    member members[];
} hall;

/* ------------------------------------------------------------------------------------------ failing */

/* The first reason stays. */
static void fail_hall(hall *h, const char *reason) {
    if (h->failed) return;
    h->failed = true;
    snprintf(h->reason, sizeof h->reason, "%s", reason);
    pthread_cond_broadcast(&h->arrival);
}

static void fail_absent(hall *h) {
    char reason[TEXT];
    int length = snprintf(reason, sizeof reason, "after %g seconds these ranks had not come:", h->time_limit);
    for (int r = 0; r < h->ranks && length < TEXT - 16; r++)
        if (h->members[r].meetings <= h->meetings)
            length += snprintf(reason + length, sizeof reason - (size_t)length, " %d", r);
    fail_hall(h, reason);
}

static tamis_status give_up(const member *m) { return tamis_fail(TAMIS_ERROR_DEVICE, "%s", m->hall->reason); }

/* ------------------------------------------------------------------------------------------ meeting */

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

/* Enters the next meeting; whoever comes last ends it. The lock is held. */
static void enter(member *m) {
    hall *const h = m->hall;
    m->meetings++;
    if (++h->arrived < h->ranks) return;
    h->arrived = 0;
    __atomic_store_n(&h->meetings, h->meetings + 1, __ATOMIC_RELEASE); /* look_on reads it without the lock */
    pthread_cond_broadcast(&h->arrival);
}

/* Ranks come at nearly the same time, and waking a thread takes longer than that: for a moment it only looks. */
static void look_on(const member *m) {
    hall *const h = m->hall;
    pthread_mutex_unlock(&h->lock);
    for (int i = 0; i < LOOKS && __atomic_load_n(&h->meetings, __ATOMIC_ACQUIRE) < m->meetings; i++) sched_yield();
    pthread_mutex_lock(&h->lock);
}

/* Waits for the end of the meeting that this rank has entered. The lock is held. */
static tamis_status wait_for_all(member *m) {
    hall *const h = m->hall;
    const struct timespec deadline = deadline_of(h->time_limit);
    if (h->meetings < m->meetings && !h->failed) look_on(m);
    while (h->meetings < m->meetings) {
        if (h->failed) return give_up(m);
        if (pthread_cond_timedwait(&h->arrival, &h->lock, &deadline) == ETIMEDOUT && h->meetings < m->meetings)
            fail_absent(h);
    }
    return TAMIS_OK;
}

static tamis_status meet(member *m) {
    if (m->hall->failed) return give_up(m);
    enter(m);
    return wait_for_all(m);
}

/* ------------------------------------------------------------------------------------------ entries */

static tamis_status gather(void *context, const void *record, size_t bytes, void *records) {
    member *const m = context;
    hall *const h = m->hall;
    pthread_mutex_lock(&h->lock);
    char *const place = h->records[m->meetings % 2];
    if (h->arrived == 0) h->bytes = bytes;
    if (bytes != h->bytes || bytes > TAMIS_TRANSPORT_RECORD) fail_hall(h, "ranks make different calls");
    if (!h->failed) memcpy(place + (size_t)m->rank * bytes, record, bytes);
    const tamis_status status = meet(m);
    pthread_mutex_unlock(&h->lock);
    if (status == TAMIS_OK) memcpy(records, place, (size_t)h->ranks * bytes);
    return status;
}

static tamis_status exchange_begin(void *context, const tamis_transfer *transfer) {
    member *const m = context;
    hall *const h = m->hall;
    tamis_status status = TAMIS_OK;
    pthread_mutex_lock(&h->lock);
    if (h->arrived == 0) h->bytes = 0;
    if (h->bytes != 0) fail_hall(h, "ranks make different calls");
    m->transfer = transfer;
    if (h->failed)
        status = give_up(m);
    else
        enter(m);
    pthread_mutex_unlock(&h->lock);
    return status;
}

/* What the other rank sends to this one. */
static bool copy_from(const member *m, const member *other) {
    const tamis_transfer *const to = m->transfer, *const from = other->transfer;
    const int64_t first = from->send_starts[m->rank], bytes = from->send_starts[m->rank + 1] - first;
    const int64_t place = to->receive_starts[other->rank];
    if (to->receive_starts[other->rank + 1] - place != bytes) return false;
    if (bytes > 0) memcpy((char *)to->receive + place, (const char *)from->send + first, (size_t)bytes);
    return true;
}

/* Where the hall has failed, a rank still must not take its memory away from one that reads it. The lock is held. */
static void wait_for_readers(hall *h) {
    while (h->copying > 0) pthread_cond_wait(&h->arrival, &h->lock);
}

static tamis_status copy_from_all(member *m) {
    hall *const h = m->hall;
    bool agrees = true;
    TRY(wait_for_all(m));
    if (h->failed) return give_up(m);
    h->copying++;
    pthread_mutex_unlock(&h->lock);
    for (int i = 1; i < h->ranks && agrees; i++) agrees = copy_from(m, &h->members[(m->rank + i) % h->ranks]);
    pthread_mutex_lock(&h->lock);
    h->copying--;
    if (!agrees) fail_hall(h, "a rank sends another number of bytes than the other one expects");
    if (h->failed) pthread_cond_broadcast(&h->arrival);
    return meet(m);
}

static tamis_status exchange_end(void *context) {
    member *const m = context;
    pthread_mutex_lock(&m->hall->lock);
    const tamis_status status = copy_from_all(m);
    if (status != TAMIS_OK) wait_for_readers(m->hall);
    pthread_mutex_unlock(&m->hall->lock);
    return status;
}

static void abort_all(void *context, const char *message) {
    member *const m = context;
    char reason[TEXT];
    snprintf(reason, sizeof reason, "rank %d: %.400s", m->rank, message);
    pthread_mutex_lock(&m->hall->lock);
    fail_hall(m->hall, reason);
    pthread_mutex_unlock(&m->hall->lock);
}

/* ------------------------------------------------------------------------------------------ device memory */

/* Says that this rank has come to an exchange of device memory, and waits for the others. The lock is held. */
static tamis_status meet_for_devices(member *m) {
    hall *const h = m->hall;
    if (h->arrived == 0) h->bytes = OF_DEVICES;
    if (h->bytes != OF_DEVICES) fail_hall(h, "ranks make different calls");
    return meet(m);
}

/* What the other rank sends to this one, behind the event that says that it is ready. */
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
    const hall *const h = m->hall;
    for (int i = 1; i < h->ranks; i++) TRY(copy_from_device(m, &h->members[(m->rank + i) % h->ranks]));
    return tamis_event_record(m->device, m->stream, &m->copied);
}

/* Later work of this rank's stream comes behind the copies that others make of its memory. */
static tamis_status wait_for_copies(member *m) {
    const hall *const h = m->hall;
    for (int r = 0; r < h->ranks; r++)
        if (m->transfer->send_starts[r + 1] > m->transfer->send_starts[r])
            TRY(tamis_stream_wait(m->device, m->stream, h->members[r].copied));
    return TAMIS_OK;
}

/* After an error: this rank's device has ended its copies, and so have the others theirs. Keeps the message. */
static void let_go(member *m, bool counted) {
    hall *const h = m->hall;
    tamis_message kept;
    char reason[TEXT];
    tamis_message_keep(&kept);
    snprintf(reason, sizeof reason, "rank %d: %.400s", m->rank, kept.text);
    if (counted) (void)tamis_stream_synchronize(m->device, m->stream);
    pthread_mutex_lock(&h->lock);
    fail_hall(h, reason);
    if (counted) h->copying--;
    pthread_cond_broadcast(&h->arrival);
    wait_for_readers(h);
    pthread_mutex_unlock(&h->lock);
    tamis_message_restore(&kept);
}

static tamis_status device_begin(void *context, tamis_device *device, void *stream, const tamis_transfer *transfer) {
    member *const m = context;
    hall *const h = m->hall;
    tamis_status status = TAMIS_OK;
    bool counted = false;
    m->transfer = transfer;
    m->device = device;
    m->stream = stream;
    TRY_GOTO(failed, tamis_event_record(device, stream, &m->ready));
    pthread_mutex_lock(&h->lock);
    status = meet_for_devices(m);
    if (status == TAMIS_OK && h->failed) status = give_up(m); /* who failed since then has not waited for this rank */
    counted = status == TAMIS_OK;
    h->copying += counted; /* until device_end */
    pthread_mutex_unlock(&h->lock);
    TRY_GOTO(failed, status);
    TRY_GOTO(failed, copy_from_devices(m));
    return TAMIS_OK;
failed:
    let_go(m, counted);
    return status;
}

static tamis_status device_end(void *context) {
    member *const m = context;
    hall *const h = m->hall;
    pthread_mutex_lock(&h->lock);
    tamis_status status = meet_for_devices(m);
    pthread_mutex_unlock(&h->lock);
    TRY_GOTO(failed, status);
    TRY_GOTO(failed, wait_for_copies(m));
    pthread_mutex_lock(&h->lock);
    h->copying--;
    if (h->failed) pthread_cond_broadcast(&h->arrival);
    pthread_mutex_unlock(&h->lock);
    return TAMIS_OK;
failed:
    let_go(m, true);
    return status;
}

/* ------------------------------------------------------------------------------------------ opening */

static void release(hall *h) {
    pthread_cond_destroy(&h->arrival);
    pthread_mutex_destroy(&h->lock);
    tamis_release(h->records[0]);
    tamis_release(h);
}

void tamis_threads_close(void *context) {
    member *const m = context;
    hall *const h = m->hall;
    char reason[TEXT];
    snprintf(reason, sizeof reason, "rank %d has closed its group", m->rank);
    tamis_event_destroy(m->device, m->ready);
    tamis_event_destroy(m->device, m->copied);
    pthread_mutex_lock(&h->lock);
    fail_hall(h, reason);
    const bool last = --h->open == 0;
    pthread_mutex_unlock(&h->lock);
    if (last) release(h);
}

static tamis_status make(int ranks, double time_limit, hall **result) {
    void *records = NULL;
    hall *h = NULL;
    pthread_condattr_t attributes;
    const int64_t bytes = (int64_t)sizeof(hall) + ranks * (int64_t)sizeof(member);
    TRY(tamis_allocate(2 * (int64_t)ranks, TAMIS_TRANSPORT_RECORD, "the records of a group", &records));
    const tamis_status status = tamis_allocate_zeroed(bytes, 1, "a group of threads", (void **)&h);
    if (status != TAMIS_OK) {
        tamis_release(records);
        return status;
    }
    h->ranks = h->open = ranks;
    h->time_limit = time_limit;
    h->records[0] = records;
    h->records[1] = h->records[0] + (size_t)ranks * TAMIS_TRANSPORT_RECORD;
    pthread_mutex_init(&h->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&h->arrival, &attributes);
    pthread_condattr_destroy(&attributes);
    *result = h;
    return TAMIS_OK;
}

tamis_status tamis_threads_open(int ranks, const tamis_transport_options *options, tamis_transport *transports) {
    hall *h = NULL;
    TRY(make(ranks, options->time_limit, &h));
    for (int r = 0; r < ranks; r++) {
        h->members[r] = (member){.hall = h, .rank = r};
        transports[r] = (tamis_transport){.size = sizeof *transports,
                                          .name = "threads",
                                          .context = &h->members[r],
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
