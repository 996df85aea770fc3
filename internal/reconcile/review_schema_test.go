package reconcile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"github.com/tidelock/tidelock/internal/diff"
)

// schemaFile documents what programs read.
const schemaFile = "../../docs/diff.schema.json"

// What programs read is what its schema says, for every golden of a review.
func TestAReviewAsJSONIsAsItsSchemaSays(t *testing.T) {
	t.Parallel()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/review/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := diff.JSON(&out, reviewed(t, versionOf(a, "base"), versionOf(a, "head"))); err != nil {
				t.Fatal(err)
			}
			doc, err := jsonschema.UnmarshalJSON(&out)
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
		})
	}
}

// definition is one object of the schema.
type definition struct {
	Description string   `json:"description"`
	Required    []string `json:"required"`
	Properties  map[string]struct {
		Description string `json:"description"`
		Ref         string `json:"$ref"`
	} `json:"properties"`
}

// Every field that is written is described, required where it is always there, and nothing else is described.
func TestTheSchemaOfAReviewDescribesEveryField(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]definition `json:"$defs"`
	}
	if err := json.Unmarshal(b, &schema); err != nil {
		t.Fatal(err)
	}
	for name, typ := range map[string]reflect.Type{
		"diff": reflect.TypeFor[diff.Diff](), "revision": reflect.TypeFor[diff.Revision](), "problem": reflect.TypeFor[diff.Problem](),
		"step": reflect.TypeFor[diff.Step](), "traffic": reflect.TypeFor[diff.Traffic](), "timing": reflect.TypeFor[diff.Timing](),
		"prune": reflect.TypeFor[diff.Prune](), "brake": reflect.TypeFor[diff.Brake](), "object": reflect.TypeFor[diff.Object](),
		"field": reflect.TypeFor[diff.Field](), "line": reflect.TypeFor[diff.Line](), "reach": reflect.TypeFor[diff.Reach](),
		"host": reflect.TypeFor[diff.HostReach](),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkDefinition(t, schema.Defs[name], typ)
		})
	}
}

func checkDefinition(t *testing.T, def definition, typ reflect.Type) {
	t.Helper()
	if def.Description == "" {
		t.Error("has no description")
	}
	required := map[string]bool{}
	for _, r := range def.Required {
		required[r] = true
	}
	for field := range typ.Fields() {
		name, options, ok := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue // not exported, so not written
		}
		p, has := def.Properties[name]
		if !has || p.Description == "" && p.Ref == "" {
			t.Errorf("%s is not described", name)
		}
		if optional := ok && strings.Contains(options, "omitempty"); optional == required[name] {
			t.Errorf("%s: required is %t, and it may be left out: %t", name, required[name], optional)
		}
		delete(def.Properties, name)
	}
	for name := range def.Properties {
		t.Errorf("%s is described and never written", name)
	}
}
