"""What the project's own checks promise: run by scripts/test with python3 -m unittest."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True


def load(path: Path):
    loader = SourceFileLoader(path.stem, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.stem, loader))
    loader.exec_module(module)
    return module


class Tally(unittest.TestCase):
    def run_tally(self, *cases: str) -> tuple[str, int]:
        """The closing line and exit status for a CTest report of these <testcase> elements."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.xml"
            report.write_text(f"<testsuite>{''.join(cases)}</testsuite>")
            environment = {**os.environ, "TALLY": f"{folder}/tally.jsonl"}
            tally = [sys.executable, str(SCRIPTS / "lib/tally.py")]
            subprocess.run([*tally, "junit", "cpu", str(report)], env=environment, check=True)
            result = subprocess.run([*tally, "total"], env=environment, capture_output=True, text=True)
            return result.stdout.splitlines()[-1], result.returncode

    @staticmethod
    def case(status: str, output: str) -> str:
        return f'<testcase name="ops" status="{status}"><system-out>{output}</system-out></testcase>'

    SUMMARY = "[doctest] test cases: {} | {} passed | {} failed | {} skipped"

    def test_a_doctest_program_counts_as_its_test_cases(self):
        self.assertEqual(self.run_tally(self.case("run", self.SUMMARY.format(7, 7, 0, 2))),
                         ("7 passed, 0 failed, 2 skipped", 0))

    def test_failed_test_cases_are_counted(self):
        self.assertEqual(self.run_tally(self.case("fail", self.SUMMARY.format(7, 5, 2, 0))), ("5 passed, 2 failed", 1))

    def test_a_crash_without_a_summary_is_a_failure(self):
        self.assertEqual(self.run_tally(self.case("fail", "Segmentation fault")), ("0 passed, 1 failed", 1))

    def test_a_crash_after_the_summary_is_a_failure(self):
        self.assertEqual(self.run_tally(self.case("fail", self.SUMMARY.format(7, 7, 0, 0))), ("7 passed, 1 failed", 1))

    def test_a_program_that_was_not_built_is_a_failure(self):
        self.assertEqual(self.run_tally(self.case("notrun", "")), ("0 passed, 1 failed", 1))

    def test_a_message_of_the_validation_layer_is_a_failure(self):
        output = "Validation Error: [ VUID-vkCmdDispatch-None-02697 ] Object 0\n" + self.SUMMARY.format(3, 3, 0, 0)
        self.assertEqual(self.run_tally(self.case("run", output)), ("3 passed, 1 failed", 1))

    def test_a_fault_of_the_validation_layer_itself_is_not_the_programs(self):
        output = "Validation Error: [ UNASSIGNED-VkSemaphore-state-timeout ] Object 0\n" + self.SUMMARY.format(3, 3, 0, 0)
        self.assertEqual(self.run_tally(self.case("run", output)), ("3 passed, 0 failed", 0))

    def test_no_test_at_all_is_a_failure(self):
        with tempfile.NamedTemporaryFile() as file:
            result = subprocess.run([sys.executable, str(SCRIPTS / "lib/tally.py"), "total"],
                                    env={**os.environ, "TALLY": file.name}, capture_output=True, text=True)
        self.assertEqual((result.stdout.splitlines()[-1], result.returncode), ("0 passed, 1 failed", 1))


class Layers(unittest.TestCase):
    def problems(self, path: str, text: str, *others: str) -> list[str]:
        layers = load(SCRIPTS / "check_layers")
        with tempfile.TemporaryDirectory() as folder:
            layers.ROOT = Path(folder)
            file = Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return layers.check_file(Path(path), {Path(path), *map(Path, others)})

    def test_an_include_that_runs_up_is_found(self):
        (problem,) = self.problems("ops/src/a.cpp", "#include <halyard/fusion/plan.h>\n",
                                   "fusion/include/halyard/fusion/plan.h")
        self.assertIn("ops/src/a.cpp:1", problem)

    def test_an_include_that_runs_down_is_right(self):
        self.assertEqual(self.problems("fusion/src/a.cpp", "#include <halyard/ops/graph.h>\n",
                                       "ops/include/halyard/ops/graph.h"), [])

    def test_a_backend_sees_only_hal(self):
        self.assertEqual(len(self.problems("backends/cpu/a.cpp", "#include <halyard/ops/graph.h>\n",
                                           "ops/include/halyard/ops/graph.h")), 1)

    def test_another_components_private_header_is_refused(self):
        self.assertEqual(len(self.problems("fusion/src/a.cpp", '#include "../../ops/src/inner.h"\n', "ops/src/inner.h")), 1)

    def test_a_header_without_pragma_once_is_found(self):
        self.assertEqual(len(self.problems("ops/src/a.h", "struct A;\n")), 1)

    def test_a_public_header_lies_in_its_components_folder(self):
        self.assertEqual(len(self.problems("ops/include/a.h", "#pragma once\n")), 1)


class Drivers(unittest.TestCase):
    def test_with_driver_none_hides_every_vulkan_driver(self):
        result = subprocess.run([SCRIPTS / "with-driver", "none", "--", "env"], capture_output=True, text=True, check=True)
        self.assertIn("VK_DRIVER_FILES=/dev/null", result.stdout.splitlines())

    def test_an_unknown_driver_is_refused_with_the_names_that_exist(self):
        result = subprocess.run([SCRIPTS / "with-driver", "nothing", "--", "true"], capture_output=True, text=True)
        self.assertEqual(result.returncode, 2)
        self.assertIn("nothing is not installed", result.stderr)


class Documents(unittest.TestCase):
    ROOT = SCRIPTS.parent

    def read_in_code(self) -> set[str]:
        pattern = re.compile(r'getenv\("(HALYARD_[A-Z_]+)"\)')
        files = [path for folder in ("hal", "backends", "ops", "fusion", "bindings", "tools", "conformance", "examples")
                 for path in (self.ROOT / folder).rglob("*.cpp")]
        return {name for path in files for name in pattern.findall(path.read_text())}

    def test_every_environment_variable_that_code_reads_is_documented_and_no_other(self):
        documented = set(re.findall(r"`(HALYARD_[A-Z_]+)`", (self.ROOT / "docs/environment.md").read_text()))
        self.assertEqual(self.read_in_code(), documented)

    def test_the_command_lines_of_the_readme_are_whole(self):
        readme = (self.ROOT / "README.md").read_text()
        self.assertNotIn("…", "".join(re.findall(r"```sh\n(.*?)```", readme, re.DOTALL)))


if __name__ == "__main__":
    unittest.main()
