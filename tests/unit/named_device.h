/* What tests share that run on the device which their first argument names. */
#ifndef TAMIS_TESTS_NAMED_DEVICE_H
#define TAMIS_TESTS_NAMED_DEVICE_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <tamis/tamis.h>

/* Puts the name, if one is given, into *name; no device is probed. Where it cannot be opened: says why and is false. */
static inline bool named_device_is_here(int argc, char **argv, const char **name) {
    tamis_device *opened;
    if (argc > 1) *name = argv[1];
    setenv("TAMIS_PROBE", "0", 1);
    if (tamis_device_open(*name, &opened) != TAMIS_OK) {
        printf("skipped: %s\n", tamis_last_error());
        return false;
    }
    tamis_device_close(opened);
    return true;
}

#endif
