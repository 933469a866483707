/* Files that the caller hands in with a call: written by the payload itself, inside the jail, so that no program of the host ever
 * walks a tree that a guest has made. */
#ifndef SNIPARA_PYHOST_FILES_H
#define SNIPARA_PYHOST_FILES_H

#include "base/error.h"
#include "base/wire.h"

/* Write the PT_FILE_PATH / PT_FILE_DATA pairs of a PAYLOAD_CALL beneath the directory `root` (/session). Directories on the way
 * are made; a symbolic link on the way, or at the end, is an error and not followed. -1: err names the file; earlier ones stay. */
int files_write(const char *root, const struct wire_frame *call, struct error *err);

#endif
