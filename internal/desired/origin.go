package desired

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Origin is a place in the repository.
type Origin struct {
	// Path of the file, from the repository's root.
	Path string
	// Line in it, from 1; 0 where none is known (after a patch, only the file is).
	Line int
}

// String returns "apps/shop/route.yaml:12", always as one line of text: a name may hold anything.
func (o Origin) String() string {
	p := o.Path
	if !utf8.ValidString(p) || strings.ContainsFunc(p, unicode.IsControl) {
		p = strconv.Quote(p)
	}
	if o.Line == 0 {
		return p
	}
	return fmt.Sprintf("%s:%d", p, o.Line)
}

// Problem is one thing that is wrong with the repository's content, with its place and how to mend it. It is an error;
// Problems collects many.
type Problem struct {
	Origin
	// Object is "ProxyRoute shop/web", or empty where no object is concerned.
	Object string
	// Field is the path of the field, "spec.rules[0].backend"; empty where the whole is meant.
	Field string
	// Text says what is wrong and how to mend it. It never holds a value of a Secret.
	Text string
}

// Error returns "apps/shop/route.yaml:12: ProxyRoute shop/web: spec.rules[0].backend: no service \"cart\"".
func (p Problem) Error() string {
	parts := make([]string, 0, 4)
	for _, s := range []string{p.String(), p.Object, p.Field, p.Text} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems is every error of a render at once.
type Problems []Problem

// Error returns one line a problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Sorted returns ps in the order of file, line, object, field and text, each once.
func (ps Problems) Sorted() Problems {
	out := slices.Clone(ps)
	slices.SortFunc(out, func(a, b Problem) int {
		return slices.Compare(a.sortKey(), b.sortKey())
	})
	return slices.Compact(out)
}

func (p Problem) sortKey() []string {
	return []string{p.Path, fmt.Sprintf("%08d", p.Line), p.Object, p.Field, p.Text}
}

// Err returns ps sorted as an error, or nil where it is empty.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps.Sorted()
}
