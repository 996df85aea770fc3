package render

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// named holds the files that manifests of ours name: OpenAPI documents, what these refer to, and files of Envoy's own.
type named map[string]bool

// nameAll adds the files that items name.
func (r *run) nameAll(n named, items []item) {
	for _, it := range items {
		if it.Group != v1alpha1.Group {
			continue
		}
		dir := path.Dir(it.origin.Path)
		switch it.Kind {
		case v1alpha1.KindAPIMock:
			if file := textAt(it.content.Object, "spec", "definitionFrom", "file"); file != "" {
				r.nameRefs(n, path.Join(dir, file))
			}
		case v1alpha1.KindEnvoyConfig:
			if file := textAt(it.content.Object, "spec", "file"); file != "" {
				n[path.Join(dir, file)] = true
			}
		}
	}
}

// nameRefs adds an OpenAPI document and the files of the repository that it refers to. What is wrong with them is found
// when the document is read.
func (r *run) nameRefs(n named, file string) {
	if n[file] || len(n) > maxFiles {
		return
	}
	n[file] = true
	p, err := r.tree.parsed(r.cache, file)
	if err != nil {
		return
	}
	for _, doc := range p.docs {
		for _, ref := range refsIn(doc.node, nil, 0) {
			r.nameRefs(n, path.Join(path.Dir(file), ref))
		}
	}
}

// refsIn returns the file part of every $ref and externalValue below n.
func refsIn(n *yaml.Node, refs []string, depth int) []string {
	if depth > maxDepth {
		return refs
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && c.Kind == yaml.ScalarNode {
			key := n.Content[i-1].Value
			file, _, _ := strings.Cut(c.Value, "#")
			if (key == "$ref" || key == "externalValue") && file != "" && !strings.Contains(file, "://") {
				refs = append(refs, file)
			}
		}
		refs = refsIn(c, refs, depth+1)
	}
	return refs
}
