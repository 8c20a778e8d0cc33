/* Whether a fit is worth several devices. */
#ifndef TOOL_MODEL_CHOICE_H
#define TOOL_MODEL_CHOICE_H

#include "group/choice.h"
#include "model/group.h"

/* What an iteration is predicted to take on the first device alone and on all of them, and whether it is to stay there;
   zeros where it is not known, as of processes. */
tool_group_choice tool_fit_predict(const tool_group_fit *what);

#endif
