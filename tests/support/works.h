/* A call that must work; its message says why it did not. Include it after cmocka. */
#ifndef TAMIS_TESTS_WORKS_H
#define TAMIS_TESTS_WORKS_H

#include <tamis/tamis.h>

static inline void works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

#endif
