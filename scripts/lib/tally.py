"""Counts what CTest's JUnit reports and the project's own checks found.

    tally.py record NAME STATUS           appends one check's result ($TALLY names the file)
    tally.py junit LABEL FILE.xml         appends every test of a CTest run
    tally.py total                        prints the failures and, last, `N passed, N failed`; exit status 1 on failure

A doctest program counts as its test cases, taken from doctest's own closing summary; a program that ended without one,
or that failed in spite of one, counts one failure more. A message of the Vulkan validation layer in a program's output
fails the program: the layer reports, but does not stop, what it finds.
"""

import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SUMMARY = re.compile(r"\[doctest\] test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed(?:\s*\|\s*(\d+) skipped)?")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
VALIDATION = re.compile(r"Validation Error: \[ (\S+) \]|(SYNC-HAZARD-[A-Z-]+)")
# What the layer says about itself (docs/software_drivers.md).
LAYER_FAULTS = {"UNASSIGNED-VkSemaphore-state-timeout"}


def append(entry: dict) -> None:
    with open(os.environ["TALLY"], "a") as file:
        file.write(json.dumps(entry) + "\n")


def record(name: str, status: str) -> None:
    failed = int(status) != 0
    append({"name": name, "passed": int(not failed), "failed": int(failed), "skipped": 0, "why": [name] if failed else []})


def count_program(label: str, case: ElementTree.Element) -> dict:
    name = f"{case.get('name')} ({label})"
    output = COLOURS.sub("", "".join(part.text or "" for part in case.iter("system-out")))
    status = case.get("status")
    entry = {"name": name, "passed": 0, "failed": 0, "skipped": 0, "why": []}
    if status in ("notrun", "disabled"):
        entry["failed"] = 1
        entry["why"].append(f"{name}: was not run (not built?)")
        return entry
    for match in SUMMARY.finditer(output):
        entry["passed"] += int(match.group(2))
        entry["failed"] += int(match.group(3))
        entry["skipped"] += int(match.group(4) or 0)
    if entry["failed"]:
        entry["why"].append(f"{name}: {entry['failed']} test cases failed")
    elif status != "run":
        entry["failed"] = 1
        entry["why"].append(f"{name}: failed or crashed")
    elif not SUMMARY.search(output):
        entry["passed"] = 1
    complaints = sorted({match.group(1) or match.group(2) for match in VALIDATION.finditer(output)} - LAYER_FAULTS)
    if complaints:
        entry["failed"] += 1
        entry["why"].append(f"{name}: Vulkan validation: {', '.join(complaints[:8])}")
    return entry


def junit(label: str, path: str) -> None:
    cases = list(ElementTree.parse(path).iter("testcase")) if Path(path).exists() else []
    if not cases:
        record(f"ctest found no test ({label})", "1")
    for case in cases:
        append(count_program(label, case))


def total() -> int:
    entries = [json.loads(line) for line in Path(os.environ["TALLY"]).read_text().splitlines()]
    for entry in entries:
        counts = f"{entry['passed']:5} passed {entry['failed']:3} failed"
        print(f"  {counts}  {entry['name']}")
    for why in (why for entry in entries for why in entry["why"]):
        print(f"FAILED  {why}")
    passed, failed, skipped = (sum(entry[key] for entry in entries) for key in ("passed", "failed", "skipped"))
    if passed + failed == 0:
        failed = 1
        print("FAILED  no test was run")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


def main() -> int:
    command, *rest = sys.argv[1:]
    if command == "total":
        return total()
    {"record": record, "junit": junit}[command](*rest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
