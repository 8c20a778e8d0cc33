/* Checks in processes of their own: what a process finds out about its libraries and caches, it finds out once. */
#ifndef TAMIS_TESTS_GPU_PROCESSES_H
#define TAMIS_TESTS_GPU_PROCESSES_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts `run(context)` in a child; the parent must not have opened a device. */
pid_t process_start(void (*run)(const void *context), const void *context);

/* Waits for it: its exit code, or 128 and more where a signal ended it. */
int process_code(pid_t child);

/* The same; prints what died of what. True when all its checks held. */
bool process_passed(pid_t child, const char *name);

/* Both; for a parent that does one thing at a time. */
bool process_run(const char *name, void (*run)(const void *context), const void *context);

/* A check of the child: a failed one is printed and remembered. */
void process_check(bool holds, const char *text, const char *file, int line);
#define CHECK(condition) process_check((condition), #condition, __FILE__, __LINE__)

/* tamis_last_error() contains `part`. */
bool error_has(const char *part);

/* The library at `path` becomes CUDA's driver and compiler, nothing is kept on disk, and it tells what it was asked:
   see fake_cuda.c. */
void use_fake(const char *path);
extern long (*calls)(const char *function), (*note)(const char *what);
extern void (*manage)(void *memory);

/* A fresh folder under TMPDIR; and its end with all that is in it. */
void folder_make(char *path, int bytes);
void folder_remove(const char *path);

#endif
