"""Documents are executed: blocks marked "sh test" run, help and manual page agree, links point at files."""
import os
import pathlib
import re
import subprocess

import pytest

import sandbox

DOCUMENTS = [sandbox.ROOT / 'README.md', *sorted((sandbox.ROOT / 'doc').glob('*.md'))]
BLOCK = re.compile(r'^```sh test$\n(.*?)^```$', re.M | re.S)


def blocks():
    for document in DOCUMENTS:
        for number, block in enumerate(BLOCK.findall(document.read_text(encoding='utf-8')), 1):
            yield pytest.param(block, id=f'{document.name}-{number}')


@pytest.mark.parametrize('block', blocks())
def test_commands(program, block):
    """In an empty directory, with the program first on PATH; any failing line fails the block."""
    env = sandbox.program_environment(program.home)
    env = {name: value for name, value in env.items() if not name.startswith('XDG_')}  # the documents speak of the defaults
    env['PATH'] = f'{os.path.dirname(os.path.abspath(sandbox.PROGRAM))}:{env["PATH"]}'
    run = subprocess.run(['bash', '-euo', 'pipefail', '-c', block], cwd=program.home / 'work', env=env, capture_output=True, text=True,
                         stdin=subprocess.DEVNULL, timeout=60 * sandbox.SCALE, check=False)
    assert run.returncode == 0, f'{block}\nexit {run.returncode}\n{run.stdout}\n{run.stderr}'


def test_there_are_such_blocks():
    assert len(list(blocks())) >= 3


def test_links_point_at_files():
    for document in DOCUMENTS:
        for target in re.findall(r'\]\(([^)#:]+)(?:#[^)]*)?\)', document.read_text(encoding='utf-8')):
            assert (document.parent / target).exists(), f'{document.name}: {target}'


def manual():
    page = next((sandbox.ROOT / 'doc').glob('snipara-sandbox.1*'), None)
    assert page, 'there is no manual page'
    text = page.read_text(encoding='utf-8')
    return text.replace('\\-', '-').replace('\\(hy', '-')


def options_of(text):
    return set(re.findall(r'(?<![\w-])--[a-z][a-z-]+', text))


def mdoc_options(text):
    """Options in mdoc form: ".It Fl -json" and "Fl -timeout Ar SECONDS" stand for --json and --timeout."""
    return options_of(text) | {f'-{name}' for name in re.findall(r'\bFl (-[a-z][a-z-]+)', text)}


def test_help_and_manual_agree(program):
    text = mdoc_options(manual())
    helped = set()
    for arguments in (('--help',), ('exec', '--help'), ('policy', '--help'), ('doctor', '--help'), ('mcp-serve', '--help')):
        code, out, err = program.run(*arguments)
        assert code == 0 and out and not err, arguments
        helped |= options_of(out.decode())
    assert helped - {'--help', '--version'} <= text, f'not in the manual page: {helped - text}'
    assert text <= helped | {'--help', '--version'}, f'not in any --help: {text - helped}'


def test_manual_names_every_command(program):
    text = manual()
    for command in ('exec', 'mcp-serve', 'policy', 'doctor', 'version'):
        assert command in text
        assert command in program.run('--help')[1].decode()


def test_manual_names_every_exit_code():
    for code in (0, 1, 2, 3, 4, 124, 137, 139):
        assert re.search(rf'\b{code}\b', manual()), code


def test_readme_names_what_doctor_and_exec_say():
    text = pathlib.Path(sandbox.ROOT, 'README.md').read_text(encoding='utf-8')
    for word in ('scripts/first-run', 'scripts/check-all', 'mcp-serve', '124', '137', '139'):
        assert word in text
