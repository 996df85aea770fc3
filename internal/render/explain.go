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
func explain(err error, top desired.Origin, fsys kustFS, p *plan) desired.Problems {
	text := err.Error()
	if strings.Contains(text, "ID conflict") || strings.Contains(text, "already registered id") ||
		strings.Contains(text, "multiple matches for Id") {
		if problems := conflicts(text, p); len(problems) > 0 {
			return problems
		}
	}
	if bad, ok := errors.AsType[*badPath](err); ok {
		return desired.Problems{{Origin: top, Text: bad.Error()}}
	}
	at, f, found := locate(fsys, p)
	switch {
	case f != nil:
		return desired.Problems{at.problem(f, "kustomize: %s", plainly(sentence(found.Error(), p)))}
	case found != nil:
		top, text = desired.Origin{Path: at.start.Path}, found.Error()
	}
	return desired.Problems{{Origin: top, Text: "kustomize: " + plainly(sentence(text, p))}}
}

const missingPath = "op $1: an object that it patches has no $2: correct the path (op add makes one)"

// plainly says in words of ours what kustomize says most often.
func plainly(text string) string {
	for _, said := range []struct{ by, words string }{
		{`([A-Za-z]+)\.(?:[\w-]+|\[noVer\])\.(?:[\w.-]+|\[noGrp\])/([\w.-]+)\.\[noNs\]`, "$1 $2"},
		{`([A-Za-z]+)\.(?:[\w-]+|\[noVer\])\.(?:[\w.-]+|\[noGrp\])/([\w.-]+)\.([\w-]+)`, "$1 $3/$2"},
		{`^no resource matches strategic merge patch "(.*?)".*`, "there is no $1 to patch: correct kind, name and namespace, or name a target"},
		{` in$`, ""},
		{`.*trouble configuring builtin \w+ with config: …: `, ""},
		{`.*recursed accumulation of path '(.*?)': (.*?)"?$`, "in $1: $2"},
		{`(\w+) operation does not apply: doc is missing path: \W*?([\w/~.-]+).*`, missingPath},
		{`error in (\w+) for path: '(.*?)': Unable to remove nonexistent key.*`, missingPath},
		{`^(?:loading KV pairs: )?(?:configmap|secret) (\S+) illegally repeats the key.*`, "a key of $1 stands twice"},
		{`^nothing selected by (.*):(.*)`, "there is no $1 to copy $2 from"},
		{`^(unable to find field ".*") in replacement target`, "$1 in a target: correct the path, or set options.create"},
		{`^resource with name (\S+) does not match a config.*`, "there is no workload or APIMock $1"},
		{`.*already registered id: ([A-Za-z]+ [\w./-]+).*`, "$1 is in this build already: give it another name, or namePrefix, nameSuffix " +
			"or namespace of its own"},
		{`.*expected kind != 'Component' for path '(.*?)'.*`, "$1 is a component: list it under components"},
		{`.*expected kind 'Component' for path '(.*?)' but got.*`, "$1 is no component: list it under resources"},
		{`.* does not exist; cannot merge or replace`, "nothing makes it before this: a generator that merges or replaces wants one to begin with"},
		{`.* exists; can not use behavior.*`, "something makes it before this already: set behavior to merge or replace, or rename it"},
	} {
		text = regexp.MustCompile(said.by).ReplaceAllString(text, said.words)
	}
	return text
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
			text := fmt.Sprintf("is declared twice, first at %s: remove one", places[0].origin)
			if places[i].namespace != places[0].namespace {
				text = fmt.Sprintf("becomes the same object as %s at %s in this build: rename one, or leave out the namespace that "+
					"moves both", id, places[0].origin)
			}
			out = append(out, desired.Problem{Origin: places[i].origin, Object: object, Text: text})
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
	text = strings.NewReplacer("'/", "'", `"/`, `"`, `\"`, "'").Replace(text)
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
