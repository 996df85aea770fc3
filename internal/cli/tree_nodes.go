package cli

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
)

func (n *node) id() desired.ID {
	return desired.ID{Group: n.Group, Kind: n.Kind, Namespace: n.Namespace, Name: n.Name}
}

func objectNode(id desired.ID, line int) *node {
	return &node{Kind: id.Kind, Group: id.Group, Namespace: id.Namespace, Name: id.Name, Line: line}
}

// planting is a tree while it grows: the files, and the resources of ours that something may hang on.
type planting struct {
	files map[string]*node
	ours  map[desired.Source]*node
}

func newPlanting() planting {
	return planting{files: map[string]*node{}, ours: map[desired.Source]*node{}}
}

// declared hangs an object on its file.
func (p planting) declared(n *node, path string) {
	f := p.file(path)
	f.Children = append(f.Children, n)
	if n.Group == v1alpha1.Group {
		p.ours[desired.Source{Kind: n.Kind, Key: desired.Key{Namespace: n.Namespace, Name: n.Name}}] = n
	}
}

// below hangs what a resource of ours became on it; where that is not there, on the file.
func (p planting) below(n *node, s desired.Source, path string) {
	parent := p.ours[s]
	if parent == nil {
		parent = p.file(path)
	}
	parent.Children = append(parent.Children, n)
}

func (p planting) file(path string) *node {
	f := p.files[path]
	if f == nil {
		f = &node{Path: cmp.Or(path, "(unknown)")}
		p.files[path] = f
	}
	return f
}

// grown returns the files, in order, and what is in each in the order of its lines.
func (p planting) grown() []*node {
	out := make([]*node, 0, len(p.files))
	for _, path := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[path]
		slices.SortStableFunc(f.Children, func(a, b *node) int { return cmp.Compare(a.Line, b.Line) })
		out = append(out, f)
	}
	return out
}

// onlyKind leaves the nodes of a kind, what hangs on them, and what they hang on.
func onlyKind(list []*node, kind string) []*node {
	out := []*node{}
	for _, n := range list {
		if strings.EqualFold(n.Kind, kind) {
			out = append(out, n)
		} else if below := onlyKind(n.Children, kind); len(below) > 0 {
			kept := *n
			kept.Children = below
			out = append(out, &kept)
		}
	}
	return out
}

// stateTree is what a commit declares.
func stateTree(state desired.State) []*node {
	p := newPlanting()
	for _, o := range state.Objects {
		if o.Source == (desired.Source{}) {
			p.declared(objectNode(o.ID, o.Origin.Line), o.Origin.Path)
		}
	}
	for _, o := range state.Objects {
		if o.Source != (desired.Source{}) {
			p.below(objectNode(o.ID, 0), o.Source, o.Origin.Path)
		}
	}
	for i := range state.Routes {
		r := &state.Routes[i]
		for _, x := range r.Resources {
			text := x.TypeURL[strings.LastIndexByte(x.TypeURL, '.')+1:] + " " + x.Name
			p.below(&node{Resource: text}, r.Source, r.Origin.Path)
		}
		if len(r.Resources) == 0 {
			p.below(&node{Route: routeText(r)}, r.Source, r.Origin.Path)
		}
	}
	for _, s := range state.Schedules {
		text := strings.TrimSpace(s.Schedule + " " + s.TimeZone)
		p.below(&node{Schedule: text}, desired.Source{Kind: v1alpha1.KindAt, Key: s.Key}, s.Origin.Path)
	}
	return p.grown()
}

// ownedTree is what an instance has in the cluster.
func ownedTree(owned []apply.Owned) []*node {
	p := newPlanting()
	of := func(o apply.Owned, line int) *node {
		n := objectNode(o.ID, line)
		n.Commit, n.Health, n.Message = o.Commit, o.Health, o.HealthMessage
		return n
	}
	for _, o := range owned {
		if o.Source == (desired.Source{}) {
			p.declared(of(o, o.Origin.Line), o.Origin.Path)
		}
	}
	for _, o := range owned {
		if o.Source != (desired.Source{}) {
			p.below(of(o, 0), o.Source, o.Origin.Path)
		}
	}
	return p.grown()
}

// routeText says where requests enter and where they go: "shop.example.com /v1 GET -> Service shop/cart:8080".
func routeText(r *desired.Route) string {
	match := r.Match.String()
	if rest, ok := strings.CutPrefix(match, string(desired.PathPrefix)+" "); ok {
		match = rest
	}
	text := strings.Join(r.Hosts, ",") + " " + match
	if r.Listener.Name != desired.DefaultListener {
		text += " on " + r.Listener.Name
	}
	if len(r.Proxies) > 0 {
		text += " (proxies " + strings.Join(r.Proxies, ",") + ")"
	}
	return text + " -> " + target(r)
}

// target is what a route does with a request.
func target(r *desired.Route) string {
	switch {
	case r.Redirect != nil:
		return fmt.Sprintf("redirect %d", r.Redirect.Code)
	case r.Direct != nil:
		return fmt.Sprintf("answer %d", r.Direct.Status)
	}
	out := make([]string, len(r.Backends))
	for i, b := range r.Backends {
		port := strconv.FormatUint(uint64(b.Upstream.Port), 10)
		switch u := b.Upstream; {
		case u.Address != "":
			out[i] = net.JoinHostPort(u.Address, port)
		default:
			out[i] = "Service " + u.Service.String() + ":" + port
		}
		if len(r.Backends) > 1 {
			out[i] += fmt.Sprintf(" weight %d", b.Weight)
		}
	}
	return strings.Join(out, ", ")
}
