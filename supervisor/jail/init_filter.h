/* init's own seccomp filter: what its loop needs, everything else kills it (and with it the jail). */
#ifndef SNIPARA_JAIL_INIT_FILTER_H
#define SNIPARA_JAIL_INIT_FILTER_H

#include "base/error.h"

int init_filter_load(struct error *err);

#endif
