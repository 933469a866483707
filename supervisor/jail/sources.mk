JAIL_SOURCES = \
	supervisor/jail/cgroup.c supervisor/jail/cgroup.h \
	supervisor/jail/cgroup_accounts.c \
	supervisor/jail/cgroup_host.c \
	supervisor/jail/cgroup_paths.c supervisor/jail/cgroup_paths.h \
	supervisor/jail/cgroup_unified.c supervisor/jail/cgroup_unified.h \
	supervisor/jail/cgroup_pool.c supervisor/jail/cgroup_pool.h \
	supervisor/jail/collect.c supervisor/jail/collect.h \
	supervisor/jail/collect_seen.c supervisor/jail/collect_seen.h \
	supervisor/jail/disk.c \
	supervisor/jail/denials.c supervisor/jail/denials.h \
	supervisor/jail/exchange.c supervisor/jail/exchange.h \
	supervisor/jail/host.c supervisor/jail/host.h \
	supervisor/jail/ids.h \
	supervisor/jail/init.c supervisor/jail/init.h \
	supervisor/jail/init_filter.c supervisor/jail/init_filter.h \
	supervisor/jail/inspect.c \
	supervisor/jail/jail.c supervisor/jail/jail.h \
	supervisor/jail/loopback.c supervisor/jail/loopback.h \
	supervisor/jail/maker.c supervisor/jail/maker.h \
	supervisor/jail/mount_calls.h \
	supervisor/jail/mount_tree.c supervisor/jail/mount_tree.h \
	supervisor/jail/mounts.c supervisor/jail/mounts.h \
	supervisor/jail/net_pool.c supervisor/jail/net_pool.h \
	supervisor/jail/outer.c supervisor/jail/outer.h \
	supervisor/jail/plan.c supervisor/jail/plan.h \
	supervisor/jail/template.c supervisor/jail/template.h \
	supervisor/jail/yard.c
