/* The table of methods. */
#ifndef TAMIS_ML_METHODS_H
#define TAMIS_ML_METHODS_H

#include "ml/methods/method.h"

/* Returns the table row of a method, NULL for an unknown number. */
const ml_method *ml_method_of(tamis_method method);

/* Lists the methods that `takes` accepts (NULL: all) in the order of their numbers, such as "als, ccd or gap", with the
   given last word. */
enum { ML_METHOD_NAMES = 256 };
void ml_method_names(bool (*takes)(const ml_method *method), const char *last_word, char names[ML_METHOD_NAMES]);

#endif
