#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what values.schema.json says of `config` and the program's own table of keys together.

What a key takes is learned from the program's complaint about a value that it does not take.

usage: config_schema.py TOPOFIT CHART           check
       config_schema.py TOPOFIT CHART --write   write that part of the schema
"""
import json
import pathlib
import re
import subprocess
import sys

BEGIN, END = '    "config": {\n', '    "extraArgs": '
# What the chart needs besides: it makes objects of these names.
NARROWER = {
    "leaderElection.name": {"$ref": "#/definitions/objectName"},
    "leaderElection.namespace": {"$ref": "#/definitions/objectName"},
    "webhook.schedulerName": {"type": "string", "maxLength": 63},
}
TEXT = {"type": "string"}
TEXTS = {"type": ["array", "string"], "items": {"type": "string", "minLength": 1}}
DURATION = {"type": "string", "pattern": "^[0-9]{1,9}(ms|s|m)$"}


class Program:
    def __init__(self, path):
        self.path = path

    def run(self, *arguments, text=""):
        return subprocess.run([self.path, "check-config", *arguments], input=text, text=True,
                              capture_output=True, check=False)

    def keys(self):
        return self.run("--list-keys").stdout.split()

    def complaint(self, key, value):
        group, _, name = key.partition(".")
        return self.run("--quiet", "-", text=f"{group}: {{{name}: {value}}}\n").stderr


def rule_of(program, key):
    if key in NARROWER:
        return NARROWER[key]
    said = program.complaint(key, '"?!"')
    if match := re.search(r"expected a number from (\d+) to (\d+)", said):
        return {"type": "integer", "minimum": int(match[1]), "maximum": int(match[2])}
    if "expected a duration" in said:
        return DURATION
    if "expected true or false" in said:
        return {"type": "boolean"}
    if match := re.search(r"expected one of (.*)", said):
        return {"enum": match[1].split(", ")}
    if " expected " in said:
        raise SystemExit(f"{key}: the program expects something this script does not know: {said}")
    return TEXT if "single value" in program.complaint(key, "[a]") else TEXTS


def schema_of(program):
    groups = {}
    for key in program.keys():
        group, _, name = key.partition(".")
        groups.setdefault(group, []).append(f'"{name}": {json.dumps(rule_of(program, key))}')
    lines = ['"type": "object",',
             '"description": "topofit\'s own keys; written by test/chart/config_schema.py.",',
             '"additionalProperties": false,', '"properties": {']
    for number, (group, rules) in enumerate(groups.items(), 1):
        lines += [f'  "{group}": {{', '    "type": "object",', '    "additionalProperties": false,',
                  '    "properties": {']
        lines += [f"      {rule}{',' if place < len(rules) else ''}"
                  for place, rule in enumerate(rules, 1)]
        lines += ["    }", "  }" + ("," if number < len(groups) else "")]
    lines.append("}")
    return BEGIN + "".join(f"      {line}\n" for line in lines) + "    },\n"


def main():
    file = pathlib.Path(sys.argv[2]) / "values.schema.json"
    text = file.read_text()
    before, rest = text.split(BEGIN)
    wanted = before + schema_of(Program(sys.argv[1])) + END + rest.split(END, 1)[1]
    json.loads(wanted)
    if sys.argv[3:] == ["--write"]:
        file.write_text(wanted)
    elif text != wanted:
        print(f"{file}: config is not what the program takes; run test/chart/config_schema.py "
              "TOPOFIT CHART --write")
        return 1
    return 0


sys.exit(main())
