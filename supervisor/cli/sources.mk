CLI_SOURCES = \
	supervisor/cli/commands.h \
	supervisor/cli/usage.h \
	supervisor/cli/usage.c \
	supervisor/cli/numbers.h \
	supervisor/cli/numbers.c \
	supervisor/cli/source.h \
	supervisor/cli/source.c \
	supervisor/cli/screen.h \
	supervisor/cli/screen.c \
	supervisor/cli/exec.c \
	supervisor/cli/exec_artifacts.h \
	supervisor/cli/exec_artifacts.c \
	supervisor/cli/exec_options.h \
	supervisor/cli/exec_options.c \
	supervisor/cli/exec_output.h \
	supervisor/cli/exec_output.c \
	supervisor/cli/exec_report.h \
	supervisor/cli/exec_report.c \
	supervisor/cli/mcp_serve.c \
	supervisor/cli/policy.h \
	supervisor/cli/policy.c \
	supervisor/cli/doctor.c \
	supervisor/cli/doctor_checks.h \
	supervisor/cli/doctor_checks.c \
	supervisor/cli/doctor_print.c \
	supervisor/cli/version.c \
	supervisor/cli/help.c
