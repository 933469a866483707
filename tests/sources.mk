# Unit tests (check), the floors check, fuzz targets. tests/integration and tests/mcp are run by scripts/check-all: they need
# an installed tree, and the former runs twice, as root and as an ordinary user.
UNIT_TESTS = \
	tests/unit/test_base_buf \
	tests/unit/test_base_wire \
	tests/unit/test_base_json \
	tests/unit/test_base_misc \
	tests/unit/test_policy \
	tests/unit/test_seccomp \
	tests/unit/test_syscalls \
	tests/unit/test_lint \
	tests/unit/test_cgroup \
	tests/unit/test_receipt \
	tests/unit/test_mcp_protocol \
	tests/unit/test_jail \
	tests/unit/test_collect \
	tests/unit/test_backend

UNIT_CPPFLAGS = $(libsupervisor_a_CPPFLAGS) $(CHECK_CFLAGS)
UNIT_LIBS = $(SUPERVISOR_LIBS) $(CHECK_LIBS)
tests_unit_test_base_buf_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_base_buf_LDADD = $(UNIT_LIBS)
tests_unit_test_base_wire_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_base_wire_LDADD = $(UNIT_LIBS)
tests_unit_test_base_json_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_base_json_LDADD = $(UNIT_LIBS)
tests_unit_test_base_misc_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_base_misc_LDADD = $(UNIT_LIBS)
tests_unit_test_policy_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_policy_LDADD = $(UNIT_LIBS)
tests_unit_test_seccomp_SOURCES = tests/unit/test_seccomp.c tests/unit/bpf_eval.c tests/unit/bpf_eval.h
tests_unit_test_seccomp_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_seccomp_LDADD = $(UNIT_LIBS)
tests_unit_test_syscalls_SOURCES = tests/unit/test_syscalls.c tests/unit/bpf_eval.c tests/unit/bpf_eval.h
tests_unit_test_syscalls_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_syscalls_LDADD = $(UNIT_LIBS)
tests_unit_test_lint_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_lint_LDADD = $(UNIT_LIBS)
tests_unit_test_cgroup_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_cgroup_LDADD = $(UNIT_LIBS)
tests_unit_test_receipt_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_receipt_LDADD = $(UNIT_LIBS)
tests_unit_test_mcp_protocol_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_mcp_protocol_LDADD = $(UNIT_LIBS)
tests_unit_test_jail_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_jail_LDADD = $(UNIT_LIBS)
tests_unit_test_collect_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_collect_LDADD = $(UNIT_LIBS)
tests_unit_test_backend_CPPFLAGS = $(UNIT_CPPFLAGS)
tests_unit_test_backend_LDADD = $(UNIT_LIBS)

# Not a test of its own: tests/escape/test_sabotage.py and scripts/check-hosts start the program with it.
SABOTEUR = tests/escape/saboteur
tests_escape_saboteur_CPPFLAGS = $(AM_CPPFLAGS) $(SECCOMP_CFLAGS)
tests_escape_saboteur_LDADD = $(SECCOMP_LIBS)

check_PROGRAMS = $(SABOTEUR)
if HAVE_CHECK
check_PROGRAMS += $(UNIT_TESTS)
TESTS = $(UNIT_TESTS) tests/floors.py
else
TESTS = tests/floors.py
endif
AM_TESTS_ENVIRONMENT = \
	SNIPARA_SANDBOX_POLICY_DIR='$(abs_top_srcdir)/policies'; export SNIPARA_SANDBOX_POLICY_DIR; \
	SNIPARA_SANDBOX_PYHOST='$(abs_top_builddir)/snipara-pyhost'; export SNIPARA_SANDBOX_PYHOST; \
	SNIPARA_GOLDEN_DIR='$(abs_top_srcdir)/tests/golden'; export SNIPARA_GOLDEN_DIR; \
	PYTHONDONTWRITEBYTECODE=1; export PYTHONDONTWRITEBYTECODE;

# libFuzzer targets: `make fuzzers` after ./configure CC=clang --enable-fuzz CFLAGS='-g -O1 -fsanitize=fuzzer-no-link'
if FUZZ
FUZZ_TARGETS = \
	tests/fuzz/fuzz_wire \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_text \
	tests/fuzz/fuzz_claims \
	tests/fuzz/fuzz_mcp_line \
	tests/fuzz/fuzz_receipt \
	tests/fuzz/fuzz_policy \
	tests/fuzz/fuzz_plan \
	tests/fuzz/fuzz_numbers
EXTRA_PROGRAMS = $(FUZZ_TARGETS)
tests_fuzz_fuzz_wire_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_wire_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_wire_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_json_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_json_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_json_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_text_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_text_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_text_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_claims_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_claims_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_claims_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_mcp_line_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_mcp_line_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_mcp_line_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_receipt_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_receipt_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_receipt_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_policy_SOURCES = tests/fuzz/fuzz_policy.c tests/fuzz/policy_mutator.c tests/fuzz/policy_oracle.c tests/fuzz/policy_oracle.h \
	tests/fuzz/filter_oracle.c tests/fuzz/filter_oracle.h tests/unit/bpf_eval.c tests/unit/bpf_eval.h
tests_fuzz_fuzz_policy_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_policy_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_policy_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_plan_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_plan_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_plan_LDADD = $(SUPERVISOR_LIBS)
tests_fuzz_fuzz_numbers_CPPFLAGS = $(libsupervisor_a_CPPFLAGS)
tests_fuzz_fuzz_numbers_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_numbers_LDADD = $(SUPERVISOR_LIBS)
fuzzers: $(FUZZ_TARGETS)
# For scripts/check-fuzz: target NAME with the file IN in the place of the library's own, as OUT.
fuzz-planted:
	$(CC) $(DEFS) $(libsupervisor_a_CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -c -o '$(OUT).o' '$(IN)'
	$(CC) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) -fsanitize=fuzzer -o '$(OUT)' tests/*/*fuzz_$(NAME)-*.o '$(OUT).o' $(SUPERVISOR_LIBS) $(LIBS)
endif

# The answers of the seccomp filters, written anew: for a change of a policy, to be read as a difference by its reviewer.
update-golden: tests/unit/test_syscalls
	SNIPARA_SANDBOX_POLICY_DIR='$(abs_top_srcdir)/policies' SNIPARA_GOLDEN_DIR='$(abs_top_srcdir)/tests/golden' \
		tests/unit/test_syscalls --update-golden
.PHONY: update-golden

# The whole test command, and what is too long for every change (FUZZ_SECONDS=600, CASES=directory of the behaviour cases).
check-all:
	$(abs_top_srcdir)/scripts/check-all
check-long:
	CASES='$(CASES)' REPLAY='$(REPLAY)' $(abs_top_srcdir)/scripts/check-long
# Each wall taken out once (ESCAPE=--quick: each mutant against its own probe only).
check-escape:
	$(abs_top_srcdir)/scripts/check-escape $(ESCAPE)
# Emulated guests with other kernels and cgroup v2 (as root; GUESTS="new old systemd").
check-vm:
	$(abs_top_srcdir)/scripts/check-vm $(GUESTS)
.PHONY: check-all check-long check-escape check-vm fuzzers fuzz-planted

EXTRA_DIST += \
	tests/golden \
	tests/unit/unit.h \
	tests/fuzz/fuzz.h tests/fuzz/targets.py tests/fuzz/corpus tests/fuzz/claims.dict tests/fuzz/json.dict tests/fuzz/mcp_line.dict \
	tests/fuzz/numbers.dict tests/fuzz/plan.dict tests/fuzz/policy.dict tests/fuzz/receipt.dict tests/fuzz/text.dict tests/fuzz/wire.dict \
	tests/floors.py tests/totals.py tests/cases.py \
	tests/integration/conftest.py tests/integration/sandbox.py tests/integration/watch.py \
	tests/integration/test_exec.py tests/integration/test_interpreter.py tests/integration/test_bad_input.py tests/integration/test_walls.py \
	tests/integration/test_probes.py tests/integration/test_sessions.py tests/integration/test_notebook.py \
	tests/integration/test_output.py tests/integration/test_doctor.py tests/integration/test_policies.py \
	tests/integration/test_documents.py tests/integration/test_attacks.py tests/integration/test_spares.py \
	tests/escape/conftest.py tests/escape/test_syscall_matrix.py tests/escape/test_public_faults.py \
	tests/escape/test_cve_2026_30892.py tests/integration/test_artifacts.py \
	tests/escape/sabotage.py tests/escape/test_sabotage.py tests/escape/test_hosts.py \
	tests/integration/test_mutants.py \
	tests/escape/guest.py tests/escape/scene.py tests/escape/rows.py tests/escape/special.py tests/escape/table.py \
	tests/escape/worker.py tests/escape/run_mutants.py tests/vm \
	tests/mcp/.npmrc tests/mcp/package.json tests/mcp/package-lock.json tests/mcp/client.test.mjs
