"""What can be seen of the program from outside: processes, namespaces, cgroups, mounts, memory. Reads the kernel's files only."""
import ctypes
import os
import pathlib
import re
import signal
import time

PR_SET_CHILD_SUBREAPER = 36
NAMESPACES = ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup', 'time')
CGROUP = pathlib.Path('/sys/fs/cgroup')


def become_subreaper():
    """Orphans of the program under test become our children, so that none can hide from `descendants`."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), 'prctl(PR_SET_CHILD_SUBREAPER)')


def parents():
    """pid -> (parent, state) of every process that can be seen."""
    table = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                text = pathlib.Path('/proc', entry, 'stat').read_text(errors='replace')
            except OSError:
                continue
            fields = text[text.rindex(')') + 2:].split()
            table[int(entry)] = (int(fields[1]), fields[0])
    return table


def descendants(root):
    table, found, border = parents(), set(), {root}
    while border:
        border = {pid for pid, (parent, _) in table.items() if parent in border} - found
        found |= border
    return found


def reap():
    """Take the exit status of orphans that were given to us, but never of processes that subprocess.Popen waits for."""
    for pid, (parent, state) in parents().items():
        if parent == os.getpid() and state == 'Z' and pid not in POPEN:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


POPEN = set()  # pids that a Popen object owns
KEPT = set()  # pids that a fixture keeps alive on purpose


def wait_until(condition, seconds, step=0.02):
    """The first true value of condition(), or the last one when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(step)


def gone(pids, seconds):
    """Those of `pids` that are still there after `seconds`; zombies given to us are taken."""
    left = set(pids)

    def none_left():
        reap()
        left.intersection_update(parents())
        return not left
    wait_until(none_left, seconds)
    return left


def describe(pid):
    try:
        command = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace').strip()
        return f'{pid} {parents().get(pid)} {command or pathlib.Path(f"/proc/{pid}/comm").read_text().strip()}'
    except OSError:
        return f'{pid} (gone)'


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def cpu(pid):
    """Seconds of CPU that a process has used."""
    text = pathlib.Path('/proc', str(pid), 'stat').read_text()
    fields = text[text.rindex(')') + 2:].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def status(pid):
    """/proc/<pid>/status as a dict of texts."""
    lines = pathlib.Path(f'/proc/{pid}/status').read_text(errors='replace').splitlines()
    return {key: value.strip() for key, _, value in (line.partition(':') for line in lines)}


def namespace(pid, kind):
    return os.readlink(f'/proc/{pid}/ns/{kind}')


def in_other_pid_namespace(pid):
    """True for a process that has a pid of its own in a deeper pid namespace than ours."""
    try:
        return len(status(pid)['NSpid'].split()) > len(status(os.getpid())['NSpid'].split())
    except (OSError, KeyError):
        return False


def jailed(root):
    """The processes below `root` that live in a jail, without the inits (pid 1 of their namespace)."""
    found = []
    for pid in descendants(root):
        try:
            if in_other_pid_namespace(pid) and status(pid)['NSpid'].split()[-1] != '1':
                found.append(pid)
        except OSError:
            pass  # it ended meanwhile
    return found


def with_threads(root, count):
    """The jailed process that has exactly `count` threads: how a test recognises its own guest among spare ones."""
    for pid in jailed(root):
        try:
            if status(pid)['Threads'] == str(count):
                return pid
        except OSError:
            pass
    return None


def mounts(pid):
    """Rows of /proc/<pid>/mountinfo: dicts of point, options, optional fields, type, source, super options (proc(5))."""
    rows = []
    for line in pathlib.Path(f'/proc/{pid}/mountinfo').read_text().splitlines():
        before, _, after = line.partition(' - ')
        left, right = before.split(' '), after.split(' ')
        rows.append({'point': left[4].encode().decode('unicode_escape'), 'options': left[5].split(','), 'optional': left[6:],
                     'type': right[0], 'source': right[1], 'super': right[2].split(',')})
    return rows


def own_mounts():
    return sorted(pathlib.Path('/proc/self/mountinfo').read_text().splitlines())


def cgroup_paths(pid):
    """controller -> directory, for cgroup v1 mounts by controller and '' for v2 (cgroups(7), /proc/<pid>/cgroup)."""
    found = {}
    for line in pathlib.Path(f'/proc/{pid}/cgroup').read_text().splitlines():
        _, controllers, path = line.split(':', 2)
        for controller in controllers.split(','):
            found[controller] = path
    return found


def cgroup_file(pid, controller, v1_name, v2_name):
    """Text of a limit file of the process's cgroup, v1 or v2, or None where there is none."""
    paths = cgroup_paths(pid)
    for row in mounts('self'):
        if row['type'] == 'cgroup' and controller in row['super'] and controller in paths:
            file = pathlib.Path(row['point'] + paths[controller], v1_name)
        elif row['type'] == 'cgroup2' and '' in paths:
            file = pathlib.Path(row['point'] + paths[''], v2_name)
        else:
            continue
        if file.is_file():
            return file.read_text().strip()
    return None


def own_cgroups():
    """Directories of the program's cgroups (snipara-<pid of a supervisor>-<number>) whose supervisor these tests started, dead or
    alive: somebody else may use the program meanwhile."""
    found, mine = set(), descendants(os.getpid()) | POPEN
    for directory, names, _ in os.walk(CGROUP):
        for name in names:
            owner = re.fullmatch(r'snipara-(\d+)-\d+', name)
            if owner and int(owner[1]) in mine:
                found.add(os.path.join(directory, name))
    return found


def members(cgroup):
    try:
        return pathlib.Path(cgroup, 'cgroup.procs').read_text().split()
    except OSError:
        return []


def remove_cgroups(paths):
    for path in paths:
        try:
            os.rmdir(path)
        except OSError:
            pass


def rss(pid):
    """Resident memory in bytes."""
    return int(status(pid)['VmRSS'].split()[0]) * 1024


def descriptors(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def settled(number, seconds=5):
    """The value of number() once it has stayed the same for a moment: spare jails are made while nobody waits."""
    deadline = time.monotonic() + seconds
    last, same = number(), 0
    while same < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
        now = number()
        same = same + 1 if now == last else 0
        last = now
    return last
