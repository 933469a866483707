POLICY_SOURCES = \
	supervisor/policy/policy.h supervisor/policy/seccomp.h \
	supervisor/policy/build.c supervisor/policy/build.h \
	supervisor/policy/document.c supervisor/policy/document.h \
	supervisor/policy/explain.c \
	supervisor/policy/lint.c \
	supervisor/policy/lint_seccomp.c supervisor/policy/lint.h \
	supervisor/policy/list.c \
	supervisor/policy/load.c supervisor/policy/load.h \
	supervisor/policy/merge.c \
	supervisor/policy/narrow.c \
	supervisor/policy/search.c supervisor/policy/search.h \
	supervisor/policy/seccomp_compile.c \
	supervisor/policy/seccomp_mutants.c supervisor/policy/seccomp_mutants.h \
	supervisor/policy/seccomp_oci.c supervisor/policy/seccomp_oci.h \
	supervisor/policy/seccomp_resolve.c supervisor/policy/seccomp_resolve.h \
	supervisor/policy/shape.c \
	supervisor/policy/strings.c supervisor/policy/strings.h \
	supervisor/policy/trust.c supervisor/policy/trust.h \
	supervisor/policy/words.c
