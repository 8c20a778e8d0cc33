/* The table of methods, in the order in which programs list them. */
#include "ml/methods/methods.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "ml/methods/method.h"

extern const ml_method ml_als, ml_implicit_als, ml_bpr, ml_item_knn, ml_ease, ml_transitions, ml_ccd, ml_sfa, ml_lda,
    ml_gap, ml_nmf, ml_lda_gibbs, ml_rating_knn;

static const ml_method *const rows[] = {&ml_als,         &ml_implicit_als, &ml_bpr, &ml_item_knn,   &ml_ease,
                                        &ml_transitions, &ml_ccd,          &ml_sfa, &ml_rating_knn, &ml_lda,
                                        &ml_lda_gibbs,   &ml_gap,          &ml_nmf};
enum { ROWS = (int)(sizeof rows / sizeof rows[0]) };

const ml_method *ml_method_of(tamis_method method) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i]->about.method == method) return rows[i];
    return NULL;
}

const char *tamis_method_name(tamis_method method) {
    const ml_method *const row = ml_method_of(method);
    return row ? row->about.name : "unknown";
}

static bool is_taken(bool (*takes)(const ml_method *method), int row) { return !takes || takes(rows[row]); }

void ml_method_names(bool (*takes)(const ml_method *method), const char *last_word, char names[ML_METHOD_NAMES]) {
    int count = 0, listed = 0;
    size_t used = 0;
    for (int i = 0; i < ROWS; i++) count += is_taken(takes, i);
    names[0] = '\0';
    for (int i = 0; i < ROWS && used < ML_METHOD_NAMES; i++) {
        if (!is_taken(takes, i)) continue;
        const bool last = ++listed == count && count > 1;
        used += (size_t)snprintf(names + used, ML_METHOD_NAMES - used, "%s%s%s%s",
                                 last         ? " "
                                 : listed > 1 ? ", "
                                              : "",
                                 last ? last_word : "", last ? " " : "", rows[i]->about.name);
    }
}

tamis_status tamis_method_from_name(const char *name, tamis_method *method) {
    tamis_clear_error();
    if (!name || !method) return tamis_fail(TAMIS_ERROR_ARGUMENT, "%s is NULL", name ? "method" : "name");
    for (int i = 0; i < ROWS; i++)
        if (strcmp(name, rows[i]->about.name) == 0) {
            *method = rows[i]->about.method;
            return TAMIS_OK;
        }
    char names[ML_METHOD_NAMES];
    ml_method_names(NULL, "or", names);
    return tamis_fail(TAMIS_ERROR_ARGUMENT, "method = \"%s\": expected %s", name, names);
}

int tamis_method_count(void) { return ROWS; }

tamis_status tamis_method_at(int index, tamis_method_description *description) {
    tamis_clear_error();
    if (!description) return tamis_fail(TAMIS_ERROR_ARGUMENT, "description is NULL");
    if (index < 0 || index >= ROWS)
        return tamis_fail(TAMIS_ERROR_ARGUMENT, "index = %d, expected 0 to %d", index, ROWS - 1);
    *description = rows[index]->about;
    return TAMIS_OK;
}
