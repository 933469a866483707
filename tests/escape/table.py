"""The checklist as a table: what row N demands, how its probe looks, and what its mutant takes out of the program (base/mutant.h).
A mutant takes out every layer that makes the probe come out green, and no more; the verification of the step goes with it."""
import pathlib
import re

ROWS = {
    1: ('signal handlers default, mask empty', 'SigBlk and SigIgn in /proc/self/status', 'no reset in helper, zygote and payload'),
    2: ('close_range of all but the listed descriptors', 'fcntl(F_GETFD) over 0..4095', 'no close_range in the payload'),
    3: ('environment scrubbed to an allow-list', 'os.environ against the policy\'s list', 'the zygote gets the supervisor\'s whole environment'),
    4: ('no terminal, setsid', 'isatty, tty and session in /proc/self/stat, /dev/tty', 'no setsid in helper and payload'),
    5: ('TIOCSTI and TIOCLINUX denied, on the low 32 bits', 'ioctl(0, 0x5412 and 0x541c, with and without bit 32)', 'ioctl allowed'),
    6: ('jails end with the supervisor', 'SIGKILL to the supervisor, 1 s', 'no PDEATHSIG anywhere; init stays after end of file'),
    7: ('dumpable 0 on init', '/proc/1/mem, ptrace, process_vm_writev; a neighbour without Landlock', 'init is dumpable'),
    8: ('no core files', 'RLIMIT_CORE, WCOREDUMP of a crashed child', 'RLIMIT_CORE not set'),
    9: ('new session keyring, key calls denied', 'add_key, request_key, keyctl', 'none made, calls allowed'),
    10: ('securebits locked', 'prctl(PR_GET_SECUREBITS)', 'not set'),
    11: ('no capability in five sets', 'Cap* in /proc/self/status', 'bounding set kept, nothing cleared'),
    12: ('no_new_privs', 'NoNewPrivs in /proc/self/status', 'not set'),
    13: ('one host uid per jail, one id mapped, setgroups denied', 'uid_map, setgroups and Uid of two jails from outside',
         'all jails get one host uid, setgroups stays allowed'),
    14: ('no further user namespaces', 'unshare inside; unshare by a process that entered the jail\'s user namespace',
         'max_user_namespaces not set (the filter is row 40\'s)'),
    15: ('AppArmor\'s restriction detected', 'doctor where the switch is 1', 'doctor does not look at switches'),
    16: ('reaping init, payload not pid 1', 'orphans of a dead child', 'init does not reap'),
    17: ('the jail ends with the payload', 'a child left by os._exit(5)', 'the payload\'s end is not acted on'),
    18: ('exit, signal and OOM told apart', 'receipts of five deaths', 'all deaths are one'),
    19: ('mounts do not propagate', 'mountinfo has no shared: or master:', 'bound trees are shared'),
    20: ('pivot_root, old root detached', 'mountinfo holds only the policy\'s mounts', 'the old root stays at /old'),
    21: ('working directory inside, no directory descriptor', '. is /session, no descriptor is a directory', '. is the host\'s directory'),
    22: ('read-only, submounts too', 'mkdir and statvfs in /, /usr, /etc, /dev and in a bind\'s submount', 'no mount is made read-only'),
    23: ('nosuid, nodev, noexec on writable mounts', 'mount options; exec and mmap(PROT_EXEC) of a file in /tmp', 'the flags are left out'),
    24: ('tmpfs bounded, the receipt names it', 'ENOSPC by bytes and by files, limits.hit', 'no bounds'),
    25: ('minimal /dev, /dev/shm of its own', 'names and st_rdev; a file in the other jail\'s /dev/shm', '/dev/shm is the host\'s'),
    26: ('/proc of this jail only', '/proc/sys, kcore, kallsyms ...; what is no pid', 'no subset=pid, no hidepid'),
    27: ('no /sys', '/sys and /sys/fs/cgroup', 'the host\'s /sys is mounted'),
    28: ('outputs collected by openat2', 'links, FIFO, sparse file, deep tree, hard link', 'symbolic links are followed'),
    29: ('own binary not writable', '/proc/self/exe: r+b, and the flags of its mount', 'the helper\'s mounts stay writable'),
    30: ('network namespace', 'connect to the host, interfaces, the namespace\'s link', 'the host\'s network namespace'),
    31: ('socket families denied', 'socket(AF_VSOCK, AF_ALG, AF_PACKET, AF_NETLINK, AF_INET)', 'socket allowed'),
    32: ('IPC, UTS, cgroup and time namespaces', 'one shmget key in two jails, links, host name, /proc/self/cgroup',
         'no ipc, cgroup and time namespace (uts stays: init sets the host name)'),
    33: ('cgroup limits', 'limit files, an allocation loop, a fork bomb', 'no limit is written'),
    34: ('a kill takes everything', 'daemonised, stopped and deaf children after a time-out', 'only the payload is killed'),
    35: ('re-use is clean', 'SIGKILL after a call whose child ran out of memory', 'no baseline of OOM kills'),
    36: ('rlimits, hard = soft', 'getrlimit against the policy', 'not set (but CORE, which is row 8)'),
    37: ('output capped while it is read', 'truncated, and the supervisor\'s peak memory', 'no cap'),
    38: ('foreign architectures closed', 'int 0x80 and an x32 number', 'any architecture may pass'),
    39: ('system call matrix', 'numbers 0..600 with bogus arguments against tests/golden', 'three numbers more'),
    40: ('no clone3, no namespace flags, no setns', 'clone3, clone, unshare, setns; a thread', 'all four allowed'),
    41: ('the forbidden calls', '43 calls with bogus arguments', 'all of them allowed'),
    42: ('no programs where the policy says so', 'execve, memfd_create, execveat', 'all three allowed'),
    43: ('Landlock', 'write to /dev/urandom, signal to init, abstract socket', 'no ruleset'),
    44: ('no secret in a jail\'s memory', 'a canary of the supervisor in every readable mapping, from inside and outside',
         'the zygote starts with the environment and then clears it'),
    45: ('random state renewed', 'random, urandom, uuid, tempfile, numpy, authkey of two jails', 'no renewal (CPython\'s own hooks stay)'),
    46: ('hash secret and layout rotated', 'equal within a generation, another after N forks', 'never rotated'),
    47: ('one thread in the zygote', 'Threads of zygote and payload; forks without a hang', 'a second thread'),
    48: ('sabotage', 'each layer fails, or pretends', 'see test_sabotage.py: the saboteur is the mutant'),
}

# Row N's mutant turns row M red, too: {N: {M: why}}. An entry that is no longer true is a failure.
ALSO = {
    3: {44: 'the canary stands in the environment that is passed on'},
    12: {11: 'without no_new_privs only who keeps CAP_SYS_ADMIN may load a filter (seccomp(2))'},
    17: {18: 'os._exit is one of the five deaths'},
    33: {18: 'without a limit nothing runs out of memory', 35: 'the same'},
}
ALSO_MOST = 5  # may only shrink

# Rows whose step or collaborator is not built yet: {row: why}. Checked: a pending row whose probe is green and whose mutant is killed
# is a failure, so that the entry goes.
PENDING = {}

USER_MOST = 3  # rows in doc/HOSTS.md that an ordinary user cannot have: may only shrink


def user_exceptions(hosts):
    """{row: why} of the section in doc/HOSTS.md."""
    text = pathlib.Path(hosts).read_text(encoding='utf-8')
    section = text.partition('## Rows that an ordinary user cannot have')[2].partition('\n## ')[0]
    found = {int(row): why.strip() for row, why in re.findall(r'^\| (\d+) \| (.+) \|$', section, re.M)}
    if not found:
        raise SystemExit(f'{hosts}: no table of rows that an ordinary user cannot have')
    return found
