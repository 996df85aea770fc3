package xds

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	runtimev3 "github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// served lists the types that are served, in the order in which ADS must send them: what is named before what names it.
func served() []string {
	return []string{TypeRuntime, TypeCluster, TypeEndpoint, TypeSecret, TypeListener, TypeRoute}
}

// isWildcard reports whether a client may ask for all resources of a type by naming none.
func isWildcard(typeURL string) bool { return typeURL == TypeCluster || typeURL == TypeListener }

// set is all resources of one type that a group is served. One set is shared by all proxies of the group; it never
// changes, except that answers remembers what was made of it.
type set struct {
	typeURL string
	list    []Resource // sorted by name
	refs    map[string][]string
	answers map[string]*answer
}

// maxAnswers bounds the memory of a set against a client that asks for ever new lists of names.
const maxAnswers = 64

func newSet(typeURL string, list []Resource, refs map[string][]string) *set {
	return &set{typeURL: typeURL, list: list, refs: refs, answers: map[string]*answer{}}
}

// answer is the content of one response: the resources of a set that a client asked for. Its version is its content, so
// that another replica, or the next process, gives the same one. It is shared and must not be changed.
type answer struct {
	version   string
	hashes    map[string]string // of each resource, by name
	resources []*anypb.Any
	bytes     int // of the resources
	// clusters are those that the answer's routes name.
	clusters []string
}

// question is what a client asks for within one type.
type question struct {
	wildcard bool
	names    []string // sorted
	// public is set where the client may not be sent private keys.
	public bool
}

func (q question) key() string {
	var b strings.Builder
	if q.wildcard {
		b.WriteByte('*')
	}
	if q.public {
		b.WriteByte('!')
	}
	for _, n := range q.names {
		b.WriteByte(0)
		b.WriteString(n)
	}
	return b.String()
}

// answer returns what is sent to a client that asks for q.
func (s *set) answer(q question) *answer {
	key := q.key()
	if a := s.answers[key]; a != nil {
		return a
	}
	a := newAnswer(s, s.selected(q))
	if len(s.answers) < maxAnswers {
		s.answers[key] = a
	}
	return a
}

func (s *set) selected(q question) []Resource {
	var out []Resource
	switch {
	case q.wildcard:
		out = s.list
	default:
		for _, name := range q.names {
			if i, found := s.find(name); found {
				out = append(out, s.list[i])
			} else if s.typeURL == TypeRuntime {
				out = append(out, emptyLayer(name))
			}
		}
	}
	if q.public && s.typeURL == TypeSecret {
		out = slices.DeleteFunc(slices.Clone(out), isPrivate)
	}
	return out
}

func (s *set) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.list, name, func(r Resource, name string) int { return strings.Compare(r.Name, name) })
}

func newAnswer(s *set, list []Resource) *answer {
	a := &answer{hashes: make(map[string]string, len(list)), resources: make([]*anypb.Any, len(list))}
	sum := sha256.New()
	for i, r := range list {
		a.hashes[r.Name] = r.Hash
		a.resources[i] = &anypb.Any{TypeUrl: s.typeURL, Value: r.Value}
		a.bytes += len(r.Value)
		a.clusters = append(a.clusters, s.refs[r.Name]...)
		sum.Write([]byte(r.Name + "\x00" + r.Hash + "\x00"))
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:hashBytes])
	return a
}

// extends reports whether a adds to old a resource that is new or different.
func (a *answer) extends(old *answer) bool {
	if old == nil {
		return len(a.hashes) > 0
	}
	return !a.within(old)
}

// within reports whether every resource of a is in old as it is.
func (a *answer) within(old *answer) bool {
	for name, hash := range a.hashes {
		if old.hashes[name] != hash {
			return false
		}
	}
	return true
}

// after returns what a client holds of a that refused b, an answer with all resources of its type. Envoy takes such an answer
// resource by resource: where more than one differed, some may be in although the whole was refused. What is certain is
// then only what both have, and the rest must be sent again when the group goes back to it.
func (a *answer) after(b *answer) *answer {
	if a == nil {
		return nil
	}
	same := map[string]string{}
	for name, hash := range a.hashes {
		if b.hashes[name] == hash {
			same[name] = hash
		}
	}
	differ := len(a.hashes) - len(same)
	added := len(b.hashes) - len(same)
	if differ == 0 || max(differ, added) < 2 {
		return a
	}
	return &answer{hashes: same, clusters: a.clusters}
}

// emptyLayer is what a proxy gets that asks for a runtime layer which nobody declared: it waits for an answer at its start.
func emptyLayer(name string) Resource {
	// An empty layer always marshals.
	value, _ := proto.MarshalOptions{Deterministic: true}.Marshal(&runtimev3.Runtime{Name: name, Layer: &structpb.Struct{}})
	return resourceOf(name, value)
}

// isPrivate reports whether a Secret holds more than certificates to trust.
func isPrivate(r Resource) bool {
	var s tlsv3.Secret
	if err := proto.Unmarshal(r.Value, &s); err != nil {
		return true
	}
	return s.GetValidationContext() == nil
}

// merged returns the resources of all lists by name; the first list that has a name decides.
func merged(first []Resource, others ...[]Resource) []Resource {
	out := first
	for _, list := range others {
		if len(list) > 0 && !sameResources(list, first) {
			out = slices.Concat(out, list)
		}
	}
	if len(out) == len(first) {
		return first
	}
	slices.SortStableFunc(out, func(a, b Resource) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(out, func(a, b Resource) bool { return a.Name == b.Name })
}

// sameResources compares by name and hash; lists that share their memory are not walked.
func sameResources(a, b []Resource) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(x, y Resource) bool { return x.Name == y.Name && x.Hash == y.Hash })
}
