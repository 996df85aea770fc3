package xds

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/desired"
)

// unseen are the fields of a route that change nothing of what is built.
func unseen() map[string]bool {
	return map[string]bool{"Rule": true, "Origin.Path": true, "Origin.Line": true}
}

func TestEveryFieldOfARouteCountsForTheCache(t *testing.T) {
	t.Parallel()
	var a, b desired.Route
	fill(reflect.ValueOf(&a).Elem())
	fill(reflect.ValueOf(&b).Elem())
	if !sameRoute(&a, &b) {
		t.Fatal("equal routes are not the same")
	}
	leaves(reflect.ValueOf(&b).Elem(), "", func(path string, leaf reflect.Value) {
		old := reflect.ValueOf(leaf.Interface())
		leaf.Set(changed(leaf))
		if got := sameRoute(&a, &b); got != unseen()[path] {
			t.Errorf("routes that differ in %s are the same: %t; a stale resource would be served", path, got)
		}
		leaf.Set(old)
	})
}

// fill sets every field that v has, one element a list.
func fill(v reflect.Value) {
	if v.Kind() == reflect.Struct {
		for _, field := range v.Fields() {
			fill(field)
		}
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	}
	if v.Kind() == reflect.Slice {
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	}
}

// leaves calls visit for every scalar in v.
func leaves(v reflect.Value, path string, visit func(path string, leaf reflect.Value)) {
	if v.Kind() == reflect.Struct {
		for field, value := range v.Fields() {
			leaves(value, strings.TrimPrefix(path+"."+field.Name, "."), visit)
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		leaves(v.Elem(), path, visit)
		return
	}
	if v.Kind() == reflect.Slice {
		leaves(v.Index(0), path, visit)
		return
	}
	visit(path, v)
}

func changed(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	switch kind := v.Kind(); {
	case kind == reflect.String:
		out.SetString(v.String() + "x")
	case kind == reflect.Bool:
		out.SetBool(!v.Bool())
	case v.CanInt():
		out.SetInt(v.Int() + 1)
	case v.CanUint():
		out.SetUint(v.Uint() + 1)
	default:
		panic(fmt.Sprintf("no other value of a %s is known", v.Type()))
	}
	return out
}

func TestACacheChangesNothingOfWhatIsBuilt(t *testing.T) {
	t.Parallel()
	var cache Cache
	routes, world := manyRoutes(30)
	steps := []struct {
		name   string
		change func()
	}{
		{"the first", func() {}},
		{"no change", func() {}},
		{"a route", func() { routes = with(routes, 7, func(r *desired.Route) { r.Rewrite.Host = "new.test" }) }},
		{"a target", func() { routes = with(routes, 7, func(r *desired.Route) { r.Backends = routes[8].Backends }) }},
		{"an endpoint", func() {
			world.Services[servicePort(routes[3].Backends[0].Upstream)] = EndpointSet{Ready: []Endpoint{{Address: "192.0.2.9", Port: 1}}}
		}},
		{"a route goes", func() { routes = routes[:29] }},
		{"a route comes", func() { routes, _ = manyRoutes(31) }},
		{"a pending Service", func() {
			routes = with(routes, 5, func(r *desired.Route) { r.Backends[0].Upstream.Pending = true })
		}},
		{"a pending Service goes", func() { delete(world.Services, servicePort(routes[5].Backends[0].Upstream)) }},
	}
	var live []desired.Route
	for _, step := range steps {
		step.change()
		in := Input{Group: "edge", Live: live, Desired: routes, World: world}
		cached, err := Build(in, &cache)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := Build(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fresh, cached); diff != "" {
			t.Errorf("%s (-fresh +cached):\n%s", step.name, diff)
		}
		live = cached.InForce
	}
}

func TestOneRouteThatChangedIsEncodedAlone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 1_000} {
		var cache Cache
		routes, world := manyRoutes(n)
		changed := with(routes, n/2, func(r *desired.Route) { r.Rewrite.Host = "new.test" })
		var memos []*memo
		for _, version := range [][]desired.Route{routes, changed} {
			if _, err := Build(Input{Group: "edge", Live: routes, Desired: version, World: world}, &cache); err != nil {
				t.Fatal(err)
			}
			memos = append(memos, cache.groups["edge"])
		}
		encoded := 0
		for key, h := range memos[1].hosts {
			if !samePlace(h.wire, memos[0].hosts[key].wire) {
				encoded++
			}
		}
		for name, r := range memos[1].clusters {
			if !samePlace(r.Value, memos[0].clusters[name].Value) {
				encoded++
			}
		}
		if encoded != 1 {
			t.Errorf("of %d routes one changed and %d resources were encoded", n, encoded)
		}
	}
}

// with returns routes with one of them changed.
func with(routes []desired.Route, i int, change func(*desired.Route)) []desired.Route {
	out := append([]desired.Route(nil), routes...)
	out[i].Backends = append([]desired.Backend(nil), out[i].Backends...)
	change(&out[i])
	return out
}

// manyRoutes returns n routes of a host and a Service each.
func manyRoutes(n int) ([]desired.Route, World) {
	routes, world := make([]desired.Route, n), World{Services: map[ServicePort]EndpointSet{}}
	for i := range routes {
		name := fmt.Sprintf("service-%05d", i)
		up := desired.Upstream{Service: desired.Key{Namespace: "shop", Name: name}, Port: 8080, Protocol: desired.HTTP1}
		routes[i] = desired.Route{
			Source:   desired.Source{Kind: "ProxyRoute", Key: up.Service},
			Origin:   desired.Origin{Path: "routes/" + name + ".yaml", Line: 1},
			Listener: desired.Listener{Name: "http", Address: "0.0.0.0", Port: 10000},
			Hosts:    []string{name + ".example.test"},
			Match:    desired.Match{PathType: desired.PathPrefix, Path: "/"},
			Backends: []desired.Backend{{Weight: 1, Upstream: up}},
		}
		world.Services[servicePort(up)] = EndpointSet{Ready: []Endpoint{{Address: "192.0.2.1", Port: 8080}}}
	}
	return routes, world
}

// BenchmarkBuild builds n routes of which one has changed since the last time, as a commit does.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		for _, cached := range []bool{false, true} {
			b.Run(fmt.Sprintf("routes=%d/cached=%t", n, cached), func(b *testing.B) {
				routes, world := manyRoutes(n)
				var cache *Cache
				if cached {
					cache = &Cache{}
				}
				versions := [][]desired.Route{routes, with(routes, n/2, func(r *desired.Route) { r.Rewrite.Host = "new.test" })}
				live := routes
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					snap, err := Build(Input{Group: "edge", Live: live, Desired: versions[i%2], World: world}, cache)
					if err != nil {
						b.Fatal(err)
					}
					live = snap.InForce
				}
			})
		}
	}
}
