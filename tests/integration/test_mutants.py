"""What `make check-escape` builds must not be what is installed: the program under test has no mutants, and no variable that picks one."""
import json
import os
import pathlib

import pytest

import sandbox


def binaries(program):
    code, out, _ = program.run('doctor', '--json')
    assert code in (0, 1) and json.loads(out)['kernel']
    pyhost = os.environ.get('SNIPARA_SANDBOX_PYHOST') or pathlib.Path(sandbox.PROGRAM).parent.parent / 'libexec' / 'snipara-sandbox' / 'snipara-pyhost'
    return [pathlib.Path(sandbox.PROGRAM), pathlib.Path(pyhost)]


def test_no_trace_in_the_binaries(program):
    for path in binaries(program):
        content = path.read_bytes()
        assert len(content) > 100000, path
        assert b'MUTANT' not in content, path


@pytest.mark.parametrize('row', [12, 43])
def test_the_variable_is_ignored(program, row):
    """With no_new_privs or Landlock taken out these would be 0 and a number."""
    code = ('import os\ntry: os.kill(1, 0)\nexcept PermissionError: scoped = True\nelse: scoped = False\n'
            '[line.split()[1] for line in open("/proc/self/status") if line.startswith("NoNewPrivs")] + [scoped]')
    receipt = program.exec_json(code, '--policy', 'open', env={'SNIPARA_MUTANT': str(row)}, expect='ok')
    assert receipt['result']['json'] == ['1', True]


def test_version_does_not_speak_of_mutants(program):
    code, out, err = program.run('version', '--json', env={'SNIPARA_MUTANT': '12'})
    assert code == 0 and b'mutants' not in out and err == b''
