# `make soak` (doc/results/soak.md): SOAK_FLAGS='--jails 1000' makes it shorter.
SOAK_ENVIRONMENT = SNIPARA_BIN='$(abs_builddir)/snipara-sandbox' SNIPARA_SANDBOX_PYHOST='$(abs_builddir)/snipara-pyhost' \
	SNIPARA_SANDBOX_POLICY_DIR='$(abs_top_srcdir)/policies' PYTHONDONTWRITEBYTECODE=1
soak: all
	$(SOAK_ENVIRONMENT) "$${PYTHON:-/usr/bin/python3}" $(srcdir)/tests/soak/soak.py --timing --write $(srcdir)/doc/results/soak.md $(SOAK_FLAGS)
.PHONY: soak

EXTRA_DIST += \
	tests/soak/soak.py tests/soak/attacks.py tests/soak/client.py tests/soak/clients.py tests/soak/flatness.py tests/soak/judge.py \
	tests/soak/machine.py tests/soak/report.py tests/soak/stamp.py doc/results/soak.md
