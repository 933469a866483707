"""Escape tests use the program, the server and the clean-up checks of tests/integration: its conftest's names are ours."""
import importlib.util
import pathlib

_path = pathlib.Path(__file__).resolve().parent.parent / 'integration' / 'conftest.py'
_spec = importlib.util.spec_from_file_location('integration_conftest', _path)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
globals().update({name: value for name, value in vars(_module).items() if not name.startswith('_')})
