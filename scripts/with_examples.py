"""Adds example values of existing things to the parameters of an OpenAPI document: python3 with_examples.py DOCUMENT <VALUES

VALUES is JSON. It maps the beginning of a path to example values of the parameters by name; the key `body` holds an
example of the JSON body. About half of the generated requests then have these values, and the other half are generated
as before.
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
