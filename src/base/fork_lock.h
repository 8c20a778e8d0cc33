/* A lock that a child of fork() finds open, and what it guards whole, whatever other threads of the parent were doing.
 */
#ifndef TAMIS_BASE_FORK_LOCK_H
#define TAMIS_BASE_FORK_LOCK_H

#include <pthread.h>

/* Once in a file, behind its static lock. Who holds such a lock may take no other one of them. */
#define TAMIS_FORK_LOCK(lock)                                                                                          \
    static void lock_for_fork(void) { pthread_mutex_lock(&(lock)); }                                                   \
    static void unlock_after_fork(void) { pthread_mutex_unlock(&(lock)); }                                             \
    __attribute__((constructor)) static void watch_forks(void) {                                                       \
        pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);                                           \
    }

#endif
