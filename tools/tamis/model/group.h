/* A fit on several devices: a thread with a rank for each device of this process, or with --transport mpi a process for
   each device. */
#ifndef TOOL_MODEL_GROUP_H
#define TOOL_MODEL_GROUP_H

#include <tamis/ml.h>

#include "cli/options.h"
#include "group/group.h"

typedef struct tool_group_fit {
    const tool_chosen *devices;         /* of this process: the first is `model`'s device */
    tamis_device *device;               /* the first one */
    tamis_model *model;                 /* on the first device, with the callback; the others get their own models */
    const tamis_model_options *options; /* for the others' models; callback and checkpoint are ignored */
    const char *resume;                 /* the file from which the others resume, too; NULL: none */
    const tamis_sparse *S;              /* the whole data, CSR, and the held-out entries (NULL: none) */
    const tamis_held_out *held_out;
} tool_group_fit;

/* Fits `model` on all devices, with about equal ratings per rank. After an error the message is of the first rank that
   failed by itself. */
tamis_status tool_fit_group(const tool_group_fit *what);

/* Returns the predicted times of an iteration on the first device and on all devices, and the decision; zeros if they
   are not known, as for processes. */
tool_group_choice tool_fit_predict(const tool_group_fit *what);

#endif
