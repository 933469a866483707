"""Other ways to run one snippet: a command line each. What is not installed, or does not run here, is listed with the reason."""
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess

SYSTEM_PATH = '/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin'
BARE = ['-I', '-S', '-c', 'print(1)']
SITE = ['-c', 'print(1)']
DATA = ['-c', 'import numpy, pandas; print(1)']
PACKAGES = ('bubblewrap', 'firejail', 'runc', 'crun', 'docker.io', 'podman')  # nsjail and gVisor are not in Debian 12


@dataclasses.dataclass
class Way:
    key: str
    name: str
    command: list = None    # of a peer
    measure: object = None  # of ours: a function that gives microseconds
    is_slow: bool = False   # measured in every fifth round
    client: object = None   # starts the command; None: the section's client


def which(name):
    return shutil.which(name, path=SYSTEM_PATH)


def top_links():
    """/bin, /lib ... as they are: links into /usr on a merged system, (name, target or None)."""
    for name in ('bin', 'sbin', 'lib', 'lib64'):
        path = pathlib.Path('/', name)
        if path.is_symlink():
            yield name, os.readlink(path)
        elif path.is_dir():
            yield name, None


def trees(python):
    """What the interpreter needs of the host, beside top_links."""
    real = str(pathlib.Path(python).resolve())
    return ['/usr'] if real.startswith('/usr/') else ['/usr', str(pathlib.Path(real).parent.parent)]


def bwrap(python, arguments, *more):
    line = [which('bwrap'), '--unshare-all', '--die-with-parent']
    for tree in [*trees(python), *more]:
        line += ['--ro-bind', tree, tree]
    for name, target in top_links():
        line += ['--symlink', target, f'/{name}'] if target else ['--ro-bind', f'/{name}', f'/{name}']
    return [*line, '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', python, *arguments]


def firejail(python):
    return [which('firejail'), '--quiet', '--noprofile', '--net=none', '--seccomp', '--caps.drop=all', '--nonewprivs', '--private-dev',
            '--private-tmp', '--', python, *BARE]


def nsjail(python):
    return [which('nsjail'), '-Mo', '--really_quiet', '--disable_clone_newcgroup', '--chroot', '/', '--', python, *BARE]


def bundle(directory, python):
    """An OCI bundle with the same walls as bwrap's: read-only trees of the host, no network, own namespaces, no capabilities."""
    root = directory / 'rootfs'
    mounts = [{'destination': '/proc', 'type': 'proc', 'source': 'proc'},
              {'destination': '/dev', 'type': 'tmpfs', 'source': 'tmpfs', 'options': ['nosuid', 'mode=755', 'size=64k']},
              {'destination': '/tmp', 'type': 'tmpfs', 'source': 'tmpfs', 'options': ['nosuid', 'nodev', 'size=64m']}]
    names = trees(python)
    for name, target in top_links():
        root.mkdir(parents=True, exist_ok=True)
        if target:
            (root / name).symlink_to(target)
        else:
            names.append(f'/{name}')
    mounts += [{'destination': name, 'type': 'bind', 'source': name, 'options': ['rbind', 'ro', 'nosuid', 'nodev']} for name in names]
    for mount in mounts:
        (root / mount['destination'].lstrip('/')).mkdir(parents=True, exist_ok=True)
    config = {'ociVersion': '1.0.2', 'hostname': 'bench', 'root': {'path': 'rootfs', 'readonly': True}, 'mounts': mounts,
              'process': {'terminal': False, 'user': {'uid': 0, 'gid': 0}, 'cwd': '/', 'args': [python, *BARE],
                          'env': ['PATH=/usr/bin:/bin', 'LANG=C.UTF-8'], 'noNewPrivileges': True,
                          'capabilities': {name: [] for name in ('bounding', 'effective', 'permitted')}},
              'linux': {'namespaces': [{'type': kind} for kind in ('pid', 'network', 'ipc', 'uts', 'mount')],
                        'cgroupsPath': f'/snipara-bench-{os.getpid()}/oci'}}
    (directory / 'config.json').write_text(json.dumps(config), encoding='utf-8')


def oci(runtime, directory, python, *options):
    """`runtime` run of a bundle of its own. The container's name may be used again as soon as the run has ended."""
    place = directory / f'oci-{runtime}'
    if not place.exists():
        place.mkdir()
        bundle(place, python)
    return [which(runtime), '--root', str(place / 'state'), *options, 'run', '--bundle', str(place), f'bench-{os.getpid()}']


def with_data(python, client):
    return 'problem' not in client.spawn([python, *DATA], may_fail=True)


def programs(python, directory, has_data):
    """(key, name, program that must be there, a function that gives the command line)."""
    rows = [('python', f'{python} -I -S -c, no isolation', python, lambda: [python, *BARE]),
            ('python-site', f'{python} -c, no isolation', python, lambda: [python, *SITE]),
            ('bwrap', 'bwrap --unshare-all, python -I -S -c', 'bwrap', lambda: bwrap(python, BARE)),
            ('bwrap-site', 'bwrap --unshare-all, python -c', 'bwrap', lambda: bwrap(python, SITE)),
            ('firejail', 'firejail --net=none --seccomp', 'firejail', lambda: firejail(python)),
            ('nsjail', 'nsjail -Mo', 'nsjail', lambda: nsjail(python)),
            ('runc', 'runc run', 'runc', lambda: oci('runc', directory, python)),
            ('crun', 'crun run', 'crun', lambda: oci('crun', directory, python, '--cgroup-manager=cgroupfs')),
            ('runsc', 'gVisor, runsc --platform=ptrace run', 'runsc',
             lambda: oci('runsc', directory, python, '--platform=ptrace', '--network=none'))]
    if has_data:
        # Debian's numpy finds its BLAS through /etc/alternatives.
        more = [path for path in ('/etc/alternatives', '/etc/ld.so.cache') if os.path.exists(path)]
        rows.insert(4, ('bwrap-data', 'bwrap --unshare-all, python -c, import numpy, pandas', 'bwrap', lambda: bwrap(python, DATA, *more)))
    return rows


def try_out(way, client, slow_us):
    """None, or why this way cannot be measured. Also finds out whether it is slow."""
    for _ in range(2):
        answer = client.spawn(way.command, may_fail=True)
        if 'problem' in answer:
            done = subprocess.run(way.command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            return f'does not run here: {(done.stderr.strip().splitlines() or [answer["problem"]])[-1][:200]}'
    way.is_slow = answer['us'][-1] > slow_us
    return None


def find(python, directory, client, has_data, wanted=lambda key: True, slow_us=150_000):
    """([Way], [{name, why}])."""
    ways, absent = [], []
    for key, name, program, make in programs(python, directory, has_data):
        if not wanted(key):
            continue
        if not which(program):
            absent.append({'key': key, 'name': name, 'why': 'not installed'})
            continue
        way = Way(key, name, make(), client=client)
        why = try_out(way, client, slow_us)
        if why:
            absent.append({'key': key, 'name': name, 'why': why})
        else:
            ways.append(way)
    return ways, absent
