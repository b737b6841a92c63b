"""Adds example values of existing things to the parameters of an OpenAPI document: python3 with_examples.py DOCUMENT <VALUES

VALUES is JSON: for the addresses that begin with a path, values of their parameters by name, and under `body` one
of what is sent as JSON. About half of what is made up then has such values, and the other half is as before.
"""

import json
import sys


def with_value(schema, value):
    return {"anyOf": [{"enum": [value]}, schema]}


def fill(operation, values):
    for parameter in operation["parameters"]:
        if parameter["name"] in values:
            value = values[parameter["name"]]
            parameter["schema"] = with_value(parameter["schema"], value)
            parameter["example"] = value
    sent = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if sent and "body" in values:
        sent["example"] = values["body"]


with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
filled = set()
for beginning, values in json.load(sys.stdin).items():
    for path, operations in document["paths"].items():
        if path.startswith(beginning):
            filled.add(beginning)
            for operation in operations.values():
                fill(operation, values)
    if beginning not in filled:
        sys.exit(f"no address begins with {beginning}")
json.dump(document, sys.stdout)
