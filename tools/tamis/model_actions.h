/* What the commands of the methods do: train a model, and use one. */
#ifndef TOOL_MODEL_ACTIONS_H
#define TOOL_MODEL_ACTIONS_H

#include "command.h"

/* The run_action of `train`; its settings are tool_train_settings. */
int tool_train(const tool_command *group, const void *settings, int count, char **operands);

/* The other actions, with the examples of ratings first and of documents then. */
extern const tool_command tool_predict_ratings, tool_predict_words, tool_recommend_items, tool_recommend_words,
    tool_topics_of_ratings, tool_topics_of_words, tool_score_ratings, tool_score_words, tool_model_info_ratings,
    tool_model_info_words;

#endif
