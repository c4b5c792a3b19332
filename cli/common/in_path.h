/* Programs of the user's PATH. */
#ifndef TP_CLI_COMMON_IN_PATH_H
#define TP_CLI_COMMON_IN_PATH_H

int in_path(const char *name); /* 1: there is a program of that name */

#endif
