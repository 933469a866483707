"""Row 48 of the checklist: each layer in turn forced to fail and forced to pretend success. No guest code may run under a policy
that requires the layer; under one that requires nothing it may run only when the receipt says that the layer is missing.

`saboteur` (saboteur.c; SNIPARA_SABOTEUR, or beside this file) puts the program, unmodified, under a filter that makes the named calls fail, or answer
"success" without doing anything. A layer's entry holds every call that the layer hangs on. A row's outcome:

  refused  nothing runs, even under the policy that requires no layer at all: so under no policy
  missing  nothing runs under the policy that requires every layer; under the other one code runs and the layer is listed as missing
  absent   this kind of host does not have the layer: code runs, and the layer is listed as missing
  stands   the call is not what the wall stands on: code runs with every layer, and a probe inside shows that the wall is there
"""
import json
import os
import pathlib

import pytest

import sandbox
from sabotage import Sabotaged, layers_of_the_program, named, saboteur

NEWNS, NEWPID, NEWUSER, NEWCGROUP, NEWTIME = '0x00020000', '0x20000000', '0x10000000', '0x02000000', '0x80'
NEWNET, NEWIPC, NEWUTS = '0x40000000', '0x08000000', '0x04000000'
REFUSED, MISSING, STANDS, ABSENT = 'refused', 'missing', 'stands', 'absent'
UNIFIED = os.path.exists('/sys/fs/cgroup/cgroup.controllers')


class Row:
    def __init__(self, calls, way, outcome, probe=None, only=None, groups=()):
        self.rules = tuple(f'{call}:{way}' for call in calls)
        self.outcome, self.probe, self.only, self.groups = outcome, probe, only, list(groups)


def both(*calls, fail='ENOSYS', failing=REFUSED, pretending=REFUSED, **more):
    """The calls fail together; the calls pretend together."""
    return [Row(calls, fail, failing, **more), Row(calls, 'success', pretending, **more)]


def files(*names, **more):
    """Writes to these files of the kernel: no access, or taken without effect."""
    return both(*(f'write@/{name}' for name in names), fail='EPERM', **more)


def namespace(flag):
    """Made by clone3, or by clone where that is hidden; joined by setns."""
    return both('clone3', f'clone,0&{flag}') + both(f'setns,1&{flag}')


ATTACH = files('tasks', 'cgroup.procs', only='root')
LANDLOCK = ('landlock_create_ruleset,2=0', 'landlock_add_rule', 'landlock_restrict_self')
NO_PROPAGATION = "not any(w in l for l in open('/proc/self/mountinfo') for w in (' shared:', ' master:'))"
NO_NEW_PRIVS = "'NoNewPrivs:\\t1\\n' in list(open('/proc/self/status'))"
OWN_IDS = "os.getresuid() == os.getresgid() == (1000, 1000, 1000)"
INIT_CLOSED = "not os.path.exists('/proc/1/mem')"

TABLE = {
    'user_namespace': both(f'unshare,0={NEWUSER}') + files('uid_map') + files('gid_map') + namespace(NEWUSER),
    'mount_namespace': namespace(NEWNS) +
                       # The trees of a jail are made private when they are cloned; this call is for the time before.
                       both('mount,3=0x44000', pretending=STANDS, probe=NO_PROPAGATION),
    'pid_namespace': both('clone3', f'clone,0&{NEWPID}') + both(f'setns,1={NEWPID}'),
    'network_namespace': both(f'unshare,0={NEWNET}') + both(f'setns,1&{NEWNET}'),
    'ipc_namespace': namespace(NEWIPC),
    'uts_namespace': namespace(NEWUTS) + both('sethostname'),
    'cgroup_namespace': both(f'unshare,0={NEWCGROUP}', failing=MISSING, pretending=MISSING) + both(f'setns,1&{NEWCGROUP}'),
    # clone, which stands in for clone3, cannot make one.
    'time_namespace': [Row(['clone3'], 'ENOSYS', MISSING), Row(['clone3'], 'success', REFUSED)] + both(f'setns,1&{NEWTIME}'),
    'pivot_root': both('pivot_root') + both('umount2'),
    'read_only_root': both('mount_setattr') + both('open_tree') + both('move_mount'),
    'proc': both('mount@proc', fail='EPERM', failing=MISSING, pretending=MISSING),
    'distinct_uid': files('uid_map', only='root') + both('setresuid', only='root') + both('setresgid', only='root'),
    'rlimits': both('prlimit64,2!0') + both('prlimit64') + both('prlimit64,1=7,2!0'),
    'capabilities': both('capset') + both('prctl,0=24') + both('capset', 'prctl,0=24'),  # 24: PR_CAPBSET_DROP
    'securebits': both('prctl,0=28'),
    # As an ordinary user the saboteur itself had to set it, and it cannot be taken back: see also the test below.
    'no_new_privs': both('prctl,0=38', only='root') + [Row(['prctl,0=38'], 'ENOSYS', REFUSED, only='user'),
                                                       Row(['prctl,0=38'], 'success', STANDS, NO_NEW_PRIVS, only='user')],
    'landlock': both('landlock_create_ruleset', failing=MISSING, pretending=MISSING) + both('landlock_restrict_self') + both(*LANDLOCK) +
                [Row(['landlock_add_rule'], 'ENOSYS', REFUSED)],  # without its rules a ruleset only allows less
    'seccomp': both('seccomp,0=1') + both('prctl,0=22') + both('seccomp,0=1', 'prctl,0=22'),
    'seccomp_notify': both('seccomp,0=1,1=8', failing=MISSING, pretending=MISSING),
    'no_user_namespaces': files('max_user_namespaces', failing=MISSING, pretending=MISSING),
    'keyring': both('keyctl', failing=MISSING, pretending=MISSING),
    'cgroup_memory': files('memory.limit_in_bytes', 'memory.max', only='root') + ATTACH,
    'cgroup_pids': files('pids.max', only='root') + ATTACH,
    'cgroup_cpu': files('cpu.cfs_quota_us', 'cpu.max', only='root') + ATTACH,
    # What is not in the group is not killed with it. Only cgroup v2 has groups that are killed: elsewhere nothing is written there,
    # and the layer is missing anyway.
    'cgroup_kill': files('cgroup.procs', only='root', **({} if UNIFIED else {'failing': ABSENT, 'pretending': ABSENT})),
}

# Steps that no layer is named after.
STEPS = {
    'setgroups denied': files('setgroups'),
    'supplementary groups': both('setgroups', only='root', groups=[4, 24]),
    'ids': both('setresuid', pretending=STANDS, probe=OWN_IDS, only='user') +  # the one id that is mapped is ours already
           both('setresgid', pretending=STANDS, probe=OWN_IDS, only='user'),
    'outer namespace': both(f'setns,1={NEWUSER}'),
    'view of the zygote': both(f'unshare,0={NEWNS}') + both('mount_setattr,2=0x8000'),
    'new root': both('mount,3=6'),
    'bounded tmpfs': both('mount,3=14'),
    # The change of ids has made it so already.
    'init not dumpable': both('prctl,0=4,1=0', pretending=STANDS, probe=INIT_CLOSED, only='root') + both('prctl,0=4,1=0', only='user'),
    'death of the parent': both('prctl,0=1'),
    'descriptors closed': both('close_range'),
    'session': both('setsid'),
    'process descriptor': [Row(['pidfd_open'], 'ENOSYS', REFUSED)],
}

ROWS = [pytest.param(name, row, id=f'{name}-{"+".join(row.rules)}') for table in (TABLE, STEPS) for name, rows in table.items()
        for row in rows if row.only in (None, 'root' if sandbox.IS_ROOT else 'user')]


@pytest.fixture(scope='module')
def report(request):
    rows = []
    yield rows
    write = request.config.pluginmanager.getplugin('terminalreporter').write_line
    write('')
    width = max((len(row[0]) for row in rows), default=0)
    for name, rules, outcome, words in rows:
        write(f'{name:{width}}  {outcome:8} {rules}: {words}')
    layers = {row[0] for row in rows} & set(layers_of_the_program())
    write(f'sabotage: {len(rows)} rows, {len(layers)} layers, no guest code ran behind a missing wall')


@pytest.fixture(scope='module')
def refusals():
    """rules -> what the receipt said: for rows that share their rules."""
    return {}


@pytest.fixture
def sabotaged(tmp_path, rung, host_table):
    before = set(os.listdir('/tmp'))
    yield Sabotaged(tmp_path, {layer for layer, cells in host_table.items() if cells[rung] == 'yes'})
    # A root that was not mounted would be built in the host's /tmp.
    assert not (set(os.listdir('/tmp')) - before) & {'bin', 'dev', 'etc', 'lib', 'proc', 'sbin', 'session', 'usr'}


@pytest.mark.parametrize('name, row', ROWS)
def test_sabotage(sabotaged, report, refusals, name, row):
    sabotaged.rules, sabotaged.groups = row.rules, row.groups
    strict = 'unheard' if any('@' in rule for rule in row.rules) else 'all'
    if row.outcome == STANDS:
        receipt, ran = sabotaged.attempt(strict, row.probe)
        assert ran and receipt['status'] == 'ok' and receipt['result']['repr'] == 'True', receipt
        words = f'runs, and {row.probe}'
    elif row.outcome in (MISSING, ABSENT):
        receipt, ran = sabotaged.attempt('none', '')
        missing = {entry['layer']: entry for entry in receipt['backend']['missing']}
        assert ran and receipt['status'] == 'ok', receipt
        assert name in missing and missing[name]['reason'] and name not in receipt['backend']['layers'], receipt['backend']
    if row.outcome == ABSENT:
        words = 'listed as missing'
    elif row.outcome == MISSING:
        receipt, ran = sabotaged.attempt(strict, '')
        assert not ran
        words = f'optional: listed as missing; required: {named(receipt)["layer"]}'
        assert name.split('_')[0] in words.split('required: ')[1] + receipt['error']['message'], receipt['error']
    elif row.outcome == REFUSED:
        if row.rules not in refusals:  # several layers may hang on the same call
            receipt, ran = sabotaged.attempt('none', '')
            assert not ran
            refusals[row.rules] = named(receipt)
        words = f'{refusals[row.rules]["layer"]}: {refusals[row.rules]["reason"]}'
    report.append((name, ' '.join(row.rules), row.outcome, words))


def test_every_layer_has_its_rows():
    """A new layer needs rows here: at least one that fails and one that pretends."""
    assert list(TABLE) == layers_of_the_program()
    for layer, rows in TABLE.items():
        ways = {rule.rsplit(':', 1)[1] for row in rows for rule in row.rules}
        assert 'success' in ways and ways - {'success'}, layer


@pytest.mark.parametrize('rule, policy', [('reboot:EPERM', 'all'), ('write@/no-such-file:EPERM', 'unheard')])
def test_control(sabotaged, rule, policy):
    """A saboteur that touches nothing: everything stands, so refusals above are due to the rules."""
    sabotaged.rules = [rule]
    receipt, ran = sabotaged.attempt(policy, '')
    assert ran and receipt['status'] == 'ok', receipt
    wanted = sabotaged.layers - ({'seccomp_notify'} if policy == 'unheard' else set())
    assert wanted <= set(receipt['backend']['layers'])


def test_the_saboteur_does_what_it_says(tmp_path):
    """The twin: the same rules change what an ordinary program sees, and nothing else."""
    assert saboteur('uname:EPERM', '--', '/bin/uname').returncode == 1
    assert saboteur('uname:EPERM', '--', '/bin/true').returncode == 0
    assert saboteur('prlimit64,1=7,2!0:EPERM', '--', '/bin/sh', '-c', 'ulimit -c 0').returncode == 0
    assert saboteur('prlimit64,1=4,2!0:EPERM', '--', '/bin/sh', '-c', 'ulimit -c 0').returncode != 0
    hit, other = tmp_path / 'hit', tmp_path / 'other'
    script = 'echo 12345 >"$0" && echo 12345 >"$1"'
    assert saboteur('write@/hit:success', '--', '/bin/sh', '-c', script, str(hit), str(other)).returncode == 0
    assert (hit.read_text(), other.read_text()) == ('', '12345\n')
    assert saboteur('write@/hit:EIO', '--', '/bin/sh', '-c', script, str(hit), str(other)).returncode != 0
    assert saboteur('no_such_call:EPERM', '--', '/bin/true').returncode == 125


@pytest.mark.root
@pytest.mark.parametrize('way', ['ENOSYS', 'success'])
def test_no_new_privs_of_an_ordinary_user(way):
    """Root may load a filter without no_new_privs and become the user afterwards: here the user's own call is sabotaged."""
    home = pathlib.Path('/nonexistent')
    environment = sandbox.program_environment(home, {'TMPDIR': '/tmp'})
    user = ['/usr/bin/setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
    command = [*user, sandbox.PROGRAM, 'exec', '--json', '-c', 'print("guest ran")']
    twin = saboteur('reboot:EPERM', '--', *command, env=environment, cwd='/')
    assert json.loads(twin.stdout)['stdout'] == 'guest ran\n', twin
    done = saboteur(f'prctl,0=38:{way}', '--', *command, env=environment, cwd='/')
    receipt = json.loads(done.stdout)
    assert done.returncode == 4 and receipt['status'] == 'refused' and not receipt['stdout'], receipt
