#!/bin/sh
# Make ./configure from a clone. Needs autoconf, automake, pkg-config (scripts/install-deps brings them).
set -e
cd "$(dirname "$0")"
exec autoreconf -fi
