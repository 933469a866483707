"""Hosts that lack something (doc/HOSTS.md, "What a host may lack"): each lack ends in the outcome that the table there names. The
whole suite under each of them is run by scripts/check-hosts."""
import json
import subprocess

import pytest

import sandbox
from sabotage import Sabotaged, named

CGROUPS = {'cgroup_memory', 'cgroup_pids', 'cgroup_cpu', 'cgroup_kill'}
# A private view of the mounts in which no cgroup can be made: what a container with a read-only /sys/fs/cgroup sees.
READ_ONLY_CGROUPS = r'''
awk '$3 ~ /^cgroup2?$/ {print $2}' /proc/self/mounts | while read -r point; do mount -o remount,bind,ro "$point" || exit 9; done || exit 9
exec "$@"
'''


@pytest.fixture
def lacking(tmp_path, rung, host_table):
    return Sabotaged(tmp_path, {layer for layer, cells in host_table.items() if cells[rung] == 'yes'})


def missing(receipt):
    return {row['layer']: row for row in receipt['backend']['missing']}


def run(home, *command, cwd=None):
    done = subprocess.run([str(word) for word in command], env=sandbox.program_environment(home), cwd=cwd or home / 'work',
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * sandbox.SCALE)
    assert done.stdout, done
    return done.returncode, sandbox.validate(json.loads(done.stdout))


def test_landlock(lacking):
    """Refused where it is required, as by every shipped policy; listed as missing elsewhere."""
    lacking.rules = ['landlock_create_ruleset:ENOSYS']
    for policy in ('default', 'strict', 'open', 'validation'):
        entry = named(lacking.exec_json('1', '--policy', policy))
        assert entry['layer'] == 'landlock', entry
    receipt, ran = lacking.attempt('none', '')
    assert ran and missing(receipt)['landlock']['remedy'], receipt['backend']


def test_clone3(lacking):
    """clone stands in for it; the time namespace, which clone cannot make, is missing."""
    lacking.rules = ['clone3:ENOSYS']
    receipt, ran = lacking.attempt('default', '')
    assert ran and 'time_namespace' in missing(receipt)
    assert lacking.layers - {'time_namespace'} <= set(receipt['backend']['layers'])


def test_openat2(lacking):
    """What would be read below a project's directory is not read at all; nothing else needs it."""
    project = lacking.home / 'work' / '.snipara-sandbox' / 'policies'
    project.mkdir(parents=True)
    (project / 'mine.json').write_text('{"name": "mine", "extends": "default", "limits": {"pids": 9}}')
    lacking.rules = ['reboot:ENOSYS']
    assert lacking.exec_json('1', '--policy', 'mine', expect='ok')['limits']['pids'] == 9
    lacking.rules = ['openat2:ENOSYS']
    code, out, err = lacking.run('exec', '--json', '--policy', 'mine', '-c', 'print("guest ran")')
    assert code not in (0, 1) and b'guest ran' not in out, out
    assert b'openat2' in out + err and b'Linux 5.6' in out + err, (out, err)
    assert lacking.exec_json('1', '--policy', 'default', expect='ok')


@pytest.mark.root
def test_cgroups_that_cannot_be_made(lacking):
    """Listed as missing with the reason; a policy that requires one refuses."""
    start = ['/usr/bin/unshare', '-m', '--propagation', 'private', '/bin/sh', '-c', READ_ONLY_CGROUPS, 'sh', sandbox.PROGRAM, 'exec', '--json']
    code, receipt = run(lacking.home, *start, '--policy', 'default', '-c', '1')
    assert code == 0 and receipt['backend']['rung'] == 'T0', receipt
    for layer in CGROUPS:
        assert 'no group can be made' in missing(receipt)[layer]['reason'] and missing(receipt)[layer]['remedy'], receipt['backend']
    code, receipt = run(lacking.home, *start, '--policy', 'all', '-c', '1')
    assert code == 4 and named(receipt)['layer'] in CGROUPS, receipt


@pytest.mark.root
@pytest.mark.parametrize('policy', ['default', 'none'])
def test_cgroups_that_cannot_be_written(lacking, policy):
    """A group that exists without its limits is a broken host, not a poorer one: refused under every policy, and the file is named."""
    lacking.rules = ['write@/memory.limit_in_bytes:EPERM', 'write@/memory.max:EPERM']
    receipt = lacking.exec_json('print("guest ran")', '--policy', policy)
    assert 'memory.' in named(receipt)['reason'] and not receipt['stdout']


def test_root_of_a_user_namespace(lacking):
    """unshare -r: on the rung of the user who did it; below root it would be root that runs the code, so it is refused."""
    code, receipt = run(lacking.home, '/usr/bin/unshare', '-r', sandbox.PROGRAM, 'exec', '--json', '-c', 'import os; os.getuid()')
    if sandbox.IS_ROOT:
        assert code == 4 and 'start the server as an ordinary user' in named(receipt)['reason'], receipt
    else:
        assert code == 0 and receipt['result']['repr'] == '1000' and receipt['backend']['rung'] == 'T1', receipt
        assert lacking.layers <= set(receipt['backend']['layers'])


def test_every_lack_is_in_the_documents():
    """doc/HOSTS.md names the outcome of each lack that is tested here and by scripts/check-hosts."""
    text = (sandbox.ROOT / 'doc' / 'HOSTS.md').read_text(encoding='utf-8')
    table = text[text.index('## What a host may lack'):]
    for word in ('landlock', 'clone3', 'openat2', 'cgroup', 'unshare -r'):
        assert word in table, word
