package reconcile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/xds"
)

// TestSequences drives the whole line through testdata/sequences: commits go in, a bare ADS client and the statuses in a
// real API server tell what came of them. Each file is a txtar archive: sequence.yaml, and the commits, one file each.
//
// NAMESPACE stands for the test's own. The client acknowledges what it gets unless a step says hold. In names, versions
// and nonces, $x is what a step saved as x, $v and $n are those of the last answer of the type.
func TestSequences(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/sequences/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sequences: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := &runner{product: newProduct(t), files: map[string]string{}, saved: map[string]string{}}
			for _, f := range archive.Files {
				r.files[f.Name] = string(f.Data)
			}
			var steps []step
			if err := yaml.UnmarshalStrict([]byte(r.own(r.files["sequence.yaml"])), &steps); err != nil {
				t.Fatal(err)
			}
			r.start()
			r.run(steps)
		})
	}
}

// runner is one run of a sequence.
type runner struct {
	*product
	files map[string]string
	saved map[string]string
	proxy *proxy
	done  int
}

func (r *runner) run(steps []step) {
	r.t.Helper()
	for _, s := range steps {
		r.done++
		r.t.Logf("step %d: %s", r.done, s.Note)
		r.change(s)
		r.talk(s)
		if s.Status != nil {
			r.shows(*s.Status)
		}
		for range s.Repeat {
			r.run(s.Steps)
		}
	}
}

// change changes the world.
func (r *runner) change(s step) {
	r.t.Helper()
	if s.Restart {
		if r.proxy != nil {
			r.proxy.close()
		}
		r.start()
	}
	for name, addresses := range s.Services {
		r.service(name, addresses...)
	}
	if s.Sync != "" {
		text, ok := r.files[s.Sync]
		if !ok {
			r.t.Fatalf("no file %s", s.Sync)
		}
		files := map[string]string{"shop.yaml": text}
		if s.Expect != nil || s.Order != nil {
			r.offer(files)
		} else {
			r.push(files)
		}
	}
	if s.Ready {
		r.ready(r.repo.head.Commit)
	}
	r.passes(s.Touch)
}

// talk is what the proxy says and hears.
func (r *runner) talk(s step) {
	r.t.Helper()
	before := r.proxy
	if s.Connect {
		if before != nil {
			before.close()
		}
		r.proxy = r.connect("edge", "edge-1")
	}
	for _, short := range s.Resume {
		r.proxy.resume(before, typeOf(r.t, short))
	}
	if s.Subscribe {
		r.proxy.subscribeAll()
	}
	if s.Send != nil {
		r.say(*s.Send)
	}
	if s.Expect != nil {
		r.hear(*s.Expect)
	}
	for _, want := range s.Order {
		r.see(want)
	}
	if s.None != "" {
		d, err := time.ParseDuration(s.None)
		if err != nil {
			r.t.Fatal(err)
		}
		r.proxy.none(d)
	}
}

func (r *runner) say(q request) {
	r.t.Helper()
	typeURL := typeOf(r.t, q.Type)
	req := &discoveryv3.DiscoveryRequest{
		TypeUrl: typeURL, ResourceNames: q.Names,
		VersionInfo: r.value(q.Version, typeURL), ResponseNonce: r.value(q.Nonce, typeURL),
	}
	if q.Error == "" {
		r.proxy.send(req)
		return
	}
	r.proxy.nack(&discoveryv3.DiscoveryResponse{TypeUrl: typeURL, Nonce: req.ResponseNonce}, q.Error)
}

func (r *runner) hear(want expectation) {
	r.t.Helper()
	typeURL := typeOf(r.t, want.Type)
	resp := r.proxy.await(soon)
	if resp == nil || resp.TypeUrl != typeURL {
		r.t.Fatalf("step %d: got %s, want %s", r.done, describe(r.t, resp), want.Type)
	}
	got := names(r.t, resp)
	if want.Names != nil {
		r.same("names", want.Names, got)
	}
	for _, n := range want.NamesInclude {
		if !slices.Contains(got, n) {
			r.t.Fatalf("step %d: %s is not among %v", r.done, n, got)
		}
	}
	if want.Hosts != nil {
		r.same("hosts", want.Hosts, hostsOf(r.t, resp))
	}
	if want.Clusters != nil {
		r.same("clusters", want.Clusters, clustersOf(r.t, resp))
	}
	if want.VersionNot != "" && resp.VersionInfo == r.value(want.VersionNot, typeURL) {
		r.t.Fatalf("step %d: the version is still %s", r.done, resp.VersionInfo)
	}
	r.saved[want.SaveVersion], r.saved[want.SaveNonce] = resp.VersionInfo, resp.Nonce
	if !want.Hold {
		r.proxy.ack(resp)
	}
}

func (r *runner) same(what string, want, got []string) {
	r.t.Helper()
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
		r.t.Fatalf("step %d: %s (-want +got):\n%s", r.done, what, diff)
	}
}

// see reads answers until one is as wanted.
func (r *runner) see(want sight) {
	r.t.Helper()
	typeURL := typeOf(r.t, want.Type)
	for {
		resp := r.proxy.await(soon)
		if resp == nil {
			r.t.Fatalf("step %d: no %s with %q and without %q", r.done, want.Type, want.Has, want.Lacks)
		}
		r.proxy.ack(resp)
		list := names(r.t, resp)
		if resp.TypeUrl == xds.TypeRoute {
			list = clustersOf(r.t, resp)
		}
		if resp.TypeUrl == typeURL && (want.Has == "" || slices.Contains(list, want.Has)) && !slices.Contains(list, want.Lacks) {
			return
		}
	}
}

// shows waits until a status says what it should, and not what it should not.
func (r *runner) shows(want statusWanted) {
	r.t.Helper()
	kind, name, _ := strings.Cut(want.Of, " ")
	if kind == v1alpha1.KindSync {
		name = r.ns
	}
	r.eventually(fmt.Sprintf("the status of %s to contain %q and lack %q", want.Of, want.Contains, want.Lacks), func() (bool, any) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: v1alpha1.Group, Version: "v1alpha1", Kind: kind})
		if err := r.client.Get(r.t.Context(), client.ObjectKey{Namespace: r.ns, Name: name}, u); err != nil {
			return false, err
		}
		b, err := yaml.Marshal(u.Object["status"])
		if err != nil {
			r.t.Fatal(err)
		}
		text := strings.Join(strings.Fields(string(b)), " ")
		return strings.Contains(text, want.Contains) && (want.Lacks == "" || !strings.Contains(text, want.Lacks)), text
	})
}

// value returns what a word of a sequence stands for.
func (r *runner) value(word, typeURL string) string {
	r.t.Helper()
	name, ok := strings.CutPrefix(word, "$")
	if !ok {
		return word
	}
	switch name {
	case "v":
		return r.proxy.last[typeURL].GetVersionInfo()
	case "n":
		return r.proxy.last[typeURL].GetNonce()
	}
	saved, ok := r.saved[name]
	if !ok {
		r.t.Fatalf("nothing was saved as %s", name)
	}
	return saved
}

func typeOf(tb testing.TB, short string) string {
	tb.Helper()
	typeURL, ok := map[string]string{
		"CDS": xds.TypeCluster, "EDS": xds.TypeEndpoint, "LDS": xds.TypeListener, "RDS": xds.TypeRoute,
	}[short]
	if !ok {
		tb.Fatalf("no type %q", short)
	}
	return typeURL
}
