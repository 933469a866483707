"""Integration tests through the real binary: SNIPARA_BIN names it. Every test must leave the machine as it found it."""
import os
import pathlib
import re
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import sandbox
import watch

LONGEST = 180  # seconds of one test, times SNIPARA_TIME_SCALE
TABLE_ROW = re.compile(r'\|\s*`([a-z_]+)`\s*\|(.*)\|\s*$')


def pytest_configure(config):
    config.addinivalue_line('markers', 'root: only meaningful as root (left out, not skipped, as an ordinary user)')
    config.addinivalue_line('markers', 'cgroups: needs cgroups (left out when SNIPARA_EXPECT_MISSING takes them away)')
    config.addinivalue_line('markers', 'user: only meaningful as an ordinary user')
    watch.become_subreaper()


def pytest_collection_modifyitems(config, items):
    unwanted = {'user' if sandbox.IS_ROOT else 'root'}
    if 'cgroup_memory' in os.environ.get('SNIPARA_EXPECT_MISSING', ''):
        unwanted.add('cgroups')
    dropped = [item for item in items if any(item.get_closest_marker(name) for name in unwanted)]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in dropped]


@pytest.fixture(autouse=True)
def hard_limit():
    def too_long(*_):
        raise TimeoutError(f'the test took more than {LONGEST * sandbox.SCALE:.0f} s')
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(int(LONGEST * sandbox.SCALE))
    yield
    signal.alarm(0)


def kept_processes():
    kept = set(watch.KEPT)
    for server in sandbox.Server.live:
        kept |= {server.pid} | watch.descendants(server.pid)
    return kept


@pytest.fixture(autouse=True)
def nothing_left_behind(hard_limit):
    """After each test: no process (but those of servers that a module shares), no mount, no cgroup of ours."""
    mounts, cgroups = watch.own_mounts(), watch.own_cgroups()
    yield
    strangers = watch.descendants(os.getpid()) - kept_processes()
    left = watch.gone(strangers, 2 * sandbox.SCALE) - kept_processes()
    words = [watch.describe(pid) for pid in left]
    watch.kill(left)
    assert not left, f'processes left behind: {words}'
    assert watch.own_mounts() == mounts
    if not sandbox.Server.live:
        watch.wait_until(lambda: not (watch.own_cgroups() - cgroups), 2 * sandbox.SCALE)
        left = watch.own_cgroups() - cgroups
        watch.remove_cgroups(left)
        assert not left, f'cgroups left behind: {left}'


def assert_empty(directory):
    assert watch.wait_until(lambda: not os.listdir(directory), 2 * sandbox.SCALE), f'left in TMPDIR: {os.listdir(directory)}'


@pytest.fixture
def program(tmp_path):
    made = sandbox.Program(tmp_path)
    yield made
    assert_empty(tmp_path / 'tmp')


@pytest.fixture
def server(program):
    """A server for this test alone."""
    made = program.serve()
    yield made
    if made in sandbox.Server.live:
        assert made.close() == 0


@pytest.fixture(scope='module')
def shared(tmp_path_factory):
    """One server for the tests of a module; each takes a session of its own (fixture `session`)."""
    home = tmp_path_factory.mktemp('shared')
    made = sandbox.Program(home).serve()
    yield made
    below = watch.descendants(made.pid)
    assert made.close() == 0
    assert not watch.gone(below, 2 * sandbox.SCALE)
    assert_empty(home / 'tmp')


@pytest.fixture
def session(request):
    return re.sub(r'[^A-Za-z0-9_-]', '-', request.node.name)[:80]


@pytest.fixture(scope='session')
def rung():
    """The rung that this run must be on: SNIPARA_EXPECT_RUNG, or T0 as root and T1 as an ordinary user."""
    return os.environ.get('SNIPARA_EXPECT_RUNG', 'T0' if sandbox.IS_ROOT else 'T1')


@pytest.fixture(scope='session')
def host_table(fixed_table, rung):
    """The table for this run: layers in SNIPARA_EXPECT_MISSING (scripts/check-hosts took them away) cannot stand."""
    table = {layer: dict(cells) for layer, cells in fixed_table.items()}
    for layer in filter(None, os.environ.get('SNIPARA_EXPECT_MISSING', '').split(',')):
        table[layer][rung] = 'no'
    return table


@pytest.fixture(scope='session')
def fixed_table():
    """doc/HOSTS.md: layer -> {rung: "yes" | "no" | "host"}."""
    table, columns = {}, None
    for line in pathlib.Path(sandbox.ROOT, 'doc', 'HOSTS.md').read_text(encoding='utf-8').splitlines():
        if line.startswith('| layer |'):
            columns = [cell.strip() for cell in line.strip('| ').split('|')][1:]
        row = TABLE_ROW.match(line)
        if row and columns:
            table[row[1]] = dict(zip(columns, (cell.strip() for cell in row[2].split('|'))))
    assert len(table) == 25, sorted(table)
    return table
