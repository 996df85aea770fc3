package openapi

import (
	"fmt"
	"testing"
)

func TestWhatFitsNoneOfSeveralSchemasIsToldByTheOneThatIsMeant(t *testing.T) {
	const (
		pets = "components: {schemas: {Cat: {type: object, required: [kind, lives], properties: {kind: {type: string}, lives: {type: integer, maximum: 9}}}, " +
			"Dog: {type: object, required: [kind, bark], properties: {kind: {type: string}, bark: {type: boolean}}}}}\n"
		both = "oneOf: [{$ref: \"#/components/schemas/Cat\"}, {$ref: \"#/components/schemas/Dog\"}]"
		told = both + ", discriminator: {propertyName: kind, mapping: {cat: \"#/components/schemas/Cat\"}}"
	)
	for name, c := range map[string]struct{ reason, schema, value, want string }{
		"a mapped name":        {"the discriminator says which", told, `{"kind":"cat","lives":10}`, "[/lives must be at most 9]"},
		"the name of a schema": {"it needs no mapping", told, `{"kind":"Dog"}`, `[must have the property "bark"]`},
		"a name of none":       {"that is what is wrong", told, `{"kind":"cow"}`, `[/kind is "cow", which names none of the schemas of oneOf]`},
		"no name":              {"either may be meant", told, `{"lives":1}`, "[must fit one of the schemas of oneOf]"},
		"no discriminator":     {"either may be meant", both, `{"kind":"cat","lives":10}`, "[must fit one of the schemas of oneOf]"},
		"the only one of the type": {
			"a number cannot be an object", "anyOf: [{type: integer, minimum: 3}, {$ref: \"#/components/schemas/Cat\"}]", "1", "[must be at least 3]",
		},
		"a format":      {"it may be all that tells them apart", "oneOf: [{type: string, format: ipv4}, {type: string, format: ipv6}]", `"::1"`, "[]"},
		"one that fits": {"a discriminator decides nothing about that", told, `{"kind":"cow","lives":1}`, "[]"},
	} {
		root, err := parse(&source{path: "a.yaml"}, []byte(head+"paths: {}\n"+pets+"x-schema: {"+c.schema+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		value, err := Parse([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(NewValidator(root).Validate(root.Member("x-schema"), value, Either)); got != c.want {
			t.Errorf("%s: %s, want %s: %s", name, got, c.want, c.reason)
		}
	}
}

func TestFormatsAreAskedOfWhatWasReceived(t *testing.T) {
	for _, c := range []struct {
		format string
		value  string
		fits   bool
	}{
		{"int32", "2147483647", true},
		{"int32", "2147483648", false},
		{"int32", "1.0", true},
		{"int32", `"x"`, true},
		{"int64", "-9223372036854775808", true},
		{"int64", "9223372036854775808", false},
		{"date", `"2024-02-29"`, true},
		{"date", `"2023-02-29"`, false},
		{"date", `"29.02.2024"`, false},
		{"date", "20240229", true},
		{"date-time", `"2024-02-29T12:00:00.5+01:00"`, true},
		{"date-time", `"2016-12-31t23:59:60z"`, true},
		{"date-time", `"2024-02-29T12:00:00"`, false},
		{"date-time", `"2024-02-29"`, false},
		{"uuid", `"123E4567-e89b-12d3-a456-426614174000"`, true},
		{"uuid", `"123e4567e89b12d3a456426614174000"`, false},
		{"uuid", `"123e4567-e89b-12d3-a456-42661417400g"`, false},
		{"email", `"a@b"`, true},
		{"email", `"a b@c"`, false},
		{"ipv4", `"192.0.2.1"`, true},
		{"ipv4", `"::1"`, false},
		{"ipv6", `"::1"`, true},
		{"ipv6", `"1.2.3.4"`, false},
		{"uri", `"https://example.com/a"`, true},
		{"uri", `"/a"`, false},
		{"of-our-own", `"x"`, true},
	} {
		root, err := parse(&source{path: "a.yaml"}, []byte(head+"paths: {}\nx-schema: {format: "+c.format+"}\n"))
		if err != nil {
			t.Fatal(err)
		}
		value, err := Parse([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		wrong := NewValidator(root).Validate(root.Member("x-schema"), value, Received)
		if (len(wrong) == 0) != c.fits {
			t.Errorf("%s as %s: %v", c.value, c.format, wrong)
		}
		if wrong := NewValidator(root).Validate(root.Member("x-schema"), value, InResponse); len(wrong) > 0 {
			t.Errorf("%s as %s in a response: %v", c.value, c.format, wrong)
		}
	}
}
