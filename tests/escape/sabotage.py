"""The program below the saboteur (saboteur.c): SNIPARA_SABOTEUR names it, or it lies beside this file."""
import json
import os
import pathlib
import re
import shutil
import subprocess

import sandbox

SABOTEUR = shutil.which(os.environ.get('SNIPARA_SABOTEUR', str(pathlib.Path(__file__).with_name('saboteur')))) or ''


def layers_of_the_program():
    text = (sandbox.ROOT / 'supervisor' / 'jail' / 'layers.h').read_text(encoding='utf-8')
    return [name.lower() for name in re.findall(r'^    LAYER_([A-Z_]+),', text, re.M) if name != 'COUNT']


def saboteur(*arguments, **options):
    assert SABOTEUR, 'SNIPARA_SABOTEUR names no program'
    return subprocess.run([SABOTEUR, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=60 * sandbox.SCALE, **options)


class Sabotaged(sandbox.Program):
    """The program below the saboteur, with three policies: `all` requires what the rung has, `unheard` the same but for the listener
    (the saboteur has one of its own when it looks at files), `none` requires nothing."""

    def __init__(self, home, layers):
        super().__init__(home)
        self.layers, self.rules, self.groups = layers, [], []
        directory = home / 'config' / 'snipara-sandbox' / 'policies'
        directory.mkdir(parents=True)
        for name, required in (('all', layers), ('unheard', layers - {'seccomp_notify'}), ('none', set())):
            optional = set(layers_of_the_program()) - required
            (directory / f'{name}.json').write_text(json.dumps({
                'name': name, 'extends': 'default', 'widen': True, 'widen_reason': 'sabotage', 'imports': {'preload': []},
                'layers': {'required': sorted(required), 'optional': sorted(optional)}}))

    def start(self, *arguments, **options):
        real, sandbox.PROGRAM = sandbox.PROGRAM, SABOTEUR
        try:
            if self.groups:
                options['extra_groups'] = self.groups
            return super().start(*self.rules, '--', real, *arguments, **options)
        finally:
            sandbox.PROGRAM = real

    def attempt(self, policy, code):
        """The receipt, and whether the guest ran, by its output and by a file that only an open wall would let it make."""
        marker = f'/tmp/guest-ran-{os.getpid()}'
        text = f'import os\nopen({marker!r}, "w").close()\nos.write(1, b"guest ran\\n")\n{code}'
        receipt = self.exec_json(text, '--policy', policy)
        assert not os.path.exists(marker), 'the guest has written to the host'
        return receipt, 'guest ran' in receipt['stdout']


def named(receipt):
    """A refusal names the step or layer, and the remedy."""
    assert receipt['status'] == 'refused', receipt
    assert receipt['error']['message'] and receipt['backend']['layers'] == [], receipt
    rows = receipt['backend']['missing']
    assert rows and all(row['layer'] and row['reason'] and row['remedy'] for row in rows), rows
    return rows[0]
