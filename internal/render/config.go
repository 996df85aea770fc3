package render

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// config is tidelock.yaml, and where its fields stand.
type config struct {
	v1alpha1.Config
	place
}

// config reads tidelock.yaml of the folder root; without one, everything has its default.
func (r *run) config(root string) (config, error) {
	name := path.Join(root, v1alpha1.ConfigFile)
	cfg := config{place: place{start: desired.Origin{Path: name}}}
	p, err := r.tree.parsed(r.cache, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return cfg, nil
	case err != nil:
		return cfg, r.refuse(cfg.start, err)
	}
	for _, f := range p.objects() {
		r.problem(desired.Origin{Path: name, Line: f.line}, f.text)
	}
	switch {
	case len(p.objects()) > 0 || len(p.docs) == 0:
		return cfg, nil
	case len(p.docs) > 1:
		r.problem(desired.Origin{Path: name, Line: p.docs[1].line}, "want one Config, in one YAML document")
		return cfg, nil
	}
	cfg.lines, cfg.start.Line = p.docs[0].node, p.docs[0].line
	before := len(r.problems)
	r.strict(cfg.place, p.docs[0].node, reflect.TypeFor[v1alpha1.Config](), nil)
	data, err := json.Marshal(p.docs[0].value)
	if err == nil {
		err = json.Unmarshal(data, &cfg.Config)
	}
	if err != nil && len(r.problems) == before {
		r.problems = append(r.problems, cfg.problem(mistyped(cfg.lines, err), "%s", typeError(err)))
	}
	misread := len(r.problems) > before
	r.checkConfig(cfg)
	if misread {
		cfg.Config = v1alpha1.Config{} // which folders are meant is not known
	}
	return cfg, nil
}

// strict refuses keys that the type t does not have, with the nearest one that it has, and values of another type.
func (r *run) strict(p place, n *yaml.Node, t reflect.Type, at fieldPath) {
	n = resolved(n)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	var got any
	if n != nil {
		got = (&converter{}).value(n, 0)
	}
	switch {
	case got == nil:
	case goName(reflect.TypeOf(got)) != goName(t):
		text := "want " + goName(t) + ", got " + typeName(got)
		if t.Kind() == reflect.String {
			text += ": put it in quotes"
		}
		r.problems = append(r.problems, p.problem(at, "%s", text))
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for i, item := range n.Content {
			r.strict(p, item, t.Elem(), at.child(i))
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		known := jsonNames(t)
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			f := at.child(name)
			if j := slices.Index(known, name); j >= 0 {
				r.strict(p, n.Content[i+1], t.Field(j).Type, f)
				continue
			}
			if slices.Contains([]string{"ignoreDifferences", "dependsOn"}, name) {
				r.problems = append(r.problems, p.problem(f, "not supported yet"))
				continue
			}
			r.problems = append(r.problems, p.problem(f, "unknown field %q%s", name, didYouMean(name, known)))
		}
	}
}

// checkConfig refuses values that cannot mean anything.
func (r *run) checkConfig(cfg config) {
	refuse := func(f fieldPath, format string, args ...any) {
		r.problems = append(r.problems, cfg.problem(f, format, args...))
	}
	if want := v1alpha1.GroupVersion().String(); cfg.APIVersion != want {
		refuse(field("apiVersion"), "want %s", want)
	}
	if cfg.Kind != v1alpha1.KindConfig {
		refuse(field("kind"), "want %s", v1alpha1.KindConfig)
	}
	if n := cfg.Prune.MaxDeletes; n != nil && *n < 0 {
		refuse(field("prune", "maxDeletes"), "want 0 or more, got %d", *n)
	}
	const most = 100
	if n := cfg.Prune.MaxPercent; n != nil && (*n < 0 || *n > most) {
		refuse(field("prune", "maxPercent"), "want 0 to %d, got %d", most, *n)
	}
}

// brakes returns the brakes of tidelock.yaml with defaults filled in.
func brakes(c v1alpha1.Brakes) desired.Brakes {
	b := desired.DefaultBrakes()
	if c.MaxDeletes != nil {
		b.MaxDeletes = *c.MaxDeletes
	}
	if c.MaxPercent != nil {
		b.MaxPercent = *c.MaxPercent
	}
	b.Approve, b.AllowEmpty = c.Approve, c.AllowEmpty
	return b
}
