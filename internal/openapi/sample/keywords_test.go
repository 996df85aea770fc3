package sample

import (
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/openapi"
)

func TestEveryKeywordIsKept(t *testing.T) {
	const animals = "components: {schemas: {" +
		" Pet: {type: object, required: [kind], properties: {kind: {type: string}}, discriminator: {propertyName: kind, mapping: {cat: \"#/components/schemas/Cat\"}}}," +
		" Cat: {allOf: [{$ref: \"#/components/schemas/Pet\"}, {type: object, properties: {meows: {type: boolean}}}]}," +
		" Dog: {type: object, required: [kind], properties: {kind: {type: string}}}}}"
	for name, c := range map[string]struct{ reason, version, schema, want string }{
		"a pattern":                      {"one that matches is made", "3.0.3", "{type: string, pattern: \"^[A-Z]{3}-\\\\d{4}$\"}", `"AAA-0000"`},
		"a pattern and a length":         {"what may be repeated is", "3.0.3", "{type: string, pattern: \"^a+$\", minLength: 5}", `"aaaaaa"`},
		"a pattern of ECMA":              {"a hyphen behind a class, and \\u", "3.0.3", "{type: string, pattern: \"^[\\\\w-.]\\\\u0041$\"}", `"aA"`},
		"bounds of two parts":            {"the strictest count", "3.0.3", "{allOf: [{type: integer, minimum: 3}, {minimum: 7}]}", "7"},
		"steps of two parts":             {"a multiple of each", "3.0.3", "{allOf: [{type: integer, multipleOf: 4, minimum: 1}, {multipleOf: 6}]}", "12"},
		"a narrow span":                  {"between two numbers there is another", "3.1.0", "{type: number, exclusiveMinimum: 0, exclusiveMaximum: 0.001}", "0.0005"},
		"an int64":                       {"every digit", "3.0.3", "{type: integer, format: int64, maximum: -9007199254740993}", "-9007199254740993"},
		"items that differ":              {"uniqueItems", "3.0.3", "{type: array, minItems: 3, uniqueItems: true, items: {type: integer}}", "[0,1,2]"},
		"names that differ":              {"of an enum too", "3.0.3", "{type: array, minItems: 2, uniqueItems: true, items: {type: string, enum: [a, b]}}", `["a","b"]`},
		"an item that must be among":     {"contains", "3.1.0", "{type: array, contains: {type: integer, minimum: 5}}", "[5]"},
		"more properties than names":     {"minProperties", "3.0.3", "{type: object, minProperties: 2, additionalProperties: {type: boolean}}", `{"property1":true,"property2":true}`},
		"fewer properties than names":    {"maxProperties", "3.0.3", "{type: object, maxProperties: 1, required: [b], properties: {a: {type: string}, b: {type: string}}}", `{"b":"string"}`},
		"names by a pattern":             {"patternProperties", "3.1.0", "{type: object, minProperties: 1, patternProperties: {\"^x-\": {type: integer}}, additionalProperties: false}", `{"x-":0}`},
		"what it must not be":            {"not", "3.0.3", "{type: integer, not: {enum: [0, 1]}}", "2"},
		"one of two that overlap":        {"exactly one may fit", "3.0.3", "{oneOf: [{type: integer}, {type: number}]}", "0.5"},
		"one of two names":               {"the other must not be there", "3.0.3", "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}", `{"a":"string"}`},
		"a condition":                    {"then follows from if", "3.1.0", "{type: object, properties: {a: {const: 1}}, required: [a], if: {properties: {a: {const: 1}}}, then: {required: [b], properties: {b: {type: string}}}}", `{"a":1,"b":"string"}`},
		"what another property asks for": {"dependentRequired", "3.1.0", "{type: object, properties: {a: {type: string}}, required: [a], dependentRequired: {a: [b]}}", `{"a":"string","b":{}}`},
		"a value of an enum that fits":   {"the first does not", "3.0.3", "{allOf: [{enum: [a, bb]}, {type: string, minLength: 2}]}", `"bb"`},
		"null in an enum":                {"another value says more", "3.0.3", "{type: string, nullable: true, enum: [null, a]}", `"a"`},
		"what only requests hold":        {"writeOnly is left out of an example too", "3.0.3", "{type: object, properties: {name: {type: string}, password: {type: string, writeOnly: true}}, example: {name: n, password: p}}", `{"name":"n"}`},
		"one of several, told apart":     {"the discriminator says which", "3.0.3", "{oneOf: [{$ref: \"#/components/schemas/Dog\"}], discriminator: {propertyName: kind}}", `{"kind":"Dog"}`},
		"a common base":                  {"by the mapping of the base", "3.0.3", "{$ref: \"#/components/schemas/Cat\"}", `{"kind":"cat","meows":true}`},
		"a long address":                 {"it is still one", "3.0.3", "{type: string, format: email, minLength: 20}", `"useraaaa@example.com"`},
		"nothing else is allowed":        {"unevaluatedProperties", "3.1.0", "{allOf: [{type: object, properties: {a: {type: string}}}], unevaluatedProperties: false}", `{"a":"string"}`},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, c.version, c.schema, animals)
			if got := plain(t, doc); got != c.want {
				t.Errorf("%s: %s, want %s", c.reason, got, c.want)
			}
			fitsItsSchema(t, doc)
		})
	}
}

func TestWhatNothingFitsIsNeverAnswered(t *testing.T) {
	for name, c := range map[string]struct{ schema, want string }{
		"types that exclude each other": {"{allOf: [{type: string}, {type: integer}]}", "no value was found that fits the schema: give an example"},
		"a span of nothing":             {"{type: integer, minimum: 2, maximum: 1}", "no value was found that fits the schema: give an example"},
		"a property that is forbidden": {
			"{type: object, required: [a], properties: {a: {type: object, required: [b], additionalProperties: false}}}",
			"no value was found that fits the schema (/a/b): give an example",
		},
		"more items than there are": {"{type: array, minItems: 3, uniqueItems: true, items: {type: boolean}}", "no value was found that fits the schema: give an example"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := document(t, "3.0.3", c.schema, "")
			root, s := schemaOf(t, doc)
			if b, err := Of(root, s, openapi.InResponse, 0); err == nil || err.Error() != c.want {
				t.Errorf("it answers %s (%v), want the error %s", b, err, c.want)
			}
		})
	}
}

func TestValuesVaryWithTheSeedAndWithNothingElse(t *testing.T) {
	doc := document(t, "3.0.3", "{type: object, required: [id, at, name, kind], properties: {id: {type: integer, minimum: 1, maximum: 9},"+
		" at: {type: string, format: date-time}, name: {type: string, example: Rex}, kind: {enum: [a, b, c]}}}", "")
	root, s := schemaOf(t, doc)
	seen := map[string]bool{}
	const seeds = 50
	for seed := range uint64(seeds) {
		one, err := Of(root, s, openapi.InResponse, seed)
		if err != nil {
			t.Fatal(err)
		}
		if two, _ := Of(root, s, openapi.InResponse, seed); string(one) != string(two) {
			t.Errorf("seed %d makes %s and %s", seed, one, two)
		}
		seen[string(one)] = true
	}
	if len(seen) < seeds/2 {
		t.Errorf("%d seeds make %d values", seeds, len(seen))
	}
}

func TestARequestLeavesOutWhatOnlyAnswersHold(t *testing.T) {
	doc := document(t, "3.0.3", "{type: object, required: [id, name], properties: {id: {type: integer, readOnly: true}, name: {type: string}}}", "")
	root, s := schemaOf(t, doc)
	got, err := Of(root, s, openapi.InRequest, 0)
	if err != nil || strings.Contains(string(got), "id") {
		t.Errorf("a request is %s (%v)", got, err)
	}
}
