"""Generates the types of documents from ``docs/schemas``, and the types of options from the command line. Needs the
packages that ``scripts/test-python`` installs. ``--check`` only checks that the generated files are up to date."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "flashscope"
DOCUMENTS = ["collection", "collection-prediction", "comparison", "manifest", "matches", "facts", "prediction", "probe"]
DOCUMENTS += ["simulation", "sweep", "trace", "twin", "twin-check", "twin-prediction", "verification", "what-if"]
COMMANDS = ["bench", "compare", "import", "predict", "probe", "query", "simulate", "sweep", "trace collection"]
COMMANDS += ["twin check", "twin fit", "twin predict", "verify", "what-if"]
LIMITS = {"minimum", "maximum", "maxLength"}
# Options that Python hides: arguments, functions or objects of the package replace them.
HIDDEN = {"change", "collection", "json", "list", "name", "drive", "engine", "file", "workload"}
# Commands whose `trace` option is an alias of `workload`.
WORKLOAD_GIVEN = {"predict", "simulate", "twin predict", "what-if"}
# Options that also accept Python objects.
ALSO = {("bench", "trace"): "str | Workload"}


def _native() -> ModuleType:
    """Loads the extension module without the package, which cannot be imported before its files are generated."""
    package = importlib.util.find_spec("flashscope")
    (folder,) = (package and package.submodule_search_locations) or ["flashscope"]
    (library,) = Path(folder).glob("_native.*.so")
    spec = importlib.util.spec_from_file_location("flashscope._native", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documents(folder: Path) -> None:
    """Generates the types of documents as modules in ``folder``."""
    with TemporaryDirectory() as sources:
        _write_schemas(Path(sources))
        subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator"]
            + ["--input", sources, "--input-file-type", "jsonschema", "--output", str(folder)]
            + ["--output-model-type", "dataclasses.dataclass", "--frozen-dataclasses"]
            + ["--target-python-version", "3.10", "--use-union-operator", "--use-standard-collections"]
            + ["--use-schema-description", "--use-field-description", "--disable-timestamp"]
            + ["--enum-field-as-literal", "all", "--formatters", "builtin"],
            check=True,
            stderr=subprocess.DEVNULL,
        )
    # The generator adds a type for the schema `common` itself, which describes no document.
    common = folder / "common.py"
    common.write_text(re.sub(r"Common: TypeAlias = Any\n+", "", common.read_text()))
    (folder / "__init__.py").write_text(
        '"""The types of the documents that commands return: a module for each published schema (``docs/schemas``)."""\n'
    )


def _write_schemas(folder: Path) -> None:
    """Writes the schemas of documents, named as modules, and a schema with the definitions that several of them use."""
    schemas = {name: _read(name) for name in DOCUMENTS}
    definitions = [item for schema in schemas.values() for item in schema["$defs"].items()]
    uses = Counter((name, json.dumps(definition)) for name, definition in definitions)
    common: dict[str, Any] = {}
    for name, schema in schemas.items():
        own = schema["$defs"]
        shared = {name for name in own if uses[name, json.dumps(own[name])] > 1}
        shared -= {name for name in shared & common.keys() if common[name] != own[name]}
        while bound := {name for name in shared if _references(own[name]) - shared}:
            shared -= bound
        common |= {name: own[name] for name in shared}
        schema["$defs"] = {name: definition for name, definition in own.items() if name not in shared}
        _write(folder, name, schema, shared)
    _write(folder, "common", {"title": "Common", "$defs": dict(sorted(common.items()))}, set())


def _write(folder: Path, name: str, schema: Any, shared: set[str]) -> None:
    """Writes a schema. References to shared definitions lead to ``common``."""

    def refer(to: re.Match[str]) -> str:
        return f'"{"common.json" if to[1] in shared else ""}#/$defs/{to[1]}"'

    text = re.sub(r'"#/\$defs/(\w+)"', refer, json.dumps(schema))
    (folder / f"{name.replace('-', '_')}.json").write_text(text)


def _read(name: str) -> Any:
    """Reads a published schema, with the shared definitions that it uses among its own."""
    folder = ROOT / "docs" / "schemas"
    schema = json.loads((folder / f"{name}.schema.json").read_text().replace("common.schema.json#", "#"))
    definitions = json.loads((folder / "common.schema.json").read_text())["$defs"] | schema.pop("$defs", {})
    used: set[str] = set()
    found = _references(schema)
    while found:
        used |= found
        found = {to for name in found for to in _references(definitions[name])} - used
    return _for_types({**schema, "$defs": {name: definitions[name] for name in sorted(used)}})


def _references(schema: Any) -> set[str]:
    """Returns the names of the definitions to which a schema refers."""
    return set(re.findall(r'"\$ref": "#/\$defs/(\w+)"', json.dumps(schema)))


def _for_types(schema: Any) -> Any:
    """Removes limits, which types do not have, and defaults that are objects, which the generator would turn into
    dictionaries."""
    if isinstance(schema, list):
        return [_for_types(item) for item in schema]
    if isinstance(schema, dict):
        kept = {key: value for key, value in schema.items() if key != "default" or not isinstance(value, dict)}
        # A field may have the name of a limit, with a schema as its value.
        kept = {key: value for key, value in kept.items() if key not in LIMITS or isinstance(value, dict)}
        return {key: _for_types(value) for key, value in kept.items()}
    return schema


def options() -> str:
    """Generates the module with the options of commands."""
    lines = ['"""The options of the commands, as in `flashscope COMMAND --help`."""', ""]
    lines += ["from __future__ import annotations", "", "from collections.abc import Sequence"]
    lines += ["from datetime import timedelta", "from os import PathLike", "from typing import Literal, Union", ""]
    lines += ["from typing_extensions import TypedDict", "", "from ._workloads import Workload", ""]
    lines += ["Size = Union[int, str]", '"""Bytes, or a text such as ``4KiB``."""']
    lines += ["Time = Union[timedelta, str]", '"""A time, or a text such as ``1h30m``."""']
    lines += ["Share = Union[float, str]", '"""A share such as ``0.02``, or a text such as ``2%``."""']
    lines += ["Path = Union[str, PathLike[str]]"]
    native = _native()
    for command in COMMANDS:
        lines += ["", "", f"class {command.title().replace(' ', '').replace('-', '')}Options(TypedDict, total=False):"]
        lines += [f'    """Options of `flashscope {command}`."""', ""]
        for name, kind, summary in native.options(command):
            if name not in HIDDEN and not (name == "trace" and command in WORKLOAD_GIVEN):
                lines += [f"    {name}: {ALSO.get((command, name), kind)}", f'    """{summary}"""']
    return "\n".join(lines) + "\n"


def main() -> int:
    with TemporaryDirectory() as folder:
        fresh = Path(folder)
        documents(fresh)
        texts = {PACKAGE / "documents" / path.name: path.read_text() for path in fresh.glob("*.py")}
    texts[PACKAGE / "_options.py"] = options()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        for path in stale:
            print(f"{path} is stale: run `python python/tools/generate.py`", file=sys.stderr)
        return len(stale)
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(texts[path])
    return 0


if __name__ == "__main__":
    sys.exit(main())
