"""The walls that a receipt names, seen from outside in the kernel's own files while a call runs."""
import os
import re
import subprocess
import sys

import pytest

import sandbox
import watch

# A guest that can be recognised from outside: it says "up" and then sleeps in exactly 8 threads.
THREADS = 8
GUEST = ('import threading, time\n'
         'for _ in range(7): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n'
         'print("up", flush=True)\ntime.sleep(60)')
WRITABLE = {'/session', '/session/output', '/tmp', '/dev/shm'}


class Running:
    """A call that is under way, and the host's view of its payload and init."""

    def __init__(self, server, number):
        self.server, self.number = server, number
        self.payload = watch.wait_until(lambda: watch.with_threads(server.pid, THREADS), 15 * sandbox.SCALE)
        assert self.payload, 'the payload cannot be found from outside'
        self.init = next((pid for pid in watch.descendants(server.pid) if watch.in_other_pid_namespace(pid)
                          and watch.status(pid)['NSpid'].split()[-1] == '1' and self.same_jail(pid)), None)

    def same_jail(self, pid):
        try:
            return watch.namespace(pid, 'pid') == watch.namespace(self.payload, 'pid')
        except PermissionError:
            return False


@pytest.fixture(scope='module')
def running(tmp_path_factory):
    program = sandbox.Program(tmp_path_factory.mktemp('walls'))
    server = program.serve()
    server.layers = set(server.call('1', 'layers', expect='ok')['backend']['layers'])
    server.limits = server.call('1', 'layers', expect='ok')['limits']
    yield Running(server, server.start_call(GUEST, 'walls', timeout=100))
    assert server.close() == 0


def test_sealed(running):
    status = watch.status(running.payload)
    assert status['NoNewPrivs'] == '1'
    assert status['Seccomp'] == '2'
    assert int(status['Seccomp_filters']) >= 1
    for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'):
        assert int(status[name], 16) == 0, f'{name} is {status[name]}'
    assert int(status['SigBlk'], 16) == 0


def test_init_is_sealed_too(running):
    if running.init is None and not sandbox.IS_ROOT:
        pytest.skip('kernel cannot: an ordinary user may not read the namespaces of a process that is not dumpable')
    status = watch.status(running.init)
    assert status['NoNewPrivs'] == '1' and status['Seccomp'] == '2'
    for name in ('CapInh', 'CapPrm', 'CapEff', 'CapAmb'):
        assert int(status[name], 16) == 0, f'{name} is {status[name]}'


def test_not_root_outside(running):
    status = watch.status(running.payload)
    uids, gids = set(status['Uid'].split()), set(status['Gid'].split())
    assert len(uids) == 1 and len(gids) == 1
    if sandbox.IS_ROOT:
        assert uids != {'0'} and gids != {'0'}
        assert set(status['Groups'].split()) <= gids
    else:
        assert uids == {str(os.getuid())}


def test_namespaces_differ_from_ours(running):
    names = {'user': 'user_namespace', 'mnt': 'mount_namespace', 'pid': 'pid_namespace', 'net': 'network_namespace',
             'ipc': 'ipc_namespace', 'uts': 'uts_namespace', 'cgroup': 'cgroup_namespace', 'time': 'time_namespace'}
    for kind, layer in names.items():
        if layer in running.server.layers:
            assert watch.namespace(running.payload, kind) != watch.namespace('self', kind), kind
    assert {'user_namespace', 'mount_namespace', 'pid_namespace', 'network_namespace'} <= running.server.layers


def test_user_mapping_is_one_id(running):
    rows = [line.split() for line in open(f'/proc/{running.payload}/uid_map', encoding='ascii')]
    assert len(rows) == 1 and rows[0][2] == '1', rows
    assert open(f'/proc/{running.payload}/setgroups', encoding='ascii').read() == 'deny\n'


def test_mounts_are_the_policys_only(running):
    rows = watch.mounts(running.payload)
    assert not [row for row in rows if any(field.startswith(('shared:', 'master:')) for field in row['optional'])]
    allowed = re.compile(r'/(usr|bin|sbin|lib[0-9a-z]*|etc(/.+)?|dev(/.+)?|proc|tmp|session(/.+)?|opt|workspace)?')
    strangers = [row['point'] for row in rows if not allowed.fullmatch(row['point'])]
    assert not strangers
    for row in rows:
        if row['point'] not in WRITABLE and row['type'] != 'proc':
            assert 'ro' in row['options'], f'{row["point"]} is writable: {row}'
        if row['point'] in WRITABLE:
            assert 'noexec' in row['options'] and any(word.startswith('size=') for word in row['super']), row
        assert 'nosuid' in row['options'], row
        if not row['point'].startswith('/dev/'):
            assert 'nodev' in row['options'], row
    assert not [row for row in rows if row['type'] in ('sysfs', 'cgroup', 'cgroup2', 'debugfs', 'tracefs', 'devpts')]


def test_device_nodes_of_the_host_keep_their_times(program):
    before = os.stat('/dev/zero').st_mtime_ns
    receipt = program.exec_json("""
import os
for name in ('null', 'zero', 'full', 'random', 'urandom'):
    for change in (lambda: os.utime(f'/dev/{name}'), lambda: os.setxattr(f'/dev/{name}', 'user.a', b'1')):
        try:
            change()
            print(name)
        except OSError:
            pass
open('/dev/null', 'w').write('x')
open('/dev/zero', 'rb').read(3)
""", expect='ok')
    assert receipt['stdout'] == '' and receipt['result']['repr'] == repr(bytes(3))
    assert os.stat('/dev/zero').st_mtime_ns == before


@pytest.mark.root
@pytest.mark.cgroups
def test_limits_stand_in_the_cgroup(running):
    limits, pid = running.server.limits, running.payload
    memory = int(watch.cgroup_file(pid, 'memory', 'memory.limit_in_bytes', 'memory.max'))
    assert limits['memory_bytes'] <= memory <= limits['memory_bytes'] + limits['disk_bytes'] + (16 << 20)
    pids = int(watch.cgroup_file(pid, 'pids', 'pids.max', 'pids.max'))
    assert limits['pids'] <= pids <= limits['pids'] + 2
    quota = watch.cgroup_file(pid, 'cpu', 'cpu.cfs_quota_us', 'cpu.max').split()
    period = quota[1:] or [watch.cgroup_file(pid, 'cpu', 'cpu.cfs_period_us', 'cpu.max')]
    assert int(quota[0]) / int(period[0]) == pytest.approx(limits['cpus'], rel=0.01)


@pytest.mark.root
def test_no_descriptor_but_the_streams_and_the_channel(running):
    targets = {int(fd): os.readlink(f'/proc/{running.payload}/fd/{fd}') for fd in os.listdir(f'/proc/{running.payload}/fd')}
    assert set(targets) <= {0, 1, 2, 3}, targets
    assert targets[1].startswith('pipe:') and targets[2].startswith('pipe:') and targets[0] in ('/dev/null', '/null'), targets
    environment = open(f'/proc/{running.payload}/environ', 'rb').read()
    assert b'SNIPARA' not in environment


@pytest.mark.root
def test_limits_of_the_process(running):
    soft_hard = {}
    for line in open(f'/proc/{running.payload}/limits', encoding='ascii').read().splitlines()[1:]:
        name, values = line[:26].strip(), line[26:].split()
        soft_hard[name] = values[:2]
    assert soft_hard['Max core file size'] == ['0', '0']
    for name, (soft, hard) in soft_hard.items():
        if name not in ('Max cpu time', 'Max realtime timeout', 'Max address space', 'Max data size', 'Max resident set',
                        'Max file locks', 'Max pending signals'):
            assert soft == hard and soft != 'unlimited', name


@pytest.mark.root
def test_two_jails_share_no_uid_and_no_namespace(running):
    other = watch.wait_until(lambda: next((pid for pid in watch.jailed(running.server.pid)
                                           if not running.same_jail(pid)), None), 10 * sandbox.SCALE)
    if other is None:
        running.server.value('1', 'another')
        other = next(pid for pid in watch.jailed(running.server.pid) if not running.same_jail(pid))
    assert watch.status(other)['Uid'].split()[0] != watch.status(running.payload)['Uid'].split()[0]
    for kind in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts'):
        assert watch.namespace(other, kind) != watch.namespace(running.payload, kind), kind


@pytest.mark.root
def test_the_supervisor_owns_nothing_shared_with_the_jail(running):
    ours = {os.readlink(f'/proc/{running.server.pid}/ns/{kind}') for kind in ('mnt', 'pid', 'net', 'ipc', 'uts')}
    jails = {watch.namespace(running.payload, kind) for kind in ('mnt', 'pid', 'net', 'ipc', 'uts')}
    assert not ours & jails


# Counts the places in this process's own memory where a text stands. Neither the pattern nor the compiled expression holds that text
# itself, and no copy of memory does when there is nothing to find.
SEARCH = """
import re
needle = re.compile(rb'SECRET_[C]ANARY=canary-5f1d[7]7')
found = 0
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
    for line in maps:
        span, mode = line.split()[:2]
        start, end = (int(x, 16) for x in span.split('-'))
        if mode[0] == 'r' and '[v' not in line and end - start < 1 << 30:
            try:
                for at in range(start, end, 1 << 20):
                    memory.seek(at)
                    found += len(needle.findall(memory.read(min((1 << 20) + 64, end - at))))
            except OSError:
                pass
"""
CANARY = {'SECRET_CANARY': 'canary-5f1d77'}


def test_no_secret_of_the_supervisor_in_the_jail(program):
    """A canary in the supervisor's environment is in no readable mapping of the payload."""
    receipt = program.exec_json(SEARCH + 'found', '--policy', 'open', '--timeout', 60, env=CANARY)
    if receipt['status'] == 'error':  # a jail that hides its own memory hides the canary too
        assert receipt['error']['type'] in ('PermissionError', 'FileNotFoundError'), receipt
    else:
        assert receipt['result']['json'] == 0, receipt


def test_positive_twin_finds_the_secret_outside():
    run = subprocess.run([sys.executable, '-c', SEARCH + 'print(found)'], env=CANARY, capture_output=True, text=True, check=True,
                         timeout=60)
    assert int(run.stdout) >= 1
