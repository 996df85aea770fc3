package render

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pick returns the document that m was made from: of its kind, and of its name before prefixes, suffixes and hashes.
func pick(docs []document, m manifest) (document, bool) {
	var best document
	score := 0
	for _, doc := range docs {
		if n := likeness(doc, m); n > score {
			best, score = doc, n
		}
	}
	return best, score > 0
}

// likeness says how well doc fits m; 0 where it cannot have become m. A longer common name is better, an equal one best.
func likeness(doc document, m manifest) int {
	gv, err := schema.ParseGroupVersion(doc.text("apiVersion"))
	name := doc.text("metadata", "name")
	if err != nil || gv.Group != m.Group || doc.text("kind") != m.Kind || !strings.Contains(m.Name, name) {
		return 0
	}
	const perLetter, sameNamespace = 4, 2
	n := 1 + perLetter*len(name)
	if doc.text("metadata", "namespace") == m.Namespace {
		n += sameNamespace
	}
	return n
}
