"""Holds JSON bodies against the schemas of an OpenAPI document, with jsonschema-rs: nothing of Tidelock is in here.

A line of standard input is a command, answered by a line of standard output:

    {"document": {...}}                                      the document that the next bodies belong to
    {"schema": {...}, "body": "...", "use": "response"}      -> {"errors": [...], "formats": [...], "unable": "..."}

"formats" are errors that only formats are to blame for, "unable" is why the validator cannot read the schema. What OpenAPI 3.0 says in its own way is put into the words of JSON
Schema draft 4, on which it stands. Where the specification can be read in two ways the wider one is taken: a nullable
schema takes null whatever else it says, and with a discriminator one of several that fit may be meant.
"""

import json
import sys
from urllib.parse import unquote

import jsonschema_rs

ONE = (
    "items additionalProperties not contains propertyNames if then else unevaluatedItems unevaluatedProperties contentSchema"
).split()
MANY = "allOf anyOf oneOf prefixItems".split()
NAMED = "properties patternProperties dependentSchemas $defs definitions".split()
BASE = "urn:document"


class Document:
    """The schemas of one document, ready to be referred to."""

    def __init__(self, content):
        self.content = content
        self.old = content["openapi"].startswith("3.0")
        self.registries = {}
        self.validators = {}

    def resolve(self, schema):
        for _ in range(64):
            if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
                break
            at = self.content
            for token in schema["$ref"].removeprefix("#/").split("/"):
                token = unquote(token).replace("~1", "/").replace("~0", "~")
                at = at[int(token) if isinstance(at, list) else token]
            schema = at
        return schema

    def convert(self, schema, use):
        """Returns a schema in the words of JSON Schema, as one side would send its values."""
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$ref"), str) and self.old:
            return {"$ref": BASE + schema["$ref"]}
        out = dict(schema)
        if isinstance(out.get("$ref"), str):
            out["$ref"] = BASE + out["$ref"]
        for key in ONE:
            if key in out:
                out[key] = self.convert(out[key], use)
        for key in MANY:
            if isinstance(out.get(key), list):
                out[key] = [self.convert(part, use) for part in out[key]]
        for key in NAMED:
            if isinstance(out.get(key), dict):
                out[key] = {name: self.convert(part, use) for name, part in out[key].items()}
        if "discriminator" in out and "oneOf" in out:
            out.setdefault("allOf", [])
            out["allOf"] = out["allOf"] + [{"anyOf": out.pop("oneOf")}]
        self.drop_other_side(schema, out, use)
        for key in ("example", "examples", "default", "discriminator", "xml", "id", "$id", "$schema", "$anchor"):
            out.pop(key, None)
        if self.old and out.pop("nullable", False) is True:
            return {"anyOf": [{"enum": [None]}, out]}
        return out

    def drop_other_side(self, schema, out, use):
        """Takes what only the other side sends from the names that are required."""
        flag = "writeOnly" if use == "response" else "readOnly"
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not isinstance(out.get("required"), list):
            return

        def other(name):
            declared = properties.get(name)
            found = self.resolve(declared)
            return any(isinstance(s, dict) and s.get(flag) is True for s in (declared, found))

        required = [name for name in out["required"] if not other(name)]
        out["required"] = required
        if not required:
            del out["required"]

    def registry(self, use):
        if use not in self.registries:
            schemas = self.content.get("components", {}).get("schemas", {})
            whole = {"components": {"schemas": {name: self.convert(s, use) for name, s in schemas.items()}}}
            draft = jsonschema_rs.Draft4 if self.old else jsonschema_rs.Draft202012
            self.registries[use] = jsonschema_rs.Registry([(BASE, whole)], draft=draft)
        return self.registries[use]

    def validator(self, schema, use, formats):
        key = (json.dumps(schema), use, formats)
        if key not in self.validators:
            kind = jsonschema_rs.Draft4Validator if self.old else jsonschema_rs.Draft202012Validator
            self.validators[key] = kind(
                self.convert(schema, use), registry=self.registry(use), validate_formats=formats
            )
        return self.validators[key]

    def check(self, command):
        schema, use, body = command["schema"], command["use"], json.loads(command["body"])
        if self.validator(schema, use, True).is_valid(body):
            return {}
        errors = list(self.validator(schema, use, False).iter_errors(body))
        kind = "errors"
        if not errors:
            errors, kind = list(self.validator(schema, use, True).iter_errors(body)), "formats"
        return {kind: ["/" + "/".join(map(str, e.instance_path)) + " " + e.message[:200] for e in errors[:5]]}


def main():
    document = None
    for line in sys.stdin:
        command = json.loads(line)
        if "document" in command:
            document, answer = Document(command["document"]), {}
        else:
            try:
                answer = document.check(command)
            except Exception as e:  # pylint: disable=broad-except
                answer = {"unable": f"{e!r}"[:300]}
        print(json.dumps(answer), flush=True)


main()
