/* SPDX-License-Identifier: Apache-2.0 */
/* scratch - a folder for the files of one test. */
#ifndef TOPOFIT_TEST_SCRATCH_H
#define TOPOFIT_TEST_SCRATCH_H

/* A new one below /tmp. The caller removes it. Fails the test when it cannot be made. */
char *scratch_make(void);

/* With all that is in it; frees the path. */
void scratch_remove(char *folder);

/* folder/name. The caller frees it. */
char *scratch_path(const char *folder, const char *name);

/* Write a file, in the place of the one there was, as a new file. */
void scratch_put(const char *folder, const char *name, const char *text);

/* A file of its own with that text. return its path, to be removed, as by AUTO(). NULL is fine. */
char *scratch_file(const char *text);
void scratch_file_remove(char **path);

#endif
