package xds

import (
	"cmp"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// group is the proxies that share a node.cluster, and what they are served. All proxies of a group share one served set a
// type; only the book of ACKs is kept for each.
type group struct {
	name    string
	streams map[int64]*stream

	// target is what was published last. goal is where the group is led: target, or an older layer where target was refused.
	target, goal *layer
	// routes is the layer whose listeners and routes are served; under are older ones that a proxy may still hold.
	routes *layer
	under  []*layer
	// history are the layers that were published, as far as one may be needed again; the newest first.
	history []*layer
	// last is how far the group was at the last look; news is set where something happened since.
	last Progress
	news bool
	// against is why goal is not target.
	against []Rejection

	sets     map[string]*set // what is served, by type
	accepted map[string]bool // "type version" that some proxy acknowledged, since target came
	refused  map[refuser]Rejection
	retries  map[content]*retry
	absent   map[string]*absence // by node
}

// layer is one published snapshot, as far as the group needs it.
type layer struct {
	snap Snapshot
	cp   *corev3.ControlPlane
	sets map[string]*set
	// taken are the types that some proxy acknowledged as they are here.
	taken map[string]bool
}

func newGroup(name string) *group {
	g := &group{
		name:     name,
		streams:  map[int64]*stream{},
		sets:     map[string]*set{},
		accepted: map[string]bool{},
		refused:  map[refuser]Rejection{},
		retries:  map[content]*retry{},
		absent:   map[string]*absence{},
	}
	g.sets[TypeRuntime] = newSet(TypeRuntime, nil, nil)
	return g
}

func newLayer(snap Snapshot) *layer {
	l := &layer{snap: snap, cp: &corev3.ControlPlane{Identifier: snap.Commit}, sets: map[string]*set{}, taken: map[string]bool{}}
	for _, typeURL := range served() {
		l.sets[typeURL] = newSet(typeURL, snap.Resources[typeURL], nil)
	}
	l.sets[TypeRoute].refs = snap.Refs
	return l
}

// same reports whether two layers are equal in what proxies see.
func (l *layer) same(snap Snapshot) bool {
	return !slices.ContainsFunc(served(), func(typeURL string) bool {
		return !sameResources(l.snap.Resources[typeURL], snap.Resources[typeURL])
	})
}

func (l *layer) list(typeURL string) []Resource {
	if l == nil {
		return nil
	}
	return l.snap.Resources[typeURL]
}

// serving returns the set of a type that is served now; nil before the first snapshot.
func (g *group) serving(typeURL string) *set { return g.sets[typeURL] }

// serve replaces what is served of a type; equal content changes nothing.
func (g *group) serve(s *set) {
	if old := g.sets[s.typeURL]; old == nil || !sameResources(old.list, s.list) {
		g.sets[s.typeURL] = s
	}
}

// commit is the one that answers are made from.
func (g *group) commit() string {
	if g.goal == nil {
		return ""
	}
	return g.goal.snap.Commit
}

func (g *group) controlPlane() *corev3.ControlPlane {
	if g.goal == nil {
		return nil
	}
	return g.goal.cp
}

// mayHave reports whether a stream may be sent a type now. A proxy that holds routes gets no new ones before it has taken
// the clusters that they may name; one that holds none gets its first as soon as these are on their way.
func (g *group) mayHave(st *stream, sub *subscription) bool {
	clusters, set := st.subs[TypeCluster], g.sets[TypeCluster]
	if sub.typeURL != TypeListener && sub.typeURL != TypeRoute || set == nil {
		return true
	}
	if clusters == nil {
		return !g.silent(st.node) && !st.warms()
	}
	current := clusters.answer(set)
	if sub.acked == nil && sub.presented == "" {
		given := clusters.given()
		return given != nil && given.version == current.version
	}
	return !clusters.owes() && clusters.holds(current)
}

// ordered returns the streams by id, so that no output depends on the order of a map.
func (g *group) ordered() []*stream {
	out := make([]*stream, 0, len(g.streams))
	for _, st := range g.streams {
		out = append(out, st)
	}
	slices.SortFunc(out, func(a, b *stream) int { return cmp.Compare(a.id, b.id) })
	return out
}
