SESSION_SOURCES = \
	supervisor/session/call.c \
	supervisor/session/internal.h \
	supervisor/session/manager.c \
	supervisor/session/request.c \
	supervisor/session/session.h
