package render

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of one YAML document.
const (
	// maxDepth of nested values; the deepest real manifests (CRD schemas) stay under 100.
	maxDepth = 400
	// maxAliased is how many values the aliases of one document may expand to ("billion laughs").
	maxAliased = 100_000
)

// byteOrderMark may stand at the beginning of a file alone.
const byteOrderMark = "\ufeff"

// converter turns a node into JSON types. A converter is for one document.
type converter struct {
	// core reads a node that kustomize made: it goes by YAML 1.2, where only true and false are booleans.
	core    bool
	faults  []fault
	aliased int
	// inAlias counts the aliases that the current value stands in.
	inAlias int
	stopped bool
}

func (c *converter) fail(n *yaml.Node, format string, args ...any) {
	c.faults = append(c.faults, fault{line: n.Line, text: fmt.Sprintf(format, args...)})
}

// stop gives up on the document: more of the same would follow.
func (c *converter) stop(n *yaml.Node, text string) any {
	if !c.stopped {
		c.fail(n, "%s", text)
	}
	c.stopped = true
	return nil
}

func (c *converter) value(n *yaml.Node, depth int) any {
	if c.stopped {
		return nil
	}
	if depth > maxDepth {
		return c.stop(n, fmt.Sprintf("nested more than %d deep", maxDepth))
	}
	if c.inAlias > 0 {
		if c.aliased++; c.aliased > maxAliased {
			return c.stop(n, fmt.Sprintf("aliases expand to more than %d values", maxAliased))
		}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			list = append(list, c.value(item, depth+1))
		}
		return list
	case yaml.AliasNode:
		// An alias that holds itself ends at maxDepth.
		c.inAlias++
		defer func() { c.inAlias-- }()
		return c.value(n.Alias, depth+1)
	case yaml.ScalarNode:
		return c.scalar(n)
	case yaml.DocumentNode:
	}
	return nil
}

func (c *converter) mapping(n *yaml.Node, depth int) map[string]any {
	out := make(map[string]any, len(n.Content)/2)
	seen := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if isMerge(k) {
			merges = append(merges, v)
			continue
		}
		key, ok := c.key(k)
		if !ok {
			continue
		}
		if first, ok := seen[key]; ok {
			c.fail(k, "key %q stands twice in one object, first in line %d", key, first)
			continue
		}
		seen[key] = k.Line
		out[key] = c.value(v, depth+1)
	}
	for _, m := range merges {
		c.merge(out, m, depth)
	}
	return out
}

// merge fills out with the keys of m ("<<") that it does not have; of several, the first wins.
func (c *converter) merge(out map[string]any, m *yaml.Node, depth int) {
	v := c.value(m, depth+1)
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		obj, ok := item.(map[string]any)
		if !ok {
			if !c.stopped {
				c.fail(m, "the merge key << wants an object")
			}
			return
		}
		for k, v := range obj {
			if _, ok := out[k]; !ok {
				out[k] = v
			}
		}
	}
}

func isMerge(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Value == "<<" && k.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0
}

// key returns a key as sigs.k8s.io/yaml spells it in JSON; but one that YAML 1.1 takes for a boolean (on, y) stays the word
// that it is, as with kustomize: who writes y means y, never "true".
func (c *converter) key(at *yaml.Node) (string, bool) {
	k := resolved(at)
	if k == nil || k.Kind != yaml.ScalarNode {
		c.fail(at, "a key must be a string: put {{ ... }} in quotes, or render the template to a file first")
		return "", false
	}
	if strings.HasPrefix(k.Value, byteOrderMark) {
		c.fail(at, "a byte order mark stands in front of this key: remove it (two files were joined)")
		return "", false
	}
	switch v := c.typed(k).(type) {
	case string:
		return v, true
	case bool:
		return k.Value, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		const float32Bits = 32
		return strconv.FormatFloat(v, 'g', -1, float32Bits), true
	}
	c.fail(at, "a key must be a string")
	return "", false
}

// scalar returns a value as it looks after a trip through JSON: a float without a fraction is an integer.
func (c *converter) scalar(n *yaml.Node) any {
	f, ok := c.typed(n).(float64)
	if !ok {
		return c.typed(n)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.fail(n, "JSON has no such number: quote it if it is text")
		return nil
	}
	if f == math.Trunc(f) && math.Abs(f) < math.MaxInt64 {
		return int64(f)
	}
	return f
}

// typed returns string, bool, int64, float64 or nil.
func (c *converter) typed(n *yaml.Node) any {
	const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	tag := n.ShortTag()
	switch {
	case tag == "!!binary":
		b, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			c.fail(n, "!!binary is not base64")
		}
		return string(b)
	case c.core && (tag == "!!str" || tag == "!!timestamp"):
		return n.Value
	case n.Style&yaml.TaggedStyle != 0:
		return c.tagged(n, tag)
	case n.Style&quoted != 0:
		return n.Value
	}
	return resolvePlain(n.Value)
}

// tagged returns the value of a scalar with a tag of its own ("!!str 1").
func (c *converter) tagged(n *yaml.Node, tag string) any {
	if tag == "!!str" {
		return n.Value
	}
	v := resolvePlain(n.Value)
	ok := false
	switch tag {
	case "!!int":
		_, ok = v.(int64)
	case "!!bool":
		_, ok = v.(bool)
	case "!!null":
		ok = v == nil
	case "!!float":
		if i, isInt := v.(int64); isInt {
			v = float64(i)
		}
		_, ok = v.(float64)
	}
	if !ok {
		c.fail(n, "its YAML tag does not fit this value, or is not known: put a value that begins with ! in quotes")
		return nil
	}
	return v
}
