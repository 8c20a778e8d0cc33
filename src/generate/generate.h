/* The pattern of any kind, without the values. */
#ifndef TAMIS_GENERATE_GENERATE_H
#define TAMIS_GENERATE_GENERATE_H

#include <tamis/generate.h>

#include "generate/recipe.h"

tamis_status tamis_generate_pattern(tamis_kind kind, const tamis_recipe *recipe, tamis_owned_sparse **matrix);

#endif
