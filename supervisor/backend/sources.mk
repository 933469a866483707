BACKEND_SOURCES = \
	supervisor/backend/backend.h \
	supervisor/backend/claims.c supervisor/backend/claims.h \
	supervisor/backend/native.c supervisor/backend/native.h \
	supervisor/backend/native_call.c supervisor/backend/native_collect.c \
	supervisor/backend/native_facts.c \
	supervisor/backend/native_open.c \
	supervisor/backend/native_spare.c \
	supervisor/backend/nursery.c supervisor/backend/nursery.h \
	supervisor/backend/plant.c supervisor/backend/plant.h \
	supervisor/backend/pyhost_path.c supervisor/backend/pyhost_path.h \
	supervisor/backend/zygote.c supervisor/backend/zygote.h
