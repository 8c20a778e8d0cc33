/* Corrupts results on purpose, to test the comparisons: see TAMIS_SPOIL in CONTRIBUTING.md. */
#ifndef TOOL_SPOIL_H
#define TOOL_SPOIL_H

#include <tamis/tamis.h>

/* Spoils a result that was just fetched into the host's memory, as TAMIS_SPOIL says; nothing where that is not set:
     result   the first element of every row
     first    the same, in the program's first result alone
     late     the same, in all but that
     padding  what lies between the rows, where there is anything
     end      the last byte behind the last row, where there is anything
     before   what lies before the first element; `memory` is where the output's memory begins, NULL: not known
   The library knows nothing of it. */
void tool_spoil(const tamis_dense *output, void *memory);

#endif
