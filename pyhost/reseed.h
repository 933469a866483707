/* A fork of a warm interpreter has the random state of every other fork until it is seeded anew. The hash secret and the
 * address layout stay shared by the payloads of one zygote; doc/SECURITY.md says so. */
#ifndef SNIPARA_PYHOST_RESEED_H
#define SNIPARA_PYHOST_RESEED_H

#include "base/error.h"

/* In the child, before guest code: random, numpy.random, tempfile's names, multiprocessing's key, uuid's clock. */
int reseed(struct error *err);

#endif
