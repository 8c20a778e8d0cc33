/* What the library keeps of a device on disk: the device's key, and one small text file for each kind of knowledge. */
#ifndef TAMIS_SELECT_DEVICE_KEY_H
#define TAMIS_SELECT_DEVICE_KEY_H

#include "backend/backend.h"

enum { TAMIS_DEVICE_KEY = 256, TAMIS_DEVICE_FILE = 240 };

/* A line that names a device, its instruction set, threads, the processors that they run on if those are fewer, and
   caches. False if the device cannot be described. */
bool tamis_device_key(const tamis_backend *backend, int number, int threads, char key[TAMIS_DEVICE_KEY]);

/* Returns how many processors so many threads of a device run on: fewer than threads where they take turns. */
int tamis_processors_of(const tamis_backend *backend, int threads);

/* The name of the device's file in the cache; it begins with `prefix`. */
void tamis_device_file(const char *prefix, const char *key, char name[TAMIS_DEVICE_FILE]);

/* Returns how many files there are whose names begin with `prefix`; with `remove`, removes them. */
int64_t tamis_device_files(const char *prefix, bool remove);

#endif
