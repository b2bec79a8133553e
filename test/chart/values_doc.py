#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds values.yaml, its schema, its templates and the table in README.md together.

usage: values_doc.py CHART           check
       values_doc.py CHART --write   write the table
       values_doc.py CHART --flips   print "path=value[,path=value]" for each boolean, turned over
"""
import json
import pathlib
import re
import sys

import yaml

BEGIN, END = "<!-- values -->", "<!-- /values -->"


def leaves(node, path=()):
    """(path, value) of every value; a list, an empty map and a free-form map count as one."""
    for key, value in node.items():
        here = (*path, key)
        if isinstance(value, dict) and value and ".".join(here) not in FREE_FORM:
            yield from leaves(value, here)
        else:
            yield here, value


# Maps that are documented and passed on as a whole.
FREE_FORM = {"resources", "scheduler.resources", "podSecurityContext", "securityContext",
             "nodeSelector", "webhook.certManager.issuerRef"}
# What a boolean, turned over, cannot do without.
FLIP_NEEDS = {"serviceAccount.create": "serviceAccount.name=given",
              # What helm makes differs each time; run.sh looks at that by itself.
              "webhook.enabled": "webhook.certManager.enabled=true"}


def comments(text):
    """path -> its "# --" comment, read by indentation."""
    found, stack, pending = {}, [], []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            if stripped.startswith("# -- "):
                pending = [stripped[5:]]
            elif pending:
                pending.append(stripped[2:])
            continue
        match = re.match(r"^( *)([A-Za-z]+):", line)
        if not match:
            pending = []
            continue
        depth = len(match[1]) // 2
        stack = [*stack[:depth], match[2]]
        if pending:
            found[tuple(stack)] = " ".join(pending)
        pending = []
    return found


def in_schema(schema, path):
    """Is the path named by the schema, step by step?"""
    here = schema
    for key in path:
        while "$ref" in here:
            here = schema["definitions"][here["$ref"].rsplit("/", 1)[1]]
        if key not in here.get("properties", {}):
            return False
        here = here["properties"][key]
    return True


def is_used(used, path):
    return any(".".join(path[:length]) in used for length in range(1, len(path) + 1))


def table(values, notes):
    rows = ["| value | default | meaning |", "|---|---|---|"]
    for path, value in leaves(values):
        shown = json.dumps(value, separators=(", ", ": "))
        rows.append(f"| `{'.'.join(path)}` | `{shown}` | {notes.get(path, '')} |")
    return "\n".join(rows)


def main():
    chart = pathlib.Path(sys.argv[1])
    mode = sys.argv[2] if len(sys.argv) > 2 else "--check"
    text = (chart / "values.yaml").read_text()
    values, notes = yaml.safe_load(text), comments(text)
    if mode == "--flips":
        for path, value in leaves(values):
            if isinstance(value, bool):
                name = ".".join(path)
                print(",".join([f"{name}={str(not value).lower()}",
                                *filter(None, [FLIP_NEEDS.get(name)])]))
        return 0

    readme = chart / "README.md"
    before, rest = readme.read_text().split(BEGIN)
    wanted = f"{before}{BEGIN}\n{table(values, notes)}\n{END}{rest.split(END)[1]}"
    if mode == "--write":
        readme.write_text(wanted)
        return 0

    schema = json.loads((chart / "values.schema.json").read_text())
    templates = "".join(file.read_text() for file in (chart / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([A-Za-z.]*[A-Za-z])", templates)) | {"global"}
    problems = []
    for path, _ in leaves(values):
        name = ".".join(path)
        if path not in notes:
            problems.append(f"{name}: no '# --' comment in values.yaml")
        if not in_schema(schema, path):
            problems.append(f"{name}: not in values.schema.json")
        if not is_used(used, path):
            problems.append(f"{name}: no template uses it")
    known = {".".join(path[:n]) for path, _ in leaves(values) for n in range(1, len(path) + 1)}
    problems += [f"{name}: used by a template, not in values.yaml" for name in used - known]
    if readme.read_text() != wanted:
        problems.append("README.md: the table of values is old; run values_doc.py CHART --write")
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


sys.exit(main())
