"""The probes that run inside a jail, under a policy that allows native code. The same text, run by a plain python3, is their
positive twin. The harness puts these names in front of it: WHERE ('inside' or 'outside'), TCP_PORT, ABSTRACT, SHM_KEY, SHM_MAKE,
MARK (a file name), TMP and SHM (writable directories), NEEDLE (halves of the canary), CWD, ONLY (rows, or an empty list for all).
Each probe leaves facts under its row's number; what they must be is for the harness to say, which is outside.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import random
import re
import resource
import signal
import socket
import struct
import tempfile
import threading
import time
import uuid

libc = ctypes.CDLL(None, use_errno=True)
FINDINGS = {}


def probe(row):
    def run(function):
        if ONLY and row not in ONLY:
            return function
        try:
            FINDINGS[str(row)] = function()
        except BaseException as e:
            FINDINGS[str(row)] = {'failed': f'{type(e).__name__}: {e}'}
        return function
    return run


def name(number):
    return errno.errorcode.get(number, str(number)) if number else 'ok'


def call(number, *arguments):
    """Name of the errno of a raw system call, or 'ok'. Every argument is 64 bits wide."""
    wide = [ctypes.c_ulong(a & (1 << 64) - 1) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    return name(ctypes.get_errno()) if libc.syscall(ctypes.c_long(number), *wide) == -1 else 'ok'


def attempt(action):
    try:
        action()
        return 'ok'
    except OSError as e:
        return name(e.errno)


def in_child(action):
    """The same in a child, which may die of it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(write, str(action()).encode())
        except BaseException as e:
            os.write(write, f'{type(e).__name__}: {e}'.encode())
        os._exit(0)
    os.close(write)
    text = os.read(read, 500).decode()
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    return f'signal {os.WTERMSIG(status)}' if os.WIFSIGNALED(status) else text


def status():
    with open('/proc/self/status') as lines:
        return {key: value.strip() for key, _, value in (line.partition(':') for line in lines)}


STATUS = status()


@probe(1)
def _():
    return {key: int(STATUS[key], 16) for key in ('SigBlk', 'SigIgn')}


@probe(2)
def _():
    return [fd for fd in range(4096) if attempt(lambda: fcntl.fcntl(fd, fcntl.F_GETFD)) == 'ok']


@probe(3)
def _():
    return dict(os.environ)


@probe(4)
def _():
    fields = open('/proc/self/stat').read().rpartition(')')[2].split()
    return {'isatty': [os.isatty(fd) for fd in range(3)], 'tty': int(fields[4]), 'leader': os.getsid(0) == os.getpid(),
            '/dev/tty': attempt(lambda: os.close(os.open('/dev/tty', os.O_RDWR)))}


@probe(5)
def _():  # TIOCSTI and TIOCLINUX, and with a high bit that the kernel does not look at
    text = ctypes.create_string_buffer(b'x')
    return [call(16, 0, request, text) for request in (0x5412, 0x5412 + (1 << 32), 0x541c, 0x541c + (1 << 32))]


@probe(7)
def _():
    pid, victim = 1, 0
    if WHERE == 'outside':
        pid = victim = os.fork()
        if pid == 0:
            time.sleep(60)
            os._exit(0)
    target = ctypes.create_string_buffer(8)  # the same address in our child
    vector = ctypes.create_string_buffer(struct.pack('PN', ctypes.addressof(target), 8))
    found = {'mem': attempt(lambda: os.close(os.open(f'/proc/{pid}/mem', os.O_RDONLY))),
             'process_vm_writev': call(311, pid, vector, 1, vector, 1, 0), 'ptrace': call(101, 0x4206, pid, 0, 0)}
    if victim:
        os.kill(victim, 9)
        os.waitpid(victim, 0)
    return found


@probe(8)
def _():
    pid = os.fork()
    if pid == 0:
        os.chdir(TMP)
        os.kill(os.getpid(), signal.SIGSEGV)
    dumped = os.WCOREDUMP(os.waitpid(pid, 0)[1])
    files = [file for file in os.listdir(TMP) if file.startswith('core')]
    for file in files:
        os.unlink(f'{TMP}/{file}')
    return {'limit': resource.getrlimit(resource.RLIMIT_CORE), 'dumped': dumped, 'files': files}


@probe(9)
def _():  # add_key, request_key, keyctl(GET_KEYRING_ID of the session keyring)
    return [call(248, b'user', b'snipara-escape', b'x', 1, -2), call(249, b'user', b'snipara-none', None, -2), call(250, 0, -3, 0)]


@probe(10)
def _():
    return libc.prctl(27, 0, 0, 0, 0)


@probe(11)
def _():
    return {key: int(STATUS[key], 16) for key in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')}


@probe(12)
def _():
    return STATUS['NoNewPrivs']


@probe(14)
def _():
    return in_child(lambda: call(272, 0x10000000))


@probe(16)
def _():
    """Orphans: a parent that does not take them leaves zombies, which still can be signalled."""
    if WHERE == 'outside':
        libc.prctl(36, 1, 0, 0, 0)  # we are the one to take them, and do not
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                time.sleep(0.02)
                os._exit(0)
            os.write(write, struct.pack('i', pid))
        os._exit(0)
    os.waitpid(child, 0)
    pids = struct.unpack('3i', os.read(read, 12))
    deadline = time.monotonic() + 1
    while True:
        left = sum(attempt(lambda: os.kill(pid, 0)) != 'ESRCH' for pid in pids)
        if not left or time.monotonic() > deadline:
            return {'left': left, 'pid': os.getpid()}
        time.sleep(0.005)


def mounts():
    rows = []
    for line in open('/proc/self/mountinfo'):
        before, _, after = line.rstrip('\n').partition(' - ')
        left, right = before.split(' '), after.split(' ')
        rows.append([left[4], left[5].split(','), left[6:], right[0]])
    return rows


@probe(19)
def _():
    return [row[0] for row in mounts() if any(field.startswith(('shared:', 'master:')) for field in row[2])]


@probe(20)
def _():
    return {'points': [row[0] for row in mounts()], 'types': sorted({row[3] for row in mounts()}),
            'chroot': in_child(lambda: attempt(lambda: os.chroot('/'))), 'root': sorted(os.listdir('/'))}


@probe(21)
def _():
    here, wanted = os.stat('.'), os.stat(CWD)
    fds = [fd for fd in range(4096) if attempt(lambda: fcntl.fcntl(fd, fcntl.F_GETFD)) == 'ok']
    return {'directories': [fd for fd in fds if os.path.isdir(f'/proc/self/fd/{fd}')], 'inside': here.st_ino == wanted.st_ino
            and here.st_dev == wanted.st_dev}


def make_directory(path):
    os.mkdir(f'{path}/{MARK}')
    os.rmdir(f'{path}/{MARK}')


@probe(22)
def _():
    places = ('/', '/usr', '/usr/lib', '/etc', '/dev')
    return {'mkdir': {path: attempt(lambda: make_directory(path)) for path in places},
            'read_only': {path: bool(os.statvfs(path).f_flag & os.ST_RDONLY) for path in places}}


@probe(23)
def _():
    path = f'{TMP}/{MARK}'
    with open(path, 'wb') as file:
        file.write(b'#!/bin/sh\nexit 0\n' + bytes(5000))
    os.chmod(path, 0o755)

    def execute():
        os.execv(path, [path])

    def run():
        pid = os.fork()
        if pid == 0:
            result = attempt(execute)
            os._exit(errno.__dict__.get(result, 99))
        return name(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    def map_it():
        fd = os.open(path, os.O_RDONLY)
        try:
            mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
        finally:
            os.close(fd)
    found = {'exec': run(), 'mmap': attempt(map_it), 'options': {row[0]: row[1] for row in mounts()}}
    os.unlink(path)
    return found


@probe(24)
def _():
    """Fill a directory twice over, by bytes and by inodes; both are given back."""
    def fill():
        with open(f'{TMP}/{MARK}', 'wb', buffering=0) as file:
            for _ in range(8):
                left = 1 << 20
                while left:
                    left -= file.write(bytes(left))

    def crowd():
        for number in range(2000):
            os.close(os.open(f'{TMP}/{MARK}-{number}', os.O_CREAT | os.O_WRONLY, 0o600))
    found = {'bytes': attempt(fill)}
    os.unlink(f'{TMP}/{MARK}')
    found['inodes'] = attempt(crowd)
    for file in os.listdir(TMP):
        if file.startswith(MARK + '-'):
            os.unlink(f'{TMP}/{file}')
    return found


@probe(25)
def _():
    seen = sorted(os.listdir(SHM))
    if SHM_MAKE:
        open(f'{SHM}/{MARK}-shared', 'w').close()
    devices = {}
    for file in os.listdir('/dev'):
        info = os.lstat(f'/dev/{file}')
        devices[file] = [info.st_mode >> 12, os.major(info.st_rdev), os.minor(info.st_rdev)]
    return {'devices': devices, 'shm': seen}


@probe(26)
def _():
    return {'files': [file for file in ('sys', 'kcore', 'keys', 'kallsyms', 'sysrq-trigger', 'meminfo', 'bus') if
                      os.path.lexists(f'/proc/{file}')],
            'other': sorted(file for file in os.listdir('/proc') if not file.isdigit()),
            'pids': len([file for file in os.listdir('/proc') if file.isdigit()])}


@probe(27)
def _():
    return [path for path in ('/sys', '/sys/fs/cgroup') if os.path.lexists(path)]


@probe(29)
def _():
    return {'open': attempt(lambda: open('/proc/self/exe', 'r+b').close()),
            'read_only': bool(os.statvfs('/proc/self/exe').f_flag & os.ST_RDONLY)}


@probe(30)
def _():
    def connect():
        socket.create_connection(('127.0.0.1', TCP_PORT), 2).close()
    names = [line.split(':')[0].strip() for line in open('/proc/self/net/dev').read().splitlines()[2:]]
    return {'connect': attempt(connect), 'interfaces': names, 'namespace': os.readlink('/proc/self/ns/net')}


@probe(31)
def _():  # AF_VSOCK, AF_ALG, AF_PACKET, audit and route netlink, AF_INET
    return {f'{family}/{protocol}': attempt(lambda: socket.socket(family, kind, protocol).close())
            for family, kind, protocol in ((40, 1, 0), (38, 5, 0), (17, 3, 0), (16, 3, 9), (16, 3, 0), (2, 1, 0))}


@probe(32)
def _():
    number = libc.shmget(SHM_KEY, 4096, 0o1666 if SHM_MAKE else 0)
    return {'shm': number >= 0, 'hostname': socket.gethostname(), 'cgroup': sorted({line.rstrip('\n').split(':', 2)[2] for line in
            open('/proc/self/cgroup')}), 'namespaces': {kind: os.readlink(f'/proc/self/ns/{kind}') for kind in
            ('ipc', 'uts', 'cgroup', 'time', 'user', 'mnt', 'pid', 'net')}}


@probe(36)
def _():
    return {limit[7:]: resource.getrlimit(getattr(resource, limit)) for limit in dir(resource) if limit.startswith('RLIMIT_')}


def other_entrance():
    """getpid by int 0x80, which is another architecture's entrance."""
    code = bytes.fromhex('b814000000 cd80 c3')
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return 'ok' if function() > 0 else 'ENOSYS'


@probe(38)
def _():
    return {'int 0x80': in_child(other_entrance), 'x32': in_child(lambda: call(0x40000000 + 39)), 'native': call(39)}


# No answer can be had of these: they end, block, copy or restart the caller; or a row of their own looks at them.
ENDING = {15, 34, 37, 56, 57, 58, 60, 219, 231}
ROWS = {16, 41, 59, 272, 308, 319, 322, 435, 248, 249, 250}
FORBIDDEN = {'io_uring_setup': 425, 'io_uring_enter': 426, 'io_uring_register': 427, 'bpf': 321, 'perf_event_open': 298,
             'userfaultfd': 323, 'ptrace': 101, 'process_vm_readv': 310, 'process_vm_writev': 311, 'pidfd_getfd': 438, 'kcmp': 312,
             'mount': 165, 'umount2': 166, 'pivot_root': 155, 'open_tree': 428, 'move_mount': 429, 'fsopen': 430, 'fsconfig': 431,
             'fsmount': 432, 'fspick': 433, 'mount_setattr': 442, 'chroot': 161, 'personality': 135, 'modify_ldt': 154,
             'fanotify_init': 300, 'fanotify_mark': 301, 'quotactl': 179, 'quotactl_fd': 443, 'swapon': 167, 'swapoff': 168,
             'reboot': 169, 'kexec_load': 246, 'kexec_file_load': 320, 'init_module': 175, 'finit_module': 313, 'delete_module': 176,
             'clock_settime': 227, 'clock_adjtime': 305, 'settimeofday': 164, 'memfd_secret': 447, 'seccomp': 317,
             'open_by_handle_at': 304, 'name_to_handle_at': 303}


def answers(numbers, arguments):
    """One letter a number: t the call went through to the kernel, p EPERM, n ENOSYS, k killed by the filter. In children, which go
    on behind a number that ended one of them."""
    numbers, table = list(numbers), mmap.mmap(-1, 4096)
    while True:
        start = table.find(b'\0')
        if start >= len(numbers):
            break
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            for at in range(start, len(numbers)):
                signal.setitimer(signal.ITIMER_REAL, 0.5)
                table[at] = ord({'EPERM': 'p', 'ENOSYS': 'n'}.get(call(numbers[at], *arguments), 't'))
            os._exit(0)
        ended = os.waitpid(pid, 0)[1]
        at = table.find(b'\0')
        if at < len(numbers):
            table[at] = ord('k' if os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGSYS else 't')
    return {number: chr(table[at]) for at, number in enumerate(numbers)}


@probe(39)
def _():
    left_out = ENDING | ROWS | set(FORBIDDEN.values())
    found = answers((number for number in range(601) if number not in left_out), [-1] * 6)
    return ''.join(found.get(number, '.') for number in range(601))


@probe(40)
def _():
    ran = []
    thread = threading.Thread(target=ran.append, args=(1,))
    thread.start()
    thread.join()
    return {'clone3': in_child(lambda: call(435, None, 0)), 'unshare': in_child(lambda: call(272, 0x10000000)),
            'setns': call(308, -1, 0), 'clone': in_child(lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0)), 'threads': len(ran)}


@probe(41)
def _():
    found = answers(FORBIDDEN.values(), [-2] * 6)
    return {call_name: found[number] for call_name, number in FORBIDDEN.items()}


@probe(43)
def _():
    def abstract():
        socket.socket(socket.AF_UNIX).connect('\0' + ABSTRACT)
    return {'write': attempt(lambda: open('/dev/urandom', 'wb').close()), 'signal': attempt(lambda: os.kill(os.getppid() if
            WHERE == 'outside' else 1, 0)), 'abstract': attempt(abstract)}


@probe(44)
def _():
    """How often the canary stands in the readable memory of this process. Neither the pattern nor this text holds it whole."""
    needle, found = re.compile(NEEDLE[0].encode() + b'[-]' + NEEDLE[1].encode()), 0
    with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
        for line in maps:
            span, mode = line.split()[:2]
            start, end = (int(x, 16) for x in span.split('-'))
            if mode[0] != 'r' or '[v' in line or end - start > 1 << 30:
                continue
            try:
                for at in range(start, end, 1 << 22):
                    memory.seek(at)
                    found += len(needle.findall(memory.read(min((1 << 22) + 64, end - at))))
            except OSError:
                pass
    return found


@probe(45)
def _():
    import multiprocessing
    found = {'random': random.random(), 'urandom': os.urandom(8).hex(), 'uuid1': uuid.uuid1().hex, 'uuid4': uuid.uuid4().hex,
             'tempfile': next(tempfile._get_candidate_names()), 'authkey': bytes(multiprocessing.current_process().authkey).hex()}
    try:
        import numpy
        found['numpy'] = float(numpy.random.random())
    except ImportError:
        pass
    return found


@probe(46)
def _():
    return {'hash': hash('snipara'), 'layout': next(line.split('-')[0] for line in open('/proc/self/maps') if 'libc.so' in line)}


@probe(47)
def _():
    return int(STATUS['Threads'])
