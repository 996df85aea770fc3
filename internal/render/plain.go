package render

import (
	"context"
	"fmt"

	"github.com/tidelock/tidelock/internal/desired"
)

// plain returns the manifests of files. Files that a definition names, here or in built, are none.
func (r *run) plain(ctx context.Context, files []string, built []item) ([]item, error) {
	named := named{}
	r.nameAll(named, built)
	type result struct {
		name string
		parsed
		err      error
		items    []item
		problems desired.Problems
	}
	results := make([]result, 0, len(files))
	for _, name := range files {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		p, err := r.tree.parsed(r.cache, name)
		if err != nil {
			results = append(results, result{name: name, err: err})
			continue
		}
		items, problems := manifests(name, p)
		r.nameAll(named, items)
		results = append(results, result{name: name, parsed: p, items: items, problems: problems})
	}
	var out []item
	for _, res := range results {
		switch {
		case named[res.name]:
			continue
		case res.err != nil:
			if err := r.refuse(desired.Origin{Path: res.name}, res.err); err != nil {
				return nil, err
			}
		}
		out = append(out, res.items...)
		r.problems = append(r.problems, res.problems...)
	}
	return out, nil
}

// manifests returns what a plain file declares. A JSON file that is no manifest (package.json) is nobody's mistake.
func manifests(name string, p parsed) (items []item, problems desired.Problems) {
	for _, f := range p.objects() {
		at := desired.Origin{Path: name, Line: f.line}
		problems = append(problems, desired.Problem{Origin: at, Text: f.text})
	}
	foreign := isJSON(name) && len(p.faults) == 0
	for _, doc := range p.docs {
		at := desired.Origin{Path: name, Line: doc.line}
		m, wrong := newManifest(at, doc.value)
		if wrong != "" {
			foreign = foreign && doc.value["apiVersion"] == nil && doc.value["kind"] == nil
			problems = append(problems, desired.Problem{Origin: at, Text: wrong})
			continue
		}
		foreign = false
		m.node = doc.node
		items = append(items, item{manifest: m, doc: doc})
	}
	if foreign {
		return nil, nil
	}
	return items, problems
}
