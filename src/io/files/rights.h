/* Permissions of a file that replaces another one. */
#ifndef TAMIS_IO_RIGHTS_H
#define TAMIS_IO_RIGHTS_H

#include <stdbool.h>

/*
 * Copies the owner, the group, the ACL and the mode of the file with that name in the folder to a new file, which
 * nobody else may open yet, as far as the process may. Nobody but a new owner gets more rights than the old file gave:
 * - set-user-ID, set-group-ID and sticky bits are dropped; - if the group is another one, the group and all others get
 * what both of them had, and there is no ACL; - if the old file has an ACL that the new one does not get, only the
 * owner may open it. The mode comes last, so that no moment has more rights than the end. Returns false with errno
 * where the rights cannot be set.
 */
bool tamis_rights_keep(int folder, const char *name, int descriptor);

#endif
