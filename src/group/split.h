/* A shard's entries with own columns and those with ghost columns. */
#ifndef TAMIS_GROUP_SPLIT_H
#define TAMIS_GROUP_SPLIT_H

#include <tamis/shard.h>

enum { TAMIS_SPLIT_ARRAYS = 6 };

/* Makes is->own and is->ghost from is->local. The caller releases `arrays`, also after an error. */
tamis_status tamis_split_columns(tamis_shard_description *is, void **arrays);

#endif
