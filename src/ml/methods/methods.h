/* The table of methods. */
#ifndef TAMIS_ML_METHODS_H
#define TAMIS_ML_METHODS_H

#include "ml/methods/method.h"

/* Returns the row of a method, NULL for a number that is none. */
const ml_method *ml_method_of(tamis_method method);

/* Lists the methods that `takes` takes (NULL: all of them) in the order of their numbers: "als, ccd or gap" with "or"
   as last word. */
enum { ML_METHOD_NAMES = 256 };
void ml_method_names(bool (*takes)(const ml_method *method), const char *last_word, char names[ML_METHOD_NAMES]);

#endif
