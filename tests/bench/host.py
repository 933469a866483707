"""Facts of the machine: who it is, what it steals, what processes cost."""
import ctypes
import os
import pathlib
import platform
import signal
import subprocess

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, CLONE_NEWNS, MNT_DETACH, MS_REC_PRIVATE = 1, 0x20000, 2, 0x4000 | 0x40000
HYBRID = '/sys/fs/cgroup/unified'
MEMINFO = ('MemAvailable', 'PageTables', 'SecPageTables', 'Slab', 'KernelStack', 'Percpu')


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def own_mounts():
    """A mount namespace for this process and all that it starts: what engines mount is gone when they are."""
    if LIBC.unshare(CLONE_NEWNS) != 0 or LIBC.mount(b'none', b'/', None, ctypes.c_ulong(MS_REC_PRIVATE), None) != 0:
        raise OSError(ctypes.get_errno(), 'no mount namespace of our own')


def without_hybrid():
    """Debian 12's crun refuses to run where a cgroup v2 is mounted beside v1: not for it, then."""
    own_mounts()
    if LIBC.umount2(HYBRID.encode(), MNT_DETACH) != 0:
        raise OSError(ctypes.get_errno(), f'cannot unmount {HYBRID}')


def first_value(path, key):
    for line in pathlib.Path(path).read_text(encoding='utf-8', errors='replace').splitlines():
        if line.startswith(key):
            return line.split(':', 1)[1].strip()
    return None


def revision(source):
    """The commit of the tree, with a plus when something in it has changed; None outside a repository."""
    def git(*arguments):
        done = subprocess.run(['git', '-C', source, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None
    try:
        name = git('rev-parse', '--short=10', 'HEAD')
        changed = name and git('status', '--porcelain', '--', '.', ':!doc/BENCHMARKS.md')
    except FileNotFoundError:
        return None
    return f'{name}+' if changed else name


def facts():
    """`cores` is what this process may use, which is what a throughput must be read against."""
    return {'kernel': platform.release(), 'architecture': platform.machine(), 'cores': len(os.sched_getaffinity(0)),
            'cpu': first_value('/proc/cpuinfo', 'model name'), 'hypervisor': 'hypervisor' in (first_value('/proc/cpuinfo', 'flags') or ''),
            'memory_mib': int(first_value('/proc/meminfo', 'MemTotal').split()[0]) // 1024,
            'uid': os.geteuid(), 'load_before': os.getloadavg()[0]}


class Steal:
    """Share of CPU time that the hypervisor gave to others, and that anyone used, since this object was made."""

    def __init__(self):
        self.began = self.read()

    @staticmethod
    def read():
        with open('/proc/stat', encoding='ascii') as text:
            return [int(n) for n in text.readline().split()[1:9]]

    def percent(self):
        passed = [now - then for now, then in zip(self.read(), self.began)]
        total = sum(passed) or 1
        return {'steal': round(100 * passed[7] / total, 2), 'busy': round(100 * (total - passed[3] - passed[4]) / total, 1)}


def parents():
    found = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='ascii', errors='replace') as text:
                    found[int(name)] = int(text.read().rpartition(')')[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                pass
    return found


def tree(root):
    """`root` and all its descendants."""
    below = {}
    for pid, parent in parents().items():
        below.setdefault(parent, []).append(pid)
    found, ahead = set(), [root]
    while ahead:
        pid = ahead.pop()
        found.add(pid)
        ahead += below.get(pid, [])
    return found


def pss_kib(pids):
    """Sum of proportional set sizes; a process that has ended counts nothing."""
    total = 0
    for pid in pids:
        try:
            total += int(first_value(f'/proc/{pid}/smaps_rollup', 'Pss:').split()[0])
        except (FileNotFoundError, ProcessLookupError, AttributeError):
            pass
    return total


def activity(pids):
    """(clock ticks used, context switches) of processes, over all their threads."""
    ticks = switches = 0
    for pid in pids:
        try:
            with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as text:
                fields = text.read().rpartition(')')[2].split()
            ticks += int(fields[11]) + int(fields[12])
            for task in os.listdir(f'/proc/{pid}/task'):
                switches += sum(int(first_value(f'/proc/{pid}/task/{task}/status', key)) for key in
                                ('voluntary_ctxt_switches', 'nonvoluntary_ctxt_switches'))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return ticks, switches


def spent_ms(pids):
    """CPU time of processes and of the children that they have reaped."""
    ticks = 0
    for pid in pids:
        try:
            with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as text:
                ticks += sum(int(field) for field in text.read().rpartition(')')[2].split()[11:15])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return ticks * 1000 / os.sysconf('SC_CLK_TCK')


def meminfo_kib():
    found = {}
    with open('/proc/meminfo', encoding='ascii') as text:
        for line in text:
            key, _, value = line.partition(':')
            if key in MEMINFO:
                found[key] = int(value.split()[0])
    return found
