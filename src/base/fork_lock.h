/* A lock that is open in a child of fork(), with consistent data behind it, whatever other threads of the parent were
   doing. */
#ifndef TAMIS_BASE_FORK_LOCK_H
#define TAMIS_BASE_FORK_LOCK_H

#include <pthread.h>

/* Use it once in a file, after the file's static lock. A thread that holds such a lock must not take another. */
#define TAMIS_FORK_LOCK(lock)                                                                                          \
    static void lock_for_fork(void) { pthread_mutex_lock(&(lock)); }                                                   \
    static void unlock_after_fork(void) { pthread_mutex_unlock(&(lock)); }                                             \
    __attribute__((constructor)) static void watch_forks(void) {                                                       \
        pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);                                           \
    }

#endif
