/* The commit from which the program was built, by scripts/commit.sh; the build generates its definition. */
#ifndef TAMIS_TOOL_COMMIT_H
#define TAMIS_TOOL_COMMIT_H

extern const char tool_commit[];

#endif
