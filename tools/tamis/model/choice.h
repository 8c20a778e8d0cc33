/* Decides if a fit uses several devices. */
#ifndef TOOL_MODEL_CHOICE_H
#define TOOL_MODEL_CHOICE_H

#include "group/choice.h"
#include "model/group.h"

/* Returns the predicted times of an iteration on the first device and on all devices, and the decision; zeros if they
   are not known, as for processes. */
tool_group_choice tool_fit_predict(const tool_group_fit *what);

#endif
