//go:build e2e

package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// scene is what a repository declares of traffic, small enough to be changed at random.
type scene struct {
	backends map[string]backend
	hosts    map[string]host
	splits   map[string]map[string]int // weights by backend
	log      bool                      // whether listeners write an access log
	made     int                       // how many names were given
}

// backend answers with its text.
type backend struct {
	kind    string // mock, service, address
	spot    int    // the server behind a service or an address
	text    string // what a mock answers
	timeout int    // for connections, in seconds
}

// host is one host of one listener, in a ProxyRoute of its own.
type host struct {
	route    string // name of the ProxyRoute
	listener int
	to, deep string // backend or split behind / and behind /deep
	timeout  int    // of requests, in seconds
}

func newScene(r *rand.Rand) *scene {
	s := &scene{backends: map[string]backend{}, hosts: map[string]host{}, splits: map[string]map[string]int{}}
	for _, kind := range kinds() {
		s.backend(r, kind)
	}
	for range 4 {
		s.host(r, 0)
	}
	s.weigh(r)
	return s
}

func kinds() []string { return []string{"mock", "service", "address"} }

// spots is how many servers the test has.
const spots = 6

func (s *scene) name(kind string) string {
	s.made++
	return fmt.Sprintf("%s-%d", kind, s.made)
}

func (s *scene) backend(r *rand.Rand, kind string) string {
	name := s.name(kind)
	s.backends[name] = backend{kind: kind, spot: r.IntN(spots), text: name, timeout: 5}
	return name
}

func (s *scene) host(r *rand.Rand, listener int) {
	name := s.name("host")
	s.hosts[name] = host{route: "route-" + name, listener: listener, to: pick(r, s.backends), deep: pick(r, s.backends), timeout: 10}
}

// pick returns one name of a map; the same for the same random numbers.
func pick[V any](r *rand.Rand, m map[string]V) string {
	names := slices.Sorted(maps.Keys(m))
	return names[r.IntN(len(names))]
}

// change is a random step, and its name.
func (s *scene) change(r *rand.Rand) string {
	steps := []struct {
		name string
		do   func(*rand.Rand)
	}{
		{"move a host", func(r *rand.Rand) { s.move(r, pick(r, s.backends)) }},
		{"add a backend and move a host there", func(r *rand.Rand) { s.move(r, s.backend(r, kinds()[r.IntN(3)])) }},
		{"rename a backend", s.renameBackend},
		{"remove unused backends", func(*rand.Rand) { s.sweep() }},
		{"edit a backend", s.edit},
		{"add a host", func(r *rand.Rand) { s.host(r, r.IntN(2)) }},
		{"remove a host", s.removeHost},
		{"rename a route", s.renameRoute},
		{"add a split", s.weigh},
		{"change weights", s.reweigh},
		{"change the settings of a route and of a backend", s.tune},
		{"turn the access log on or off", func(*rand.Rand) { s.log = !s.log }},
	}
	step := steps[r.IntN(len(steps))]
	step.do(r)
	return step.name
}

func (s *scene) move(r *rand.Rand, to string) {
	name := pick(r, s.hosts)
	h := s.hosts[name]
	if r.IntN(2) == 0 {
		h.to = to
	} else {
		h.deep = to
	}
	s.hosts[name] = h
}

func (s *scene) renameBackend(r *rand.Rand) {
	old := pick(r, s.backends)
	b := s.backends[old]
	name := s.name(b.kind)
	delete(s.backends, old)
	s.backends[name] = b
	for n, h := range s.hosts {
		h.to, h.deep = renamed(h.to, old, name), renamed(h.deep, old, name)
		s.hosts[n] = h
	}
	for _, weights := range s.splits {
		if w, ok := weights[old]; ok {
			delete(weights, old)
			weights[name] = w
		}
	}
}

func renamed(have, old, name string) string {
	if have == old {
		return name
	}
	return have
}

// sweep removes the splits and then the backends that nothing leads to, but for one.
func (s *scene) sweep() {
	used := map[string]bool{}
	for _, h := range s.hosts {
		used[h.to], used[h.deep] = true, true
	}
	for _, name := range slices.Sorted(maps.Keys(s.splits)) {
		if !used[name] {
			delete(s.splits, name)
			continue
		}
		for b := range s.splits[name] {
			used[b] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.backends)) {
		if !used[name] && len(s.backends) > 1 {
			delete(s.backends, name)
		}
	}
}

func (s *scene) edit(r *rand.Rand) {
	name := pick(r, s.backends)
	b := s.backends[name]
	b.spot, b.text = (b.spot+1+r.IntN(spots-1))%spots, s.name("text")
	s.backends[name] = b
}

func (s *scene) removeHost(r *rand.Rand) {
	const least = 3
	if len(s.hosts) > least {
		delete(s.hosts, pick(r, s.hosts))
	}
}

func (s *scene) renameRoute(r *rand.Rand) {
	name := pick(r, s.hosts)
	h := s.hosts[name]
	h.route = s.name("route")
	s.hosts[name] = h
}

// weigh makes a split of all mocks and services and leads a host to it.
func (s *scene) weigh(r *rand.Rand) {
	weights := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(s.backends)) {
		if s.backends[name].kind != "address" {
			weights[name] = 1 + r.IntN(9)
		}
	}
	if len(weights) == 0 {
		return
	}
	name := s.name("split")
	s.splits[name] = weights
	s.move(r, name)
}

// reweigh changes a split's weights; some become 0, and one never does. A target may go.
func (s *scene) reweigh(r *rand.Rand) {
	if len(s.splits) == 0 {
		return
	}
	weights := s.splits[pick(r, s.splits)]
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		weights[name] = r.IntN(3)
	}
	weights[pick(r, weights)] = 3
	if last := pick(r, weights); weights[last] == 0 {
		delete(weights, last)
	}
}

func (s *scene) tune(r *rand.Rand) {
	name := pick(r, s.hosts)
	h := s.hosts[name]
	h.timeout = 10 + r.IntN(10)
	s.hosts[name] = h
	name = pick(r, s.backends)
	b := s.backends[name]
	b.timeout = 2 + r.IntN(8)
	s.backends[name] = b
}

func spotText(spot int) string { return fmt.Sprintf("spot-%d", spot) }

// stage is where a scene takes place.
type stage struct {
	namespace, address, accessLog string
	ports                         []int // of listeners
	spots                         []int // ports of the servers
}

// manifests are what is pushed for a scene.
func (s *scene) manifests(at stage) string {
	var docs []string
	add := func(format string, args ...any) { docs = append(docs, fmt.Sprintf(format, args...)) }
	for _, name := range slices.Sorted(maps.Keys(s.backends)) {
		switch b := s.backends[name]; b.kind {
		case "mock":
			example := fmt.Sprintf(`{get: {responses: {"200": {description: ok, content: {text/plain: {example: %s}}}}}}`, b.text)
			add("apiVersion: tidelock.dev/v1alpha1\nkind: APIMock\nmetadata: {name: %s, namespace: %s}\nspec:\n  definition: |\n"+
				"    {openapi: 3.0.3, info: {title: m, version: '1'}, paths: {/who: %s, /deep/who: %s}}\n", name, at.namespace, example, example)
		case "service":
			add("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: %s}\nspec: {ports: [{name: http, port: 80}]}\n", name, at.namespace)
			add("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %[1]s, namespace: %[2]s, labels: "+
				"{kubernetes.io/service-name: %[1]s}}\naddressType: IPv4\nports: [{name: http, port: %[3]d}]\n"+
				"endpoints: [{addresses: [%[4]s]}]\n", name, at.namespace, at.spots[b.spot], at.address)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.splits)) {
		var targets []string
		for _, b := range slices.Sorted(maps.Keys(s.splits[name])) {
			targets = append(targets, fmt.Sprintf("{name: %[1]s, %[2]s: %[1]s, weight: %[3]d}", b, s.backends[b].kind, s.splits[name][b]))
		}
		add("apiVersion: tidelock.dev/v1alpha1\nkind: TrafficSplit\nmetadata: {name: %s, namespace: %s}\nspec: {targets: [%s]}\n",
			name, at.namespace, strings.Join(targets, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[name]
		log := ""
		if s.log {
			log = ", accessLog: {path: " + at.accessLog + "}"
		}
		add("apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: %s, namespace: %s}\nspec:\n"+
			"  listener: {name: l%d, address: 127.0.0.1, port: %d%s}\n  hosts: [%s.example.com]\n  rules:\n"+
			"  - {backend: %s, timeout: %ds}\n  - {match: {path: {value: /deep}}, backend: %s}\n",
			h.route, at.namespace, h.listener, at.ports[h.listener], log, name, s.leads(h.to, at), h.timeout, s.leads(h.deep, at))
	}
	return strings.Join(docs, "---\n")
}

// leads is the backend of a rule.
func (s *scene) leads(to string, at stage) string {
	if _, ok := s.splits[to]; ok {
		return fmt.Sprintf("{split: %s}", to)
	}
	b := s.backends[to]
	where := fmt.Sprintf("%s: %s", b.kind, to)
	if b.kind == "address" {
		where = fmt.Sprintf("address: '127.0.0.1:%d'", at.spots[b.spot])
	}
	return fmt.Sprintf("{%s, connectTimeout: %ds}", where, b.timeout)
}
