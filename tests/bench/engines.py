"""Docker Engine and Podman, without a registry and without touching an engine of the machine: a daemon, a store, an image and cgroups of
our own, all gone at the end. As root only. The caller stands in a mount namespace of its own, so that no mount outlives it."""
import contextlib
import os
import pathlib
import signal
import subprocess
import tarfile
import time

import host
import peers
from client import BenchError

START_SECONDS = 30


def run(*arguments, **options):
    done = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120, **options)
    if done.returncode != 0:
        raise BenchError(f'{pathlib.Path(arguments[0]).name} {arguments[1]}: {(done.stderr or done.stdout).strip()[-300:]}')
    return done.stdout.strip()


def libraries(*binaries):
    found = set()
    for binary in binaries:
        for word in run('ldd', binary).split():
            if word.startswith('/'):
                found.add(word)
    return found


def image(directory, python):
    """A tar of the host's interpreter with its standard library and shared libraries, and sleep(1): no registry is needed."""
    real = pathlib.Path(python).resolve()
    library = pathlib.Path(run(python, '-I', '-c', 'import os; print(os.path.dirname(os.__file__))'))
    extensions = [str(path) for path in (library / 'lib-dynload').glob('*.so')]
    path = directory / 'image.tar'
    with tarfile.open(path, 'w') as tar:
        for name, target in peers.top_links():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = (tarfile.SYMTYPE, target) if target else (tarfile.DIRTYPE, '')
            member.mode = 0o755
            tar.addfile(member)
        for file in sorted({str(real), '/usr/bin/sleep'} | libraries(str(real), '/usr/bin/sleep', *extensions)):
            inside = pathlib.Path(file).parent.resolve() / pathlib.Path(file).name  # /lib/x is /usr/lib/x where /lib is a link
            tar.add(pathlib.Path(file).resolve(), str(inside).lstrip('/'))
        tar.add(library, str(library).lstrip('/'), filter=lambda member: None if '/test' in member.name else member)
    return path, str(real)


def stop(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def remove_cgroups(name):
    """Cgroups that were made below our own name, in every hierarchy; whoever still lives in them is ours and is killed."""
    for top in pathlib.Path('/sys/fs/cgroup').glob(f'*/{name}'):
        groups = [pathlib.Path(at) for at, _, _ in os.walk(top, topdown=False)]
        for group in groups:
            for pid in (group / 'cgroup.procs').read_text(encoding='ascii').split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        for group in groups:
            for _ in range(100):
                try:
                    group.rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    time.sleep(0.02)


def sweep():
    """What runs that were killed (SIGKILL) could not take down themselves: their containers and cgroups."""
    names = {path.name for path in pathlib.Path('/sys/fs/cgroup').glob('*/snipara-bench-*')}
    for name in names:
        if not os.path.exists(f'/proc/{name.split("-")[2]}'):
            remove_cgroups(name)


@contextlib.contextmanager
def docker(directory, python, tar):
    """Ways that go through a dockerd of our own: a container for each call, and exec in one that stands."""
    place, cgroup = directory / 'docker', f'snipara-bench-{os.getpid()}-docker'
    place.mkdir()
    socket = f'unix://{place}/docker.sock'
    with open(place / 'log', 'w', encoding='utf-8') as log:
        daemon = subprocess.Popen(
            [peers.which('dockerd'), '--data-root', place / 'data', '--exec-root', place / 'exec', '--pidfile', place / 'pid', '--host', socket,
             '--iptables=false', '--ip6tables=false', '--bridge=none', '--exec-opt', 'native.cgroupdriver=cgroupfs', '--storage-driver',
             'overlay2', '--cgroup-parent', f'/{cgroup}'],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=host.die_with_parent)
    line = [peers.which('docker'), '--host', socket]
    standing = None
    try:
        wait_for(daemon, line, place / 'log')
        run(*line, 'import', tar, 'bench')
        standing = run(*line, 'run', '--detach', '--init=false', '--network', 'none', 'bench', '/usr/bin/sleep', '1000000')
        yield [peers.Way('docker-run', 'docker run --rm --network none', [*line, 'run', '--rm', '--network', 'none', 'bench', python, *peers.BARE]),
               peers.Way('docker-exec', 'docker exec in a standing container', [*line, 'exec', standing, python, *peers.BARE])]
    finally:
        with contextlib.suppress(BenchError, subprocess.TimeoutExpired):
            containers = run(*line, 'ps', '--all', '--quiet').split()
            if containers:
                run(*line, 'rm', '--force', *containers)
        below = host.tree(daemon.pid) - {daemon.pid}
        stop(daemon)
        for pid in below & set(host.parents()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        remove_cgroups(cgroup)


def wait_for(daemon, line, log):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and daemon.poll() is None:
        if subprocess.run([*line, 'version'], stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise BenchError(f'dockerd does not start: {log.read_text(encoding="utf-8", errors="replace").strip()[-300:]}')


@contextlib.contextmanager
def podman(directory, python, tar):
    place, cgroup = directory / 'podman', f'snipara-bench-{os.getpid()}-podman'
    place.mkdir()
    config = place / 'containers.conf'
    # Podman raises limits above ours by default, which takes CAP_SYS_RESOURCE: a machine's root may lack it.
    config.write_text('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n'
                      '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n', encoding='utf-8')
    # CONTAINERS_CONF reaches podman through env(1): the client that starts it knows nothing of it.
    line = ['/usr/bin/env', f'CONTAINERS_CONF={config}', peers.which('podman'), '--root', str(place / 'root'), '--runroot', str(place / 'run'),
            '--tmpdir', str(place / 'tmp')]
    try:
        run(*line, 'import', tar, 'bench')
        yield [peers.Way('podman-run', 'podman run --rm --network none',
                         [*line, 'run', '--rm', '--network', 'none', '--cgroup-parent', f'/{cgroup}', 'bench', python, *peers.BARE])]
    finally:
        with contextlib.suppress(BenchError, subprocess.TimeoutExpired):
            run(*line, 'rm', '--all', '--force')
        remove_cgroups(cgroup)


ENGINES = (('docker', 'dockerd', docker, ('docker run', 'docker exec')), ('podman', 'podman', podman, ('podman run',)))


def start(stack, directory, python, client):
    """Start what there is below `stack`: ([Way], [{name, why}])."""
    ways, absent, tar = [], [], None
    for key, program, engine, names in ENGINES:
        if not peers.which(program):
            why = 'not installed'
        elif os.geteuid() != 0:
            why = 'needs root'
        else:
            try:
                tar = tar or image(directory, python)
                made = stack.enter_context(engine(directory, tar[1], tar[0]))
                why = next(filter(None, (peers.try_out(way, client, 150_000) for way in made)), None)
            except (BenchError, OSError, subprocess.TimeoutExpired) as error:
                why = f'does not run here: {error}'
        if why:
            absent += [{'key': name.replace(' ', '-'), 'name': name, 'why': why} for name in names]
        else:
            ways += made
    return ways, absent
