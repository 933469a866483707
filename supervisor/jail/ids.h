/* Which ids a jail has, inside and on the host.
 *
 * As root everything below the supervisor lives in one outer user namespace that maps 0..2^22 to HOST_ID_BASE and up (within
 * the range that systemd leaves to containers). The maker and the zygotes are 0 in there; a jail's only user is the outer id
 * that equals the host pid of its init: the kernel already hands out pids that are unique among the living, so no two living
 * jails of one pid namespace share a host uid, without any allocator. An ordinary user maps one id, its own.
 */
#ifndef SNIPARA_JAIL_IDS_H
#define SNIPARA_JAIL_IDS_H

#define JAIL_UID_NUMBER 1000
#define JAIL_UID 1000u             /* uid and gid inside the jail */
#define HOST_ID_BASE 0x40000000u   /* 1073741824 */
#define HOST_ID_COUNT 0x400001u    /* pid_max is at most 2^22 */

#endif
