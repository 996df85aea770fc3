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
	splits   map[string]*split
	log      bool // whether listeners write an access log
	made     int  // how many names were given
}

// backend answers with its text.
type backend struct {
	kind    string // mock, service, address
	spot    int    // the server behind a service or an address
	text    string // what a mock answers
	timeout int    // for connections, in seconds
}

// host is one host of one listener. Hosts of one ProxyRoute agree in all but their names.
type host struct {
	route    string // name of the ProxyRoute
	listener int
	to, deep string // backend or split behind / and behind /deep
	timeout  int    // of requests, in seconds
}

func newScene(r *rand.Rand) *scene {
	s := &scene{backends: map[string]backend{}, hosts: map[string]host{}, splits: map[string]*split{}}
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
		{"move a host to a ProxyRoute of its own", s.leave},
		{"move a host to the ProxyRoute of another", s.join},
		{"add a split", s.weigh},
		{"change weights", s.reweigh},
		{"rename a target of a split", s.renameTarget},
		{"add a step that is due soon", s.addStep},
		{"take the steps of a split away", s.dropSteps},
		{"change the settings of a route and of a backend", s.tune},
		{"turn the access log on or off", func(*rand.Rand) { s.log = !s.log }},
	}
	step := steps[r.IntN(len(steps))]
	step.do(r)
	return step.name
}

func (s *scene) move(r *rand.Rand, to string) {
	deep := r.IntN(2) == 0
	s.set(pick(r, s.hosts), func(h *host) {
		if deep {
			h.deep = to
		} else {
			h.to = to
		}
	})
}

// set changes a host, and with it those that share its ProxyRoute.
func (s *scene) set(name string, change func(*host)) {
	route := s.hosts[name].route
	for n, h := range s.hosts {
		if h.route == route {
			change(&h)
			s.hosts[n] = h
		}
	}
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
	for _, sp := range s.splits {
		if w, ok := sp.weights[old]; ok {
			delete(sp.weights, old)
			sp.weights[name] = w
			if r.IntN(2) == 0 { // the target keeps its name
				sp.names[name] = sp.named(old)
			}
			delete(sp.names, old)
			for i := range sp.steps {
				sp.steps[i].to = renamed(sp.steps[i].to, old, name)
			}
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
		for b := range s.splits[name].weights {
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

func (s *scene) leave(r *rand.Rand) {
	name := pick(r, s.hosts)
	h := s.hosts[name]
	h.route = s.name("route")
	s.hosts[name] = h
}

func (s *scene) join(r *rand.Rand) {
	name, to := pick(r, s.hosts), s.hosts[pick(r, s.hosts)]
	if s.hosts[name].listener == to.listener {
		s.hosts[name] = to
	}
}

func (s *scene) tune(r *rand.Rand) {
	timeout := 10 + r.IntN(10)
	s.set(pick(r, s.hosts), func(h *host) { h.timeout = timeout })
	name := pick(r, s.backends)
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
		add("apiVersion: tidelock.dev/v1alpha1\nkind: TrafficSplit\nmetadata: {name: %s, namespace: %s}\nspec: {%s}\n",
			name, at.namespace, s.splits[name].manifest(s.backends))
	}
	for _, hosts := range s.routes() {
		h := s.hosts[hosts[0]]
		log := ""
		if s.log {
			log = ", accessLog: {path: " + at.accessLog + "}"
		}
		add("apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: %s, namespace: %s}\nspec:\n"+
			"  listener: {name: l%d, address: 127.0.0.1, port: %d%s}\n  hosts: [%s]\n  rules:\n"+
			"  - {backend: %s, timeout: %ds}\n  - {match: {path: {value: /deep}}, backend: %s}\n",
			h.route, at.namespace, h.listener, at.ports[h.listener], log, strings.Join(hosts, ".example.com, ")+".example.com", s.leads(h.to, at), h.timeout, s.leads(h.deep, at))
	}
	return strings.Join(docs, "---\n")
}

// routes are the hosts of each ProxyRoute.
func (s *scene) routes() [][]string {
	by := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		route := s.hosts[name].route
		by[route] = append(by[route], name)
	}
	var out [][]string
	for _, route := range slices.Sorted(maps.Keys(by)) {
		out = append(out, by[route])
	}
	return out
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
