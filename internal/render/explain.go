package render

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

// explain says in words of ours what kustomize found wrong. Its own texts may hold whole objects, Secrets among them.
func explain(err error, top desired.Origin, p *plan) desired.Problems {
	text := err.Error()
	if strings.Contains(text, "ID conflict") || strings.Contains(text, "already registered id") ||
		strings.Contains(text, "multiple matches for Id") {
		if problems := conflicts(text, p); len(problems) > 0 {
			return problems
		}
		return desired.Problems{{Origin: top, Text: "two objects become one: " + sentence(text, p) +
			"; each kind, namespace and name may stand once in a build"}}
	}
	if bad, ok := errors.AsType[*badPath](err); ok {
		return desired.Problems{{Origin: top, Text: bad.Error()}}
	}
	return desired.Problems{{Origin: top, Text: "kustomize: " + sentence(text, p)}}
}

// conflicts names every pair of documents that a build makes one object of. Kustomize's text only tells of which kind and
// name: nothing of it is repeated.
func conflicts(text string, p *plan) desired.Problems {
	type place struct {
		origin    desired.Origin
		namespace string
	}
	byName := map[string][]place{}
	for _, file := range slices.Sorted(maps.Keys(p.docs)) {
		for _, doc := range p.docs[file].docs {
			id := doc.text("kind") + " " + doc.text("metadata", "name")
			if !strings.Contains(text, doc.text("kind")) || !strings.Contains(text, doc.text("metadata", "name")) {
				continue
			}
			byName[id] = append(byName[id], place{
				origin: desired.Origin{Path: file, Line: doc.line}, namespace: doc.text("metadata", "namespace"),
			})
		}
	}
	var out desired.Problems
	for _, id := range slices.Sorted(maps.Keys(byName)) {
		places := byName[id]
		for i := 1; i < len(places); i++ {
			object := id
			if ns := places[i].namespace; ns != "" {
				object = strings.Replace(id, " ", " "+ns+"/", 1)
			}
			out = append(out, desired.Problem{Origin: places[i].origin, Object: object, Text: fmt.Sprintf(
				"becomes the same object as %s at %s in this build: rename one, or leave out the namespace that moves both",
				id, places[0].origin)})
		}
	}
	return out
}

// sentence returns kustomize's text without objects, configuration and values of Secrets.
func sentence(text string, p *plan) string {
	text = p.secrets.String(text)
	text = regexp.MustCompile("(?s)`.*?(`|$)").ReplaceAllString(text, "…")
	text = withoutBraces(text)
	// A dump of YAML begins with a line of its own.
	if i := regexp.MustCompile(`\n\s*[\w./-]+:(\s|$)`).FindStringIndex(text); i != nil {
		text = text[:i[0]]
	}
	text = strings.Join(strings.Fields(text), " ")
	text = strings.NewReplacer("'/", "'", `"/`, `"`).Replace(text)
	const longest = 400
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

// withoutBraces puts "…" in the place of everything in braces or in a list of objects.
func withoutBraces(s string) string {
	var b strings.Builder
	depth := 0
	for _, c := range s {
		switch {
		case c == '{':
			if depth++; depth == 1 {
				b.WriteString("…")
			}
		case c == '}' && depth > 0:
			depth--
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}
