"""What a server and the machine under it hold at one moment, read from the kernel's files: processes, cgroups, mounts, descriptors,
memory. A figure that this user may not read is absent. `python3 machine.py PID FILE` samples it twice a second until PID is gone."""
import json
import os
import pathlib
import re
import sys
import time

CGROUP = pathlib.Path('/sys/fs/cgroup')
HELPERS = {'maker': b'--jail-maker', 'zygote': b'--zygote'}
PERIOD = 0.5


def read(path):
    try:
        return pathlib.Path(path).read_text(errors='replace')
    except OSError:
        return ''


def tree(root):
    """pid -> parent of `root` and everything below it."""
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            fields = read(f'/proc/{name}/stat').rpartition(')')[2].split()
            if len(fields) > 1:
                parents[int(name)] = int(fields[1])
    found, border = {root: 0}, {root}
    while border:
        border = {pid for pid, parent in parents.items() if parent in border and pid not in found}
        found.update((pid, parents[pid]) for pid in border)
    return found


def deeper(pid):
    """In a pid namespace below ours: a jail's process. Its command line is the guest's to choose, this is not."""
    mine = re.search(r'^NSpid:(.*)$', read(f'/proc/{pid}/status'), re.M)
    return mine is not None and len(mine[1].split()) > 1


def roles(server):
    """Role -> pids: the server, its helpers, and `jailed` for everything else below it."""
    found = {'supervisor': [server], 'maker': [], 'zygote': [], 'jailed': []}
    for pid, parent in tree(server).items():
        if pid == server:
            continue
        role = 'jailed'
        if not deeper(pid):
            try:
                command = pathlib.Path(f'/proc/{pid}/cmdline').read_bytes()
            except OSError:
                continue
            role = next((name for name, argument in HELPERS.items() if argument in command.split(b'\0')), 'jailed')
        found[role].append(pid)
    return found


def memory(pid, into, role):
    rollup = read(f'/proc/{pid}/smaps_rollup')
    # Of a helper only what is resident: its proportional share grows whenever a jail that shares its pages ends.
    for name in ('Rss', 'Pss') if role == 'supervisor' else ('Rss',):
        match = re.search(rf'^{name}:\s+(\d+) kB', rollup, re.M)
        if name == 'Rss' and not match:
            match = re.search(r'^VmRSS:\s+(\d+) kB', read(f'/proc/{pid}/status'), re.M)
        if match:
            key = f'{role} {name.upper()} (KiB)'
            into[key] = into.get(key, 0) + int(match[1])


def own_cgroups(server):
    found = set()
    for directory, names, _ in os.walk(CGROUP):
        found.update(os.path.join(directory, name) for name in names if name.startswith(f'snipara-{server}-'))
    return found


def whole_machine(into):
    """Of everybody here, so only telling when nobody else is at work: a group or namespace that lingers is seen nowhere else."""
    for line in read('/proc/cgroups').splitlines()[1:]:
        name, _, count, _ = line.split()
        if name in ('memory', 'pids'):
            into[f'machine: {name} cgroups, dying ones too'] = int(count)
    dying = re.search(r'^nr_dying_descendants (\d+)$', read(CGROUP / 'cgroup.stat'), re.M)
    if dying:
        into['machine: v2 cgroups that are dying'] = int(dying[1])
    for line in read('/proc/slabinfo').splitlines():
        if line.startswith('net_namespace '):
            into['machine: network namespaces (slab objects)'] = int(line.split()[1])
    for line in read('/proc/meminfo').splitlines():
        if line.startswith('SUnreclaim:'):
            into['machine: slab, unreclaimable (KiB)'] = int(line.split()[1])


def sample(server):
    """Figure -> number."""
    now, who = {}, roles(server)
    for role, pids in who.items():
        now[f'{role} processes'] = len(pids)
        if role == 'jailed':
            continue
        for pid in pids:
            memory(pid, now, role)
            try:
                key = f'{role} descriptors'
                now[key] = now.get(key, 0) + len(os.listdir(f'/proc/{pid}/fd'))
            except OSError:
                pass
            mounts = read(f'/proc/{pid}/mountinfo').count('\n')
            if mounts:
                key = f'{role} mounts'
                now[key] = now.get(key, 0) + mounts
    now['cgroups of the server'] = len(own_cgroups(server))
    whole_machine(now)
    return now


def watch(server, file):
    with open(file, 'w', encoding='utf-8') as out:
        while os.path.exists(f'/proc/{server}/fd/0'):
            began = time.monotonic()
            print(json.dumps({'at': began, **sample(server)}), file=out, flush=True)
            time.sleep(max(0.05, PERIOD - (time.monotonic() - began)))


if __name__ == '__main__':
    os.nice(5)
    watch(int(sys.argv[1]), sys.argv[2])
