"""`policy list|show|check`."""
import json
import os
import pathlib
import shutil
import sysconfig
import tempfile

import pytest

import sandbox

SHIPPED = ('default', 'strict', 'open', 'validation')


def test_list(program):
    code, out, err = program.run('policy', 'list')
    assert code == 0, err
    for name in SHIPPED:
        assert name in out.decode()


def test_list_as_json(program):
    code, out, _ = program.run('policy', 'list', '--json')
    rows = json.loads(out)
    assert code == 0 and set(SHIPPED) <= {row['name'] for row in rows}
    assert all(row['origin'] and row['path'] for row in rows)


@pytest.mark.parametrize('name', SHIPPED)
def test_show(program, name):
    code, out, err = program.run('policy', 'show', name, '--json')
    assert code == 0 and json.loads(out)['name'] == name, err
    code, out, err = program.run('policy', 'show', name, '--explain')
    text = out.decode()
    assert code == 0 and len(text) > 500, err
    for word in ('memory', 'import', 'network', 'limits', 'walls'):
        assert word in text.lower(), word


@pytest.mark.parametrize('name', SHIPPED)
def test_check_of_the_shipped(program, name):
    path = sandbox.ROOT / 'policies' / f'{name}.json'
    code, out, err = program.run('policy', 'check', path)
    assert code == 0, (out, err)


@pytest.mark.parametrize('name', SHIPPED)
def test_every_shipped_policy_runs(program, name):
    receipt = program.exec_json('6 * 7', '--policy', name, expect='ok')
    assert receipt['result']['json'] == 42 and receipt['session']['policy'] == name
    assert receipt['digests']['policy'].startswith('sha256:')


def test_check_names_file_key_and_remedy(program):
    path = program.home / 'work' / 'mine.json'
    path.write_text('{"name": "mine", "extends": "default", "limits": {"pidz": 4}}')
    code, out, err = program.run('policy', 'check', path)
    assert code != 0 and b'mine.json' in err + out and b'pidz' in err + out


@pytest.mark.parametrize('comment, code', [(None, 1), (' ', 1), ('a tracer runs in this jail', 0)])
def test_a_dangerous_call_needs_a_comment(program, comment, code):
    entry = {'names': ['ptrace', 'setreuid'], 'action': 'SCMP_ACT_ALLOW', **({'comment': comment} if comment else {})}
    path = program.home / 'work' / 'mine.json'
    path.write_text(json.dumps({'name': 'mine', 'extends': 'default', 'widen': True, 'widen_reason': 'r', 'seccomp': {'add': [entry]}}))
    exit_code, out, _ = program.run('policy', 'check', path)
    assert exit_code == code
    for name in entry['names']:
        assert (f'{name} is allowed without a comment' in out.decode()) == (code == 1), out
    exit_code, out, _ = program.run('policy', 'check', path, '--json')
    assert exit_code == code and json.loads(out)['valid'] == (code == 0)


def test_a_policy_of_the_operator_narrows(program):
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    (directory / 'small.json').write_text(json.dumps({'name': 'small', 'extends': 'default', 'limits': {'pids': 12},
                                                      'imports': {'names': ['ctypes', 'socket']}}))
    receipt = program.exec_json('1', '--policy', 'small', expect='ok')
    assert receipt['limits']['pids'] == 12


def test_a_layer_that_cannot_be_had_refuses(program):
    """Fail closed: what a policy requires and the host cannot give means that nothing runs (exit 4)."""
    directory = program.home / 'config' / 'snipara-sandbox' / 'policies'
    directory.mkdir(parents=True)
    layers = json.loads(program.run('doctor', '--json')[1])['layers']
    absent = [row['layer'] for row in layers if not row['there']]
    if not absent:
        pytest.skip('kernel cannot: every layer is there, so none can be missing')
    (directory / 'greedy.json').write_text(json.dumps({'name': 'greedy', 'extends': 'default', 'layers': {'required': absent}}))
    receipt = program.exec_json('print("ran")', '--policy', 'greedy', expect='refused')
    assert absent[0] in json.dumps(receipt) and receipt['stdout'] == ''


def make_root(directory):
    """The least that the interpreter needs: its library, and the directories that the jail mounts over."""
    for name in ('proc', 'dev', 'tmp', 'session', 'etc', 'usr/lib'):
        (directory / name).mkdir(parents=True)
    (directory / 'etc' / 'motd').write_text('a root of its own')
    library = sysconfig.get_path('stdlib')
    shutil.copytree(library, str(directory) + library, ignore=shutil.ignore_patterns('test', 'config-*', '__pycache__', 'idlelib'),
                    ignore_dangling_symlinks=True)


def test_a_root_directory_instead_of_the_hosts(program):
    """Nothing of the host is mounted then, and the directory is as read-only as the host's would be."""
    # The jail's user must be able to walk to it, which a test's own directory (mode 0700) does not allow.
    with tempfile.TemporaryDirectory(dir='/tmp') as name:
        os.chmod(name, 0o755)
        root = pathlib.Path(name, 'root')
        make_root(root)
        policies = program.home / 'config' / 'snipara-sandbox' / 'policies'
        policies.mkdir(parents=True)
        (policies / 'rooted.json').write_text(json.dumps({
            'name': 'rooted', 'extends': 'default', 'widen': True, 'widen_reason': 'a root of its own',
            'filesystem': {'rootfs': str(root), 'mounts': []}}))
        code = ('import os\n'
                'try: open("/usr/new", "w")\nexcept OSError as e: refused = e.errno\n'
                '(open("/etc/motd").read(), os.path.exists("/usr/bin"), refused in (13, 30))')
        receipt = program.exec_json(code, '--policy', 'rooted', expect='ok')
        assert receipt['result']['json'] == ['a root of its own', False, True]
        assert 'read_only_root' in receipt['backend']['layers']
