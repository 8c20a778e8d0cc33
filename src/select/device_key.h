/* Knowledge about a device on disk: the device's key, and one small text file per kind of knowledge. */
#ifndef TAMIS_SELECT_DEVICE_KEY_H
#define TAMIS_SELECT_DEVICE_KEY_H

#include <stdio.h>

#include "backend/backend.h"

enum { TAMIS_DEVICE_KEY = 256, TAMIS_DEVICE_FILE = 240 };

/* Makes a line that identifies a device: name, instruction set, threads, the processors that they run on if fewer, and
   caches. False if the device cannot be described. */
bool tamis_device_key(const tamis_backend *backend, int number, int threads, char key[TAMIS_DEVICE_KEY]);

/* Leaves the device's number out of its key, which then is the same for all GPUs of one model. */
void tamis_device_key_of_chip(char key[TAMIS_DEVICE_KEY]);

/* Number of processors on which `threads` threads of a device run: fewer if threads share processors. */
int tamis_processors_of(const tamis_backend *backend, int threads);

/* Name of the device's file in the cache; it begins with `prefix`. */
void tamis_device_file(const char *prefix, const char *key, char name[TAMIS_DEVICE_FILE]);

/* Opens the device's file in the cache for reading, or, with of_site, in the folder that TAMIS_CEILINGS names, where a
   site keeps files of its machines. NULL: there is none. */
FILE *tamis_device_file_open(const char *prefix, const char *key, bool of_site);

/* True if the next two lines of the file are the format and the key. */
bool tamis_device_file_begins(FILE *file, const char *format, const char *key);

/* Returns the number of files whose names begin with `prefix`; with `remove`, removes them. */
int64_t tamis_device_files(const char *prefix, bool remove);

#endif
