package apply

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// pointers is a tree of JSON pointers (RFC 6901). nil is the empty tree.
type pointers struct {
	end  bool
	next map[string]*pointers
}

// parseIgnored reads the annotation tidelock.dev/ignore: a JSON list of JSON pointers. An empty text is no pointers.
func parseIgnored(annotation string) (*pointers, error) {
	if annotation == "" {
		return nil, nil //nolint:nilnil // nil is the empty tree, and every method takes it
	}
	var list []string
	if err := json.Unmarshal([]byte(annotation), &list); err != nil {
		return nil, fmt.Errorf("want a JSON list of JSON pointers: %w", err)
	}
	root := &pointers{}
	for _, p := range list {
		if !strings.HasPrefix(p, "/") {
			return nil, fmt.Errorf("%q is no JSON pointer: it begins with /", p)
		}
		at := root
		for segment := range strings.SplitSeq(p[1:], "/") {
			segment = strings.NewReplacer("~1", "/", "~0", "~").Replace(segment)
			if at.next == nil {
				at.next = map[string]*pointers{}
			}
			if at.next[segment] == nil {
				at.next[segment] = &pointers{}
			}
			at = at.next[segment]
		}
		at.end = true
	}
	return root, nil
}

// at returns the pointers below segment, and whether one ends there.
func (p *pointers) at(segment string) (below *pointers, whole bool) {
	if p == nil {
		return nil, false
	}
	below = p.next[segment]
	return below, below != nil && below.end
}

// blank returns v without the values that the pointers lead to.
func (p *pointers) blank(v any) any {
	if p == nil {
		return v
	}
	if p.end {
		return nil
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, item := range v {
			if below, whole := p.at(k); !whole {
				out[k] = below.blank(item)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = p.next[index(i)].blank(item)
		}
		return out
	}
	return v
}

// keep copies the values that the pointers lead to from live into want. What live does not have goes from want too; where
// want has no place for a value it is left out.
func (p *pointers) keep(want, live any) {
	if p == nil {
		return
	}
	for segment, below := range p.next {
		v, found := child(live, segment)
		if !below.end {
			if w, ok := child(want, segment); ok && found {
				below.keep(w, v)
			}
			continue
		}
		put(want, segment, v, found)
	}
}

func child(v any, segment string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		c, ok := v[segment]
		return c, ok
	case []any:
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 && i < len(v) {
			return v[i], true
		}
	}
	return nil, false
}

func put(want any, segment string, v any, found bool) {
	switch want := want.(type) {
	case map[string]any:
		if found {
			want[segment] = v
		} else {
			delete(want, segment)
		}
	case []any:
		if i, err := strconv.Atoi(segment); err == nil && found && i >= 0 && i < len(want) {
			want[i] = v
		}
	}
}

func index(i int) string { return strconv.Itoa(i) }
