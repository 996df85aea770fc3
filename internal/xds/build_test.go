package xds_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// goldenInput is the first file of a golden case.
type goldenInput struct {
	Live    []desired.Route
	Desired []desired.Route
	// Services by "name" in the namespace shop, port 8080: the addresses that are ready.
	Services map[string][]string
}

// goldenSnapshot is the second: a Snapshot as people read it.
type goldenSnapshot struct {
	Clusters  []json.RawMessage   `json:"clusters,omitempty"`
	Endpoints []json.RawMessage   `json:"endpoints,omitempty"`
	Listeners []json.RawMessage   `json:"listeners,omitempty"`
	Routes    []json.RawMessage   `json:"routes,omitempty"`
	Refs      map[string][]string `json:"refs,omitempty"`
	Held      []string            `json:"held,omitempty"`
	Notes     []string            `json:"notes,omitempty"`
}

func TestBuildMatchesTheGoldenFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/build/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name, got := goldenOutput(t, archive.Files[0].Data)
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: name, Data: got})
				if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 || archive.Files[1].Name != name {
				t.Fatalf("the file lacks %s; run with -update:\n%s", name, got)
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), string(got)); diff != "" {
				t.Errorf("%s (-golden +got):\n%s", name, diff)
			}
		})
	}
}

func goldenOutput(t *testing.T, input []byte) (string, []byte) {
	t.Helper()
	var in goldenInput
	if err := yaml.UnmarshalStrict(input, &in); err != nil {
		t.Fatal(err)
	}
	services := map[string][]xds.Endpoint{}
	for name, addresses := range in.Services {
		services[name] = []xds.Endpoint{}
		for _, a := range addresses {
			services[name] = append(services[name], endpointOf(t, a))
		}
	}
	snap, err := xds.Build(xds.Input{
		Group: testGroup, Live: in.Live, Desired: in.Desired, World: worldOf(services),
	}, nil)
	if err != nil {
		return "error", []byte(err.Error() + "\n")
	}
	out := goldenSnapshot{
		Clusters:  readable(t, snap, xds.TypeCluster),
		Endpoints: readable(t, snap, xds.TypeEndpoint),
		Listeners: readable(t, snap, xds.TypeListener),
		Routes:    readable(t, snap, xds.TypeRoute),
		Refs:      snap.Refs,
	}
	for _, w := range snap.Held {
		out.Held = append(out.Held, w.String())
	}
	for _, n := range snap.Notes {
		out.Notes = append(out.Notes, n.Source.String()+": "+n.Text)
	}
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return "snapshot.yaml", text
}

// readable returns the resources of one type as JSON.
func readable(t *testing.T, snap xds.Snapshot, typeURL string) []json.RawMessage {
	t.Helper()
	var out []json.RawMessage
	for _, r := range snap.Resources[typeURL] {
		m, err := (&anypb.Any{TypeUrl: typeURL, Value: r.Value}).UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		text, err := protojson.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	return out
}

func TestTheOrderOfRoutesAndTargetsChangesNoByte(t *testing.T) {
	t.Parallel()
	routes := []desired.Route{
		routeTo("r.test", "root"), routeTo("r.test", "foo", prefix("/foo")), routeTo("r.test", "exact", exact("/foo/bar")),
		routeTo("r.test", "", prefix("/split"), split(target("a", 1), target("b", 2), target("a", 3))),
		routeTo("s.test", "root"),
	}
	world := worldOf(map[string][]xds.Endpoint{"root": {{Address: "192.0.2.2", Port: 1}, {Address: "192.0.2.1", Port: 1}}})
	before := mustBuild(t, xds.Input{Desired: routes, World: world})

	routes = slices.Clone(routes)
	slices.Reverse(routes)
	for i := range routes {
		routes[i].Backends = slices.Clone(routes[i].Backends)
		slices.Reverse(routes[i].Backends)
		routes[i].Rule = i
	}
	slices.Reverse(world.Services[xds.ServicePort{Key: shop("root"), Port: 8080}].Ready)
	after := mustBuild(t, xds.Input{Desired: routes, World: world})
	if diff := cmp.Diff(before.Resources, after.Resources); diff != "" {
		t.Errorf("resources differ (-before +after):\n%s", diff)
	}
}

// changedTypes lists the types of which the two snapshots differ.
func changedTypes(a, b xds.Snapshot) []string {
	var out []string
	for typeURL := range a.Resources {
		if !cmp.Equal(a.Resources[typeURL], b.Resources[typeURL]) {
			out = append(out, typeURL)
		}
	}
	slices.Sort(out)
	return out
}

func TestOnlyTheTypeThatChangedChanges(t *testing.T) {
	t.Parallel()
	weights := func(stable, canary uint32) []desired.Route {
		return []desired.Route{routeTo("a.example.test", "", split(target("stable", stable), target("canary", canary)))}
	}
	world := worldOf(map[string][]xds.Endpoint{"stable": one("192.0.2.1"), "canary": one("192.0.2.2")})
	first := mustBuild(t, xds.Input{Desired: weights(90, 10), World: world})
	second := mustBuild(t, xds.Input{Live: first.InForce, Desired: weights(80, 20), World: world})
	if got := changedTypes(first, second); !slices.Equal(got, []string{xds.TypeRoute}) {
		t.Errorf("new weights change %v, want the routes alone: listeners would drain at every step", got)
	}
	more := worldOf(map[string][]xds.Endpoint{
		"stable": one("192.0.2.1"), "canary": append(one("192.0.2.2"), one("192.0.2.9")...),
	})
	third := mustBuild(t, xds.Input{Live: second.InForce, Desired: weights(80, 20), World: more})
	if got := changedTypes(second, third); !slices.Equal(got, []string{xds.TypeEndpoint}) {
		t.Errorf("a new endpoint changes %v, want the endpoints alone", got)
	}
	for range 50 {
		again := mustBuild(t, xds.Input{Live: third.InForce, Desired: weights(80, 20), World: more})
		if got := changedTypes(third, again); len(got) > 0 {
			t.Fatalf("no change changes %v", got)
		}
	}
}

func TestAGroupReceivesItsOwnRoutesAlone(t *testing.T) {
	t.Parallel()
	routes := []desired.Route{
		routeTo("all.test", "web"),
		routeTo("edge.test", "web", func(r *desired.Route) { r.Proxies = []string{"edge", "inner"} }),
		routeTo("other.test", "web", func(r *desired.Route) { r.Proxies = []string{"other"} }),
	}
	snap := mustBuild(t, xds.Input{Group: "edge", Desired: routes})
	var hosts []string
	for _, r := range snap.InForce {
		hosts = append(hosts, r.Hosts...)
	}
	if !slices.Equal(hosts, []string{"all.test", "edge.test"}) {
		t.Errorf("edge receives %v, want all.test and edge.test", hosts)
	}
}

func TestConflictsNameBothPlaces(t *testing.T) {
	t.Parallel()
	elsewhere := func(name string) func(*desired.Route) {
		return func(r *desired.Route) {
			r.Source.Name, r.Origin.Path = name, "apps/"+name+".yaml"
		}
	}
	for name, tc := range map[string]struct {
		reason       string
		live, routes []desired.Route
		want         string
	}{
		"one match twice": {
			reason: "which of them wins must not depend on their order",
			routes: []desired.Route{routeTo("a.test", "web"), routeTo("a.test", "api", elsewhere("second"))},
			want: "apps/second.yaml:1: ProxyRoute shop/second: spec.rules[0].match: " +
				"route a.test / is claimed by ProxyRoute shop/a.test too (apps/a.test.yaml:1): let one of them go",
		},
		"one port twice": {
			reason: "the kernel would share connections between the two",
			routes: []desired.Route{routeTo("a.test", "web"), routeTo("b.test", "web", elsewhere("second"), func(r *desired.Route) {
				r.Listener.Name = "second"
			})},
			want: "apps/second.yaml:1: ProxyRoute shop/second: spec.listener: " +
				"listener second: 0.0.0.0:10000 is taken by listener http of ProxyRoute shop/a.test (apps/a.test.yaml:1)",
		},
		"one listener told twice": {
			reason: "a proxy has one listener of a name",
			routes: []desired.Route{routeTo("a.test", "web"), routeTo("b.test", "web", elsewhere("second"), func(r *desired.Route) {
				r.Listener.Port = 8080
			})},
			want: "apps/second.yaml:1: ProxyRoute shop/second: spec.listener: " +
				"listener http is declared otherwise elsewhere: all declarations of one name must agree",
		},
		"two listeners that change places": {
			reason: "Envoy refuses the one that it reads first, and so the whole answer",
			live: []desired.Route{
				routeTo("a.test", "web", onListener("a", 8081)), routeTo("b.test", "web", onListener("b", 8082)),
			},
			routes: []desired.Route{
				routeTo("a.test", "web", onListener("a", 8082)), routeTo("b.test", "web", onListener("b", 8081)),
			},
			want: "apps/a.test.yaml:1: ProxyRoute shop/a.test: spec.listener: listener a: takes 127.0.0.1:8082 from listener b, " +
				"which moves in the same commit: a proxy that has both refuses that; move b in one commit, and a in the next",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := xds.Build(xds.Input{Live: tc.live, Desired: tc.routes}, nil)
			if err == nil || err.Error() != tc.want {
				t.Errorf("got  %v\nwant %s\nbecause %s", err, tc.want, tc.reason)
			}
		})
	}
}
