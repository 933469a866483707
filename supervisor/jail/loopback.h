/* Bring lo up in the network namespace of the caller (libnl-route, rtnetlink(7)). */
#ifndef SNIPARA_JAIL_LOOPBACK_H
#define SNIPARA_JAIL_LOOPBACK_H

#include "base/error.h"

int loopback_up(struct error *err);

#endif
