#include "expression/message.h"

#include "base/fnv.h"
#include "base/status.h"
#include "expression/differentiate.h"
#include "expression/text.h"

static void name(tamis_message_text *text) {
    const tamis_program *const p = &text->program;
    text->name = tamis_fnv_bytes(TAMIS_FNV_START, p->steps, (size_t)p->count * sizeof *p->steps);
}

tamis_status tamis_message_text_make(const tamis_message_options *o, tamis_message_text *text) {
    for (int k = 0; k < TAMIS_PROGRAM_SCALARS; k++) text->scalars[k] = 0;
    TRY(tamis_program_read(&text->program, &tamis_message_form, o->text, o->numbers, o->number_count, text->scalars));
    name(text);
    return TAMIS_OK;
}

tamis_status tamis_message_text_by(const tamis_message_text *text, int leaf, tamis_message_text *derivative) {
    tamis_program *const p = &derivative->program;
    int step = 0;
    *derivative = *text;
    TRY(tamis_differentiate(p, p->result[0], leaf, 0, &step));
    TRY(tamis_program_finish(p, &step, 1));
    name(derivative);
    return TAMIS_OK;
}

bool tamis_message_text_same(const tamis_message_text *a, const tamis_message_text *b) {
    return a->name == b->name && tamis_program_same_declarations(&a->program, a->scalars, &b->program, b->scalars);
}
