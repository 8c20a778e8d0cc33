/* Where things that can be made again are kept between runs. */
#ifndef TAMIS_BASE_CACHE_FOLDER_H
#define TAMIS_BASE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * $XDG_CACHE_HOME/tamis or ~/.cache/tamis, and the folder `below` in it unless that is NULL; made where absent. False
 * when there is none to be had, or when it is not the user's own and closed to others.
 */
bool tamis_cache_folder(const char *below, char *path, size_t bytes);

#endif
