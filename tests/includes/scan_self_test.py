#!/usr/bin/env python3
"""The scan finds each kind of breach, and nothing in a tree without one."""

import pathlib
import sys
import tempfile

from scan import scan

GOOD = {
    "farro.hpp": "#include <farro/nn/module.hpp>\n",
    "backends/serial.hpp": "#include <Kokkos_Core.hpp>\n#if defined(KOKKOS_ENABLE_SERIAL)\n#endif\n",
    "backends/kernels/loops.hpp": "#include <Kokkos_Core.hpp>\n",
    "autograd/tensor.hpp": "#include <memory>\n#include <farro/backends/device.hpp>\n",
    "autograd/tensor.cpp": "#include <farro/autograd/tensor.hpp>\n#include <Kokkos_Core.hpp>\n",
    "nn/module.hpp": "#include <farro/hooks/handle.hpp>\n#ifdef NDEBUG\n#endif\n",
    "tests/nn/module_test.cpp": "#include <farro/farro.hpp>\n#include <farro/io/load.hpp>\n",
}
BAD = {
    "backends/device.hpp": "#include <farro/autograd/tensor.hpp>\n",
    "autograd/node.hpp": "#include <farro/nn/module.hpp>\n",
    "hooks/handle.hpp": "#include <farro/init/fan.hpp>\n",
    "optim/adam.cpp": "#include <farro/nn/module.hpp>\n",
    "io/load.cpp": '#include "load.hpp"\n',
    "autograd/tensor.hpp": "#include <Kokkos_Core.hpp>\n",
    "nn/linear.cpp": "#if defined(KOKKOS_ENABLE_CUDA)\n#endif\n",
    "init/fan.cpp": "#ifdef FARRO_ENABLE_CUDA\n#endif\n",
    "nn/module.hpp": "#include <farro/farro.hpp>\n",
    "nn/conv.cpp": "#include <farro/nn/../testing/all.hpp>\n",
    "nn/lstm.cpp": "#include <farro/testing/matchers.hpp>\n",
}


def breaches(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(scan(root))


def main():
    failures = [f"a good tree: {breach}" for breach in breaches(GOOD)]
    failures += [f"not found: {name}" for name, text in BAD.items() if not breaches({name: text})]
    print("\n".join(failures) or "the scan finds what it should")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
