"""Is a receipt right? The schema, the layers of this host's rung, and figures that can be true."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MARGIN_MS = 20.0


class Judge:
    def __init__(self, first):
        import jsonschema  # here: as slow to load as it is slow to run, and only the end of a soak needs it
        with open(ROOT / 'doc' / 'receipt.schema.json', encoding='utf-8') as text:
            schema = json.load(text)
        self.validator = jsonschema.validators.validator_for(schema)(schema)
        # What the host decides is there for all or for none.
        self.layers = promised(first['backend']['rung']) | set(first['backend']['layers'])

    def problems(self, receipt, ms, timeout):
        """Everything that is wrong with the receipt of a call that took `ms` as the client saw it."""
        found = [f'{"/".join(map(str, e.absolute_path))}: {e.message[:200]}' for e in self.validator.iter_errors(receipt)]
        if found:
            return found
        missing = self.layers - set(receipt['backend']['layers'])
        if missing:
            found.append(f'layers that did not stand: {sorted(missing)}')
        found += implausible(receipt, ms, timeout)
        return found


def promised(rung):
    """The layers that doc/HOSTS.md promises on this rung."""
    found, columns = set(), None
    for line in (ROOT / 'doc' / 'HOSTS.md').read_text(encoding='utf-8').splitlines():
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if cells[0] == 'layer':
            columns = cells
        match = re.fullmatch(r'`([a-z_]+)`', cells[0])
        if columns and match:
            if cells[columns.index(rung)] == 'yes':
                found.add(match[1])
    assert len(found) > 10, found
    return found


def implausible(receipt, ms, timeout):
    metrics, limits, found = receipt['metrics'], receipt['limits'], []

    def demand(right, what):
        if not right:
            found.append(f'{what}: {metrics}, {ms:.1f} ms for the client')
    spent = (metrics['wall_ms'] or 0) + (metrics['queue_ms'] or 0)  # a spare jail was set up before the call
    demand(all(value is None or value >= 0 for value in metrics.values() if not isinstance(value, (dict, str))), 'a negative metric')
    demand(spent <= ms + MARGIN_MS, 'the receipt tells of more time than there was')
    if receipt['status'] == 'timeout':
        demand(timeout * 1000 <= metrics['wall_ms'] + 1, 'a time-out before its time')
    if metrics['cpu_user_ms'] is not None:
        # A quota is dealt out per period of 100 ms on each CPU; the kernel's accounts lag by ticks.
        cpu = metrics['cpu_user_ms'] + metrics['cpu_system_ms']
        demand(cpu <= limits['cpus'] * ms * 1.2 + 250, 'more CPU than the quota gives')
    if metrics['memory_peak_bytes'] is not None:
        demand(metrics['memory_peak_bytes'] <= limits['memory_bytes'] + limits['disk_bytes'] + (16 << 20), 'more memory than the limit')
    if metrics['pids_peak'] is not None:
        demand(metrics['pids_peak'] <= limits['pids'] + 1, 'more processes than the limit')
    demand(len(receipt['stdout']) <= limits['output_bytes'] + 4096, 'more output than the limit')
    return found
