#include "expression/edge.h"

#include <string.h>

#include "base/fnv.h"
#include "base/memory.h"
#include "base/status.h"
#include "expression/differentiate.h"
#include "expression/text.h"

tamis_status tamis_edge_text_declare(const tamis_program *p, const double *scalars, char **text) {
    tamis_text_buffer length = {NULL, 0, 0};
    tamis_program_declarations(p, scalars, &length);
    TRY(tamis_allocate((int64_t)length.used + 1, 1, "the code of an edge", (void **)text));
    tamis_program_declarations(p, scalars, &(tamis_text_buffer){*text, length.used + 1, 0});
    return TAMIS_OK;
}

static tamis_status name_of(const tamis_program *p, const double *scalars, uint64_t *name) {
    char *text;
    TRY(tamis_edge_text_declare(p, scalars, &text));
    *name = tamis_fnv_bytes(TAMIS_FNV_START, text, strlen(text));
    tamis_release(text);
    return TAMIS_OK;
}

static tamis_status read(const tamis_options *o, tamis_edge_text *edge) {
    TRY(tamis_program_read(&edge->value, &tamis_edge_form, o->edge_text, o->edge_numbers, o->edge_number_count,
                           edge->scalars));
    memcpy(edge->text, o->edge_text, strlen(o->edge_text) + 1);
    edge->all = edge->value;
    TRY(tamis_program_differentiate(&edge->all));
    TRY(name_of(&edge->value, edge->scalars, &edge->names[0]));
    return name_of(&edge->all, edge->scalars, &edge->names[1]);
}

tamis_status tamis_edge_text_by(const tamis_edge_text *edge, int number, tamis_edge_text **by) {
    TRY(tamis_allocate(1, sizeof **by, "a derivative of an edge", (void **)by));
    tamis_program *const p = &(*by)->all;
    **by = *edge;
    *p = edge->value;
    int results[TAMIS_PROGRAM_RESULTS] = {p->result[0], tamis_program_number(p, 0), 0};
    TRY(tamis_differentiate(p, results[0], p->array[number].kind, number, &results[2]));
    TRY(tamis_program_finish(p, results, TAMIS_PROGRAM_RESULTS));
    return name_of(p, edge->scalars, &(*by)->names[1]);
}

tamis_status tamis_edge_text_make(const tamis_options *options, tamis_edge_text **edge) {
    *edge = NULL;
    if (options->edge != TAMIS_EDGE_TEXT) return TAMIS_OK;
    TRY(tamis_allocate_zeroed(1, sizeof **edge, "an edge", (void **)edge));
    return read(options, *edge);
}
