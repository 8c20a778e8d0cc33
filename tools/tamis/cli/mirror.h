/* A problem's arrays in a device's memory: the host's own on the CPU, copies on a GPU. */
#ifndef TOOL_MIRROR_H
#define TOOL_MIRROR_H

#include "cli/device.h"
#include "cli/problem.h"

enum { TOOL_MIRROR_ARRAYS = 8 };

typedef struct tool_mirror {
    const tool_device *device;
    tool_problem problem; /* with the arrays that plans and executions on the device use */
    bool copies;          /* false: the arrays are the host's */
    void *memory[TOOL_MIRROR_ARRAYS];
    void *output; /* the host's output: its memory block, including padding between and before the elements */
    size_t output_bytes;
    double seconds; /* for allocating and copying */
} tool_mirror;

/* Copies S, A, B and D to the device, as far as they have data, and allocates the output. The operands begin `shift`
   elements into their memory, on the device if it has addresses. The caller must free the mirror, also after an error,
   once the message has been shown. */
tamis_status tool_mirror_create(const tool_device *device, const tool_problem *problem, int64_t shift,
                                tool_mirror *mirror);
void tool_mirror_free(tool_mirror *mirror);

/* tool_mirror_put copies the host's output to the device, before an execution; tool_mirror_fetch copies the device's
   output to the host, and waits for it. */
tamis_status tool_mirror_put(const tool_mirror *mirror);
tamis_status tool_mirror_fetch(const tool_mirror *mirror);

#endif
