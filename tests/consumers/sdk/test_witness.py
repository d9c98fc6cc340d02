"""A third family of generators understands the contract: its Java client compiles, and rolls at a table."""

import os
import re
import subprocess
from pathlib import Path

import openapi_generator_cli

from openapi.sdk import generate
from tests.consumers.sdk.test_sdk import GAMES, VAGUE
from tests.tools import tool

HERE = Path(__file__).parent
# The generator's own jar brings the library that its Java client reads JSON with.
JAR = Path(openapi_generator_cli.__file__).with_name("openapi-generator.jar")
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
WRITTEN = "apis,models,supportingFiles,apiDocs=false,modelDocs=false,apiTests=false,modelTests=false"
CALLED = "openApiNullable=false,apiPackage=emberdice.api,modelPackage=emberdice.model,invokerPackage=emberdice"
GENERATED = 'package javax.annotation; public @interface Generated { String[] value(); String comments() default ""; }'


def ran(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout.splitlines()


def generated(folder):
    how = ["--generator-name", "java", "--library", "native", "--global-property", WRITTEN]
    called = ["--additional-properties", f"{CALLED},hideGenerationTimestamp=true"]
    ran(tool("java"), *QUICK, "-jar", JAR, "generate", "--input-spec", generate.CONTRACT, "--output", folder, *how, *called)
    found = [*(folder / "src" / "main" / "java").rglob("*.java")]
    for path in found:
        path.write_text(mended(path.read_text("utf-8")), "utf-8")
    return found


def mended(text):
    """This generator asks for the class of a list by its whole type, and imports the forms that it leaves out."""
    for wrong, right in (
        (r"\bList<\w+>\.class", "List.class"),
        (r"\bgetList<\w+>\(\)", "getList()"),
        (r"(?m)^import emberdice\.model\.\w+Form;$", ""),
    ):
        text = re.sub(wrong, right, text)
    return text


def test_its_client_says_something_compiles_and_rolls_at_a_table(service, tmp_path):
    """One test: nothing is generated twice, however the tests are shared out."""
    sources = generated(tmp_path / "client")
    names = [path.stem for path in sources]
    assert len(names) > 300
    assert [name for name in names if VAGUE.search(GAMES.sub("", name))] == []
    annotation = tmp_path / "javax" / "annotation" / "Generated.java"
    annotation.parent.mkdir(parents=True)
    annotation.write_text(GENERATED)
    classes = tmp_path / "classes"
    quickly = [f"-J{each}" for each in QUICK]
    compiler = [tool("javac"), *quickly, "-nowarn", "-proc:none", "-encoding", "UTF-8", "-cp", JAR, "-d", classes]
    ran(*compiler, *sources, annotation, HERE / "Witness.java")
    path = os.pathsep.join(map(str, (classes, JAR)))
    assert ran(tool("java"), *QUICK, "-Dfile.encoding=UTF-8", "-cp", path, "Witness", service.address) == [
        "Zoé success 1",
        "422",
    ]
