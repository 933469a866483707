# `make bench` (doc/BENCHMARKS.md). The client is built with everything else, so that its warnings are errors where those are.
noinst_PROGRAMS = tests/bench/client
tests_bench_client_SOURCES = tests/bench/client.c tests/bench/client_server.c tests/bench/client_spawn.c tests/bench/bench.h

BENCH_RUN = SNIPARA_SANDBOX_POLICY_DIR='$(abs_top_srcdir)/policies' SNIPARA_SANDBOX_PYHOST='$(abs_top_builddir)/snipara-pyhost' \
	PYTHONDONTWRITEBYTECODE=1 "$${PYTHON:-/usr/bin/python3}" $(srcdir)/tests/bench/bench.py \
	--program ./snipara-sandbox --client tests/bench/client

# BENCH_FLAGS=--install gets the peers that Debian has, as root.
bench: all
	$(BENCH_RUN) --json $(srcdir)/doc/results/bench.json --document $(srcdir)/doc/BENCHMARKS.md $(BENCH_FLAGS)
bench-quick: all
	$(BENCH_RUN) --quick --json bench-quick.json $(BENCH_FLAGS)
CLEANFILES += bench-quick.json
.PHONY: bench bench-quick

EXTRA_DIST += \
	tests/bench/bench.py tests/bench/client.py tests/bench/engines.py tests/bench/host.py tests/bench/measure.py tests/bench/peers.py \
	tests/bench/profile_setup.py tests/bench/report.py tests/integration/test_bench.py doc/BENCHMARKS.md doc/results/bench.json
