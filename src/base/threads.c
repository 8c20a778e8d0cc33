/*
 * A thread pool. A region is one call of tamis_threads_run: its shares are taken by the caller and by idle threads of
 * the pool.
 *
 * Each thread of the pool has a mailbox. A caller posts its region to the mailboxes of idle threads, takes shares
 * itself until none is left, withdraws the region from unopened mailboxes, and waits only for the threads that are in
 * it. So no caller waits for a thread that has not begun, or that it did not get: simultaneous callers, and nested
 * regions, share the existing threads.
 *
 * An idle thread polls its mailbox for some microseconds, so that consecutive regions find it awake, and then sleeps,
 * so that other libraries' threads can use the processors. The pool is made when it is first needed and ended when the
 * library is unloaded; a child of fork() begins without one.
 */
#include "base/threads.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/float_mode.h"

enum {
    SHARES_MOST = 1024,    /* shares of a region; a call with more is several regions */
    THREADS_MOST = 1023,   /* threads of the pool */
    STACK_BYTES = 2 << 20, /* stack of a thread; other libraries' thread-local data are in it, too */
    LOOKS = 600,           /* polls of its mailbox, about 0.2 ms, before a thread sleeps */
    CALLER_LOOKS = 20000,  /* polls of a caller, about 10 ms: shares that others have begun end soon */
    LOOKS_AT_ONCE = 200,   /* polls with a short pause; later ones yield the processor */
    PATIENCE = 200         /* regions until the next attempt after a thread could not be created */
};
static const unsigned CALLER_SLEEPS = 1U << 31;

typedef struct region {
    tamis_thread_body *body;
    void *context;
    int first, count, shares; /* shares first .. first + count - 1 of all */
    int processor;            /* the caller's */
    tamis_float_mode mode;    /* the caller's, so that a share has the same result in every thread */
    _Atomic unsigned inside;  /* threads that have the region in their mailbox or are in it; and CALLER_SLEEPS */
    sem_t left;               /* the last thread posts it if the caller sleeps */
    _Atomic unsigned char taken[SHARES_MOST];
} region;

typedef struct worker {
    _Alignas(128) _Atomic(region *) mailbox; /* NULL: idle; or a region, `busy` or `stop` */
    _Atomic bool asleep;
    sem_t wake;
    pthread_t thread;
} worker;

static region busy, stop;

static struct {
    pthread_mutex_t growing;
    _Atomic int count;
    _Atomic int patience;
    bool ended;
    worker workers[THREADS_MOST];
} pool = {.growing = PTHREAD_MUTEX_INITIALIZER};

/* ------------------------------------------------------------------------------------------ waiting */

static inline void pause_a_moment(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* the yield instruction is too short */
#endif
}

/* Pauses after poll number `look` found nothing. */
static void look_again(int look) {
    if (look < LOOKS_AT_ONCE)
        pause_a_moment();
    else
        sched_yield();
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {}
}

/* ------------------------------------------------------------------------------------------ shares */

/* Each thread begins with its own share, the same in every region, so that data are in its caches. It continues with
   the previous share, since the threads that start last have the highest numbers. */
static void take_shares(region *r, int own) {
    for (int i = 0; i < r->count; i++) {
        const int share = own >= i ? own - i : own - i + r->count;
        if (atomic_load_explicit(&r->taken[share], memory_order_relaxed)) continue;
        if (!atomic_exchange_explicit(&r->taken[share], 1, memory_order_relaxed))
            r->body(r->context, r->first + share, r->shares);
    }
}

/* ------------------------------------------------------------------------------------------ a thread of the pool */

static region *await(worker *w) {
    for (;;) {
        for (int look = 0; look < LOOKS; look++) {
            region *const found = atomic_load_explicit(&w->mailbox, memory_order_acquire);
            if (found) return found;
            look_again(look);
        }
        atomic_store(&w->asleep, true);
        if (atomic_load(&w->mailbox) == NULL || !atomic_exchange(&w->asleep, false)) wait_for(&w->wake);
    }
}

static void leave(region *r) {
    const unsigned before = atomic_fetch_sub_explicit(&r->inside, 1, memory_order_acq_rel);
    if (before == CALLER_SLEEPS + 1) sem_post(&r->left);
}

/* Moves a thread to another processor: systems may wake a thread on its waker's processor, where the two would
   alternate. */
static void move_away(int processor) {
    cpu_set_t all, others;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    others = all;
    CPU_CLR((size_t)processor, &others);
    if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
        sched_setaffinity(0, sizeof all, &all);
}

static void *serve(void *memory) {
    worker *const w = memory;
    const int number = (int)(w - pool.workers);
    for (;;) {
        region *r = await(w);
        if (r == &stop) return NULL;
        if (!atomic_compare_exchange_strong(&w->mailbox, &r, &busy)) continue; /* the caller took it back */
        if (r->processor >= 0 && r->processor == sched_getcpu()) move_away(r->processor);
        tamis_float_mode_set(r->mode);
        take_shares(r, (number + 1) % r->count);
        atomic_store_explicit(&w->mailbox, NULL, memory_order_release);
        leave(r);
    }
}

/* ------------------------------------------------------------------------------------------ the pool */

static bool start(worker *w) {
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sem_init(&w->wake, 0, 0);
    atomic_store(&w->mailbox, NULL);
    atomic_store(&w->asleep, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's own threads handle signals */
    const bool started = pthread_create(&w->thread, &attributes, serve, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (!started) sem_destroy(&w->wake);
    return started;
}

/* Creates a thread if the pool has fewer than `limit`. Threads are added one by one as needed, up to the number that
   the caller or the default can use at once. */
static bool grow(int limit) {
    bool grown = false;
    if (atomic_load(&pool.patience) > 0 && atomic_fetch_sub(&pool.patience, 1) > 1) return false;
    pthread_mutex_lock(&pool.growing);
    const int count = atomic_load(&pool.count);
    if (count < limit && !pool.ended) {
        grown = start(&pool.workers[count]);
        atomic_store(&pool.patience, grown ? 0 : PATIENCE);
        if (grown) atomic_store_explicit(&pool.count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&pool.growing);
    return grown;
}

static bool post(worker *w, region *r, bool *woken) {
    region *idle = NULL;
    if (atomic_load_explicit(&w->mailbox, memory_order_relaxed) != NULL) return false;
    atomic_fetch_add_explicit(&r->inside, 1, memory_order_relaxed);
    if (!atomic_compare_exchange_strong(&w->mailbox, &idle, r)) {
        atomic_fetch_sub_explicit(&r->inside, 1, memory_order_relaxed);
        return false;
    }
    if (atomic_load(&w->asleep) && atomic_exchange(&w->asleep, false)) {
        sem_post(&w->wake);
        *woken = true;
    }
    return true;
}

/* Posts the region to idle threads. Returns a bound: all of them have smaller numbers. */
static int call(region *r, bool *woken) {
    const int wanted = r->count - 1;
    int posted = 0, next = 0, limit = 0;
    for (;;) {
        const int count = atomic_load_explicit(&pool.count, memory_order_acquire);
        for (; next < count && posted < wanted; next++) posted += post(&pool.workers[next], r, woken);
        if (posted == wanted) return next;
        if (limit == 0) {
            const int usual = tamis_threads_default() - 1;
            limit = wanted > usual ? wanted : usual;
        }
        if (count >= limit || !grow(limit < THREADS_MOST ? limit : THREADS_MOST)) return next;
    }
}

static void take_back(region *r, int end) {
    for (int i = 0; i < end; i++) {
        region *mine = r;
        worker *const w = &pool.workers[i];
        if (atomic_load_explicit(&w->mailbox, memory_order_relaxed) == r &&
            atomic_compare_exchange_strong(&w->mailbox, &mine, NULL))
            atomic_fetch_sub_explicit(&r->inside, 1, memory_order_relaxed);
    }
}

static void wait_until_left(region *r) {
    int cancellable = 0;
    for (int look = 0; look < CALLER_LOOKS; look++) {
        if (atomic_load_explicit(&r->inside, memory_order_acquire) == 0) return;
        look_again(look);
    }
    sem_init(&r->left, 0, 0);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE,
                           &cancellable); /* the region is on this stack, so the thread must not be cancelled */
    if (atomic_fetch_or_explicit(&r->inside, CALLER_SLEEPS, memory_order_acq_rel) > 0) wait_for(&r->left);
    pthread_setcancelstate(cancellable, NULL);
    sem_destroy(&r->left);
}

static void run(int first, int count, int shares, tamis_thread_body *body, void *context) {
    region r = {.body = body, .context = context, .first = first, .count = count, .shares = shares};
    bool woken = false;
    r.processor = sched_getcpu();
    r.mode = tamis_float_mode_get();
    const int end = call(&r, &woken);
    if (woken) sched_yield(); /* lets a thread that was woken on this processor move away */
    take_shares(&r, 0);
    if (end == 0) return;
    take_back(&r, end);
    wait_until_left(&r);
}

void tamis_threads_run(int shares, tamis_thread_body *body, void *context) {
    if (shares <= 0) shares = tamis_threads_default();
    if (shares == 1) {
        body(context, 0, 1);
        return;
    }
    for (int first = 0; first < shares; first += SHARES_MOST)
        run(first, shares - first < SHARES_MOST ? shares - first : SHARES_MOST, shares, body, context);
}

int tamis_threads_for(int threads, int64_t work, int64_t share) {
    const int64_t worth = 1 + work / share;
    if (threads <= 0) threads = tamis_threads_default();
    return threads > worth ? (int)worth : threads;
}

/* ------------------------------------------------------------------------------------------ its life */

/* Number of forks; see the handlers. A child has none of the parent's threads, and no open region, since the forking
   thread is not in a body. Holders of other locks may grow the pool, so this handler is registered first, and fork()
   calls it last. */
static unsigned forks;

static void before_fork(void) { pthread_mutex_lock(&pool.growing); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&pool.growing); }
static void after_fork_in_child(void) {
    forks++;
    atomic_store(&pool.count, 0);
    atomic_store(&pool.patience, 0);
    pthread_mutex_unlock(&pool.growing);
}

unsigned tamis_fork_count(void) { return forks; }

__attribute__((constructor(200))) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Ends the pool. At the end of the process a thread may still be in a region of another thread of the program; it is
   detached. When the library is unloaded, no call is running. */
__attribute__((destructor)) static void end_pool(void) {
    pthread_mutex_lock(&pool.growing);
    pool.ended = true;
    const int count = atomic_exchange(&pool.count, 0);
    for (int i = 0; i < count; i++) {
        region *idle = NULL;
        worker *const w = &pool.workers[i];
        if (!atomic_compare_exchange_strong(&w->mailbox, &idle, &stop)) {
            pthread_detach(w->thread);
            continue;
        }
        if (atomic_exchange(&w->asleep, false)) sem_post(&w->wake);
        pthread_join(w->thread, NULL);
        sem_destroy(&w->wake);
    }
    pthread_mutex_unlock(&pool.growing);
}
