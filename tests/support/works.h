/* A call that is to work, whose message says why it did not; and one that is to fail with these words. After cmocka. */
#ifndef TAMIS_TESTS_WORKS_H
#define TAMIS_TESTS_WORKS_H

#include <string.h>

#include <tamis/tamis.h>

static inline void works(tamis_status status) {
    if (status != TAMIS_OK) fail_msg("%s: %s", tamis_status_name(status), tamis_last_error());
}

static inline void is_refused(tamis_status got, tamis_status want, const char *words) {
    if (got != want || !strstr(tamis_last_error(), words))
        fail_msg("%s, \"%s\": expected %s with \"%s\"", tamis_status_name(got), tamis_last_error(),
                 tamis_status_name(want), words);
}

#endif
