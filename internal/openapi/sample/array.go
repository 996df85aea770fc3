package sample

import (
	"bytes"
	"slices"

	"github.com/tidelock/tidelock/internal/openapi"
)

// itemSchemas returns the schemas of the item at a place.
func (v view) itemSchemas(i int) []*openapi.Node {
	var out []*openapi.Node
	for _, schema := range v.schemas {
		if prefix := schema.Member("prefixItems").Elements(); i < len(prefix) {
			out = append(out, prefix[i])
		} else if items := schema.Member("items"); items != nil {
			out = append(out, items)
		}
	}
	return out
}

// length returns how many items to make, and how many there have to be.
func (g *generator) length(b []byte, v view) (n, least int) {
	least, most := v.limits("minItems", "maxItems")
	prefix := 0
	for _, p := range v.all("prefixItems") {
		prefix = max(prefix, p.Len())
	}
	if least == 0 && v.keyword("contains") != nil {
		least = g.contained(v)
	}
	n = max(least, 1, prefix)
	if g.random != nil {
		const more = 3
		n += g.random.IntN(more)
	}
	if prefix > 0 && len(v.itemSchemas(prefix)) == 0 {
		n = max(least, prefix)
	}
	if g.lean(b) || len(v.itemSchemas(0)) == 0 && prefix == 0 {
		n = least
	}
	if most >= 0 {
		n = min(n, most)
	}
	return n, least
}

// contained returns how many items have to fit the schema of contains.
func (g *generator) contained(v view) int {
	if !g.v31 || v.keyword("contains") == nil {
		return 0
	}
	return count(v.keyword("minContains"), 1)
}

func (g *generator) array(b []byte, v view) ([]byte, bool) {
	n, least := g.length(b, v)
	special, unique := g.contained(v), v.isTrue("uniqueItems")
	var items [][]byte
	before := g.variant
	defer func() { g.variant = before }()
	b = append(b, '[')
	for i := range n {
		mark := len(b)
		if i > 0 {
			b = append(b, ',')
		}
		of := v.itemSchemas(i)
		if i < special {
			of = append(of, v.all("contains")...)
		}
		var ok bool
		if b, ok = g.item(b, of, i < least, unique, items); ok {
			items = append(items, bytes.TrimPrefix(b[mark:], []byte(",")))
			continue
		}
		if i < least || g.over {
			return b, false
		}
		b = b[:mark]
		break
	}
	return append(b, ']'), true
}

// item appends one item: another one than those before where they have to differ.
func (g *generator) item(b []byte, of []*openapi.Node, needed, unique bool, before [][]byte) ([]byte, bool) {
	const tries = 4
	mark := len(b)
	for range tries {
		var ok bool
		if needed {
			b, ok = g.orNull(b[:mark], of...)
		} else {
			b, ok = g.value(b[:mark], of...)
		}
		if !ok {
			return b, false
		}
		if !unique || !slices.ContainsFunc(before, func(have []byte) bool { return bytes.Equal(have, b[mark:]) }) {
			if unique {
				g.variant++
			}
			return b, true
		}
		g.variant++
	}
	return b, false
}

// isTrue reports whether any schema has a keyword set.
func (v view) isTrue(name string) bool {
	return slices.ContainsFunc(v.all(name), (*openapi.Node).IsTrue)
}
