/* The reserved words at the end of public structures: see how structures grow in <tamis/types.h>. */
#ifndef TAMIS_BASE_RESERVED_H
#define TAMIS_BASE_RESERVED_H

#include "base/status.h"

/* Returns an error that names the first nonzero word. name: the structure's name, such as "options". */
static inline tamis_status tamis_reserved_check(const char *name, const uint64_t *reserved, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *reserved; i++)
        if (reserved[i])
            return tamis_fail(
                TAMIS_ERROR_UNSUPPORTED,
                "%s.reserved[%zu] = %#llx: a field that version %s does not know is set, or the structure was not "
                "initialised with its _INIT macro or with zeros",
                name, i, (unsigned long long)reserved[i], TAMIS_VERSION_STRING);
    return TAMIS_OK;
}

static inline tamis_status tamis_reserved_flags_check(const char *name, const bool *flags, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (flags[i])
            return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s.reserved_flags[%zu] is true: expected false", name, i);
    return TAMIS_OK;
}

/* Check the reserved words and flags of a structure: TAMIS_RESERVED(options, "options"). */
#define TAMIS_RESERVED(structure, name) tamis_reserved_check(name, (structure)->reserved, sizeof(structure)->reserved)
#define TAMIS_RESERVED_FLAGS(structure, name)                                                                          \
    tamis_reserved_flags_check(name, (structure)->reserved_flags, sizeof(structure)->reserved_flags)

#endif
