#!/usr/bin/env python3
"""Checks who includes whom: scan.py ROOT prints each breach and exits 1 if there is one."""

import pathlib
import re
import sys

MIDDLE = {"hooks", "init", "optim", "io"}
BELOW_NN = MIDDLE | {"backends", "autograd"}
LIBRARY = BELOW_NN | {"nn", "distributed", "testing"}
# nn may use every layer below it, but only hooks and init are linked to it.
MAY_INCLUDE = {
    "backends": set(),
    "autograd": {"backends"},
    **{name: {"backends", "autograd"} for name in MIDDLE},
    "nn": BELOW_NN - {"optim", "io"},
    "distributed": BELOW_NN | {"nn"},
    "testing": BELOW_NN | {"nn"},
    **{name: LIBRARY for name in ("examples", "docs")},
    # They measure and check what examples build.
    **{name: LIBRARY | {"examples"} for name in ("benchmarks", "tests")},
}
MAY_INCLUDE_ALL = {"examples", "benchmarks", "tests", "docs"}

KOKKOS_HEADERS = {
    "autograd/view_bridge.hpp",
    "autograd/map.hpp",
    *(
        f"backends/{name}.hpp"
        for name in ("serial", "openmp", "cuda", "dispatch", "kokkos_compat", "launch_kokkos")
    ),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]*)>|(".*)|(\w.*))')
CONDITION = re.compile(r"^\s*#\s*(?:if|elif|ifdef|ifndef|elifdef|elifndef)\b(.*)")
BACKEND = re.compile(
    r"KOKKOS_ENABLE_\w+|FARRO_ENABLE_\w+|__CUDA\w*|__NVCC__|__HIP\w*|__SYCL\w*|_OPENMP\b"
)


def breaches_of_line(path, line):
    folder = path.split("/")[0] if "/" in path else ""
    match = INCLUDE.match(line)
    if match:
        target, quoted, _ = match.groups()
        if quoted:
            yield f"{quoted.strip()}: includes are written <farro/…>"
        elif target:
            yield from breaches_of_include(path, folder, target)
    match = CONDITION.match(line)
    if match and folder in LIBRARY - {"backends"}:
        backend = BACKEND.search(match.group(1))
        if backend:
            yield f"a condition on {backend.group(0)} outside backends/"


def breaches_of_include(path, folder, target):
    if target.startswith("Kokkos_Core") and path.endswith(".hpp"):
        public = folder in LIBRARY and "kernels" not in path.split("/")
        if public and path not in KOKKOS_HEADERS:
            yield "a public header may not include Kokkos_Core.hpp"
    if not target.startswith("farro/"):
        return
    if ".." in target.split("/"):
        yield f"<{target}>: a path may not go upward"
    parts = target.split("/")
    if len(parts) == 2:
        if folder in LIBRARY:
            yield f"<{target}>: the umbrella header is for users"
        return
    layer = parts[1]
    if folder == "" or folder == layer:
        return
    if layer not in MAY_INCLUDE.get(folder, set()):
        yield f"<{target}>: {folder} may not include {layer}"


def scan(root):
    """Yields "file:line: what" for each breach under root."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        top = name.split("/")[0]
        if path.suffix not in {".hpp", ".cpp"} or (top not in MAY_INCLUDE and "/" in name):
            continue
        if "includes/sample/" in name:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for breach in breaches_of_line(name, line):
                yield f"{name}:{number}: {breach}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(scan(root))
    for breach in found:
        print(breach)
    print(f"{len(found)} breaches")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
