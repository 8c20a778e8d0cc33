/* A lock that a child of fork() finds open, with whole data behind it, whatever other threads of the parent did. */
#ifndef TAMIS_BASE_FORK_LOCK_H
#define TAMIS_BASE_FORK_LOCK_H

#include <pthread.h>

/* Stands once in a file, after its static lock. A thread that holds such a lock must not take another one of them. */
#define TAMIS_FORK_LOCK(lock)                                                                                          \
    static void lock_for_fork(void) { pthread_mutex_lock(&(lock)); }                                                   \
    static void unlock_after_fork(void) { pthread_mutex_unlock(&(lock)); }                                             \
    __attribute__((constructor)) static void watch_forks(void) {                                                       \
        pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);                                           \
    }

#endif
