package openapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described returns a document of a version whose paths, and what may follow them, are given.
func described(version, paths string) string {
	return "openapi: " + version + "\ninfo: {title: t, version: \"1\"}\npaths:\n" + paths
}

func TestAStructureThatTheSpecificationForbidsIsRefused(t *testing.T) {
	const ok = "{responses: {default: {description: d}}}"
	for name, c := range map[string]struct {
		reason, document string
		want             []string
	}{
		"a path without a slash":       {"it can match no request", described("3.0.3", "  a: {get: "+ok+"}\n"), []string{"a.yaml:4: paths.a: a path must begin with a slash"}},
		"a path with a query":          {"it can match no request", described("3.0.3", "  /a?b={b}: {get: "+ok+"}\n"), []string{"a.yaml:4: paths./a?b={b}: a path has no query and no fragment: declare parameters (in: query)"}},
		"a brace that stays open":      {"what is the name?", described("3.0.3", "  \"/{a\": {get: "+ok+"}\n"), []string{"a.yaml:4: paths./{a: the braces of the path do not match"}},
		"templates that are the same":  {"which of them answers?", described("3.0.3", "  /{a}: {get: "+ok+", parameters: [{name: a, in: path, required: true, schema: {}}]}\n  /{b}: {get: "+ok+", parameters: [{name: b, in: path, required: true, schema: {}}]}\n"), []string{"a.yaml:5: paths./{b}.get: the path /{a} claims the same requests"}},
		"a parameter of another path":  {"a request cannot have it", described("3.0.3", "  /a: {get: {parameters: [{name: b, in: path, required: true, schema: {}}], responses: {default: {description: d}}}}\n"), []string{`a.yaml:4: paths./a.get: the parameter "b" is declared in the path, which has no {b}`}},
		"an optional part of a path":   {"there is no such thing", described("3.0.3", "  /{b}: {get: {parameters: [{name: b, in: path, schema: {}}], responses: {default: {description: d}}}}\n"), []string{"a.yaml:4: paths./{b}.get.parameters.b: a parameter in the path must have required: true"}},
		"a parameter twice":            {"which of them counts?", described("3.0.3", "  /a: {get: {parameters: [{name: b, in: query, schema: {}}, {name: b, in: query, schema: {}}], responses: {default: {description: d}}}}\n"), []string{`a.yaml:4: paths./a.get: the parameter "b" (in: query) is declared twice`}},
		"a parameter without a schema": {"nothing is known of it", described("3.0.3", "  /a: {get: {parameters: [{name: b, in: body}], responses: {default: {description: d}}}}\n"), []string{`a.yaml:4: paths./a.get.parameters.b.in: must be one of path, query, header, cookie, and is "body"`, "a.yaml:4: paths./a.get.parameters.b: one of schema and content must be there"}},
		"an operationId twice":         {"clients are made of them", described("3.0.3", "  /a: {get: {operationId: x, responses: {default: {description: d}}}, put: {operationId: x, responses: {default: {description: d}}}}\n"), []string{`a.yaml:4: paths./a.put: the operationId "x" is that of paths./a.get already`}},
		"a status that is none":        {"nothing answers it", described("3.0.3", "  /a: {get: {responses: {ok: {description: d}}}}\n"), []string{`a.yaml:4: paths./a.get: responses: "ok" is no status: want one as "200", "2XX" or "default"`}},
		"a response without a word":    {"the specification wants one", described("3.0.3", "  /a: {get: {responses: {\"200\": {}}}}\n"), []string{`a.yaml:4: paths./a.get 200: the field "description" is missing`}},
		"a version that is a number":   {"1.10 would be 1.1", "openapi: 3.0.3\ninfo: {title: t, version: 1.10}\npaths: {}\n", []string{"a.yaml:2: info.version: must be a text: quote it, and is a number"}},
		"a list of lists":              {"of parameters", described("3.0.3", "  /a: {get: {parameters: [[]], responses: {default: {description: d}}}}\n"), []string{"a.yaml:4: paths./a.get.parameters: must be a map, and is a list"}},
		"no paths in 3.0":              {"they are the API", "openapi: 3.0.3\ninfo: {title: t, version: \"1\"}\n", []string{`a.yaml:1: the field "paths" is missing`}},
		"a type of 3.1 in 3.0":         {"3.0 has nullable", described("3.0.3", "  /a: {get: "+ok+"}\ncomponents: {schemas: {A: {type: \"null\"}, B: {type: [string]}, C: {type: int}}}\n"), []string{`a.yaml:5: components.schemas.A.type: OpenAPI 3.0 has no type "null": write nullable: true`, "a.yaml:5: components.schemas.B.type: must be a text (lists of types came with OpenAPI 3.1), and is a list", `a.yaml:5: components.schemas.C.type: must be one of string, number, integer, boolean, array, object, and is "int"`}},
		"a limit of 3.1 in 3.0":        {"it would limit nothing", described("3.0.3", "  /a: {get: "+ok+"}\ncomponents: {schemas: {A: {exclusiveMinimum: 1}}}\n"), []string{"a.yaml:5: components.schemas.A.exclusiveMinimum: must be true or false in OpenAPI 3.0, beside the limit itself, and is a number"}},
		"a limit of 3.0 in 3.1":        {"it would limit nothing", described("3.1.0", "  /a: {get: "+ok+"}\ncomponents: {schemas: {A: {exclusiveMinimum: true}, B: true}}\n"), []string{"a.yaml:5: components.schemas.A.exclusiveMinimum: must be a number, the limit itself, from OpenAPI 3.1 on, and is a boolean"}},
		"a boolean schema in 3.0":      {"3.1 has them", described("3.0.3", "  /a: {get: "+ok+"}\ncomponents: {schemas: {A: true, B: {additionalProperties: false}}}\n"), []string{"a.yaml:5: components.schemas.A: a schema of OpenAPI 3.0 must be a map, and is a boolean"}},
		"a step of nothing":            {"no number is a multiple of 0", described("3.0.3", "  /a: {get: "+ok+"}\ncomponents: {schemas: {A: {multipleOf: 0}}}\n"), []string{"a.yaml:5: components.schemas.A.multipleOf: must be more than 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": c.document}))
			if diff := cmp.Diff(strings.Join(c.want, "\n"), fmt.Sprint(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestAFieldThatTheSpecificationDoesNotHaveIsPointedOut(t *testing.T) {
	doc, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": described("3.0.3",
		"  /a: {get: {requestBdy: {}, x-mine: 1, responses: {default: {description: d}}}}\ncomponents: {schemas: {A: {const: 1, summary: }}}\n")}))
	if err != nil {
		t.Fatal(err)
	}
	want := `a.yaml:4: paths./a.get: OpenAPI 3.0 has no field "requestBdy" here, so nothing is read from it: did you mean "requestBody"?` + "\n" +
		`a.yaml:5: components.schemas.A: OpenAPI 3.0 has no field "const" here, so nothing is read from it` + "\n" +
		`a.yaml:5: components.schemas.A: OpenAPI 3.0 has no field "summary" here, so nothing is read from it`
	if diff := cmp.Diff(want, doc.Warnings.Error()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestASchemeThatIsNotThereIsPointedOut(t *testing.T) {
	doc, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": described("3.0.3",
		"  /a: {get: {security: [{key: [], kye: []}], responses: {default: {description: d}}}}\n"+
			"security: [{key: []}, {}]\ncomponents: {securitySchemes: {key: {type: apiKey, in: query, name: key}}}\n")}))
	if err != nil {
		t.Fatal(err)
	}
	want := `a.yaml:4: paths./a.get.security: no scheme "kye" is in components.securitySchemes, so it is not asked for`
	if got := doc.Warnings.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestAServerWithAnOddURLIsPointedOut(t *testing.T) {
	for url, want := range map[string]string{
		"api.example.com/v1":     `a.yaml:3: servers.url: "api.example.com/v1" is a path, since it has no scheme: write "https://api.example.com/v1" if its first part is a host`,
		"localhost:8080":         `a.yaml:3: servers.url: "localhost:8080" is a path, since it has no scheme: write "https://localhost:8080" if its first part is a host`,
		"https://a.test/{v}":     `a.yaml:3: servers.url: {v} is no variable of the server, so it stands for itself`,
		"https://{host}.com:{p}": "", "//example.com/v1": "", "/v1.0": "", "./v1": "", "../api": "", "v1/": "",
	} {
		doc, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": head + "servers: [{url: \"" + url + "\"}]\npaths: {}\n"}))
		if err != nil {
			t.Fatal(err)
		}
		if got := doc.Warnings.Error(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestAnExampleOfARequestThatBreaksAFormatIsPointedOut(t *testing.T) {
	doc, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": described("3.0.3", "  /a:\n"+
		"    post:\n"+
		"      parameters: [{name: day, in: query, schema: {type: string, format: date}, example: today}]\n"+
		"      responses: {default: {description: d, content: {application/json: {schema: {type: string, format: date}, example: today}}}}\n")}))
	if err != nil {
		t.Fatal(err)
	}
	want := "a.yaml:6: paths./a.post.parameters.day example: must be a date, as 2024-01-31 is (format date)"
	if got := doc.Warnings.Error(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestPathsThatDifferInTheirMethodsMayLookTheSame(t *testing.T) {
	const one, two = "{name: one, in: path, required: true, schema: {type: string}}", "{name: two, in: path, required: true, schema: {type: string}}"
	_, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": described("3.0.3",
		"  /{one}: {parameters: ["+one+"], get: {responses: {default: {description: d}}}}\n"+
			"  /{two}: {parameters: ["+two+"], delete: {responses: {default: {description: d}}}}\n")}))
	if err != nil {
		t.Errorf("GitHub's own description has such paths: %v", err)
	}
}

func TestErrorsAreBounded(t *testing.T) {
	schemas := "components:\n  schemas:\n"
	for i := range 3 * maxErrors {
		schemas += fmt.Sprintf("    S%d: {type: string, example: 1}\n", i)
	}
	_, err := Bundle(t.Context(), "a.yaml", reader(map[string]string{"a.yaml": head + "paths: {}\n" + schemas}))
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != maxErrors+1 || lines[maxErrors] != "a.yaml: 200 more errors are not shown" {
		t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
}
