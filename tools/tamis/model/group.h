/* A fit on several devices: a thread with a rank for each device of this process, or with --transport mpi a process for
   each device. */
#ifndef TOOL_MODEL_GROUP_H
#define TOOL_MODEL_GROUP_H

#include <tamis/ml.h>

#include "cli/options.h"
#include "group/group.h"

typedef struct tool_group_fit {
    const tool_chosen *devices;         /* of this process: the first is that of `model` */
    tamis_device *device;               /* the first one */
    tamis_model *model;                 /* on it, with the callback; the others get models of their own */
    const tamis_model_options *options; /* the others', whose callback and checkpoint are not looked at */
    const char *resume;                 /* the file that the others begin with too; NULL: nothing */
    const tamis_sparse *S;              /* the whole, CSR, and what is held out of it (NULL: nothing) */
    const tamis_held_out *held_out;
} tool_group_fit;

/* Fits `model` on all of them, each with rows of equal ratings. The message of an error is the first one's that has a
   cause of its own. */
tamis_status tool_fit_group(const tool_group_fit *what);

#endif
