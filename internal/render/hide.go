package render

import (
	"bytes"
	"io/fs"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

// hidden returns problems without the values of Secrets: what is wrong elsewhere may repeat one, as a host or a field.
func hidden(problems []desired.Problem, secrets *redact.Redactor) []desired.Problem {
	out := make([]desired.Problem, len(problems))
	for i, p := range problems {
		p.Object, p.Field, p.Text = secrets.String(p.Object), secrets.String(p.Field), secrets.String(p.Text)
		out[i] = p
	}
	return out
}

// secretsIn hides the values of the Secrets among objects.
func secretsIn(objects []desired.Object) *redact.Redactor {
	var values []string
	for i := range objects {
		if o := &objects[i]; o.Group == "" && o.Kind == "Secret" {
			values = texts(o.Content.Object["data"], values)
		}
	}
	return redact.New(values...)
}

// secretsOfFiles hides the values of all Secrets that the repository's manifests declare. It reads every manifest, and is
// for a refusal: what was rendered is not all then, and files that were not reached say what is secret too.
func (r *run) secretsOfFiles() *redact.Redactor {
	var values []string
	seen := 0
	_ = fs.WalkDir(r.tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read declares nothing; the refusal itself is what is told
		}
		if seen++; seen > maxFiles {
			return fs.SkipAll
		}
		if d.IsDir() || !isYAML(name) && !isJSON(name) {
			return nil
		}
		data, err := r.tree.ReadFile(name)
		if err != nil || !bytes.Contains(data, []byte("Secret")) {
			return nil //nolint:nilerr // as above
		}
		p, err := r.tree.parsed(r.cache, name)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		for _, doc := range p.docs {
			if textAt(doc.value, "kind") == "Secret" {
				values = texts(doc.value["stringData"], texts(doc.value["data"], values))
			}
		}
		return nil
	})
	return redact.New(values...)
}
