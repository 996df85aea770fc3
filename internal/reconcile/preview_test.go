package reconcile

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/render"
	"github.com/tidelock/tidelock/internal/xds"
	"github.com/tidelock/tidelock/test/env"
)

// preview says what the daemon would do for files, as another process with a clone does.
func (p *product) preview(files map[string]string) diff.Diff {
	p.t.Helper()
	clone := newRepository()
	for commit, tree := range p.repo.trees {
		clone.trees[commit], clone.revs[commit] = tree, p.repo.revs[commit]
	}
	own := make(map[string]string, len(files))
	for name, text := range files {
		own[name] = p.own(text)
	}
	clone.push(own)
	w := &wire{}
	rc := env.Cluster(p.t).Config()
	rc.Wrap(func(rt http.RoundTripper) http.RoundTripper { w.base = rt; return w })
	held, err := apply.New(apply.Config{REST: rc, Owner: p.ns, Namespace: p.ns, Path: p.path, Takeover: true})
	if err != nil {
		p.t.Fatal(err)
	}
	world, err := xds.NewWatcher(rc, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	loop := New(Config{
		Repository: "a clone", Path: p.path, Source: clone, Cluster: held, World: world, Proxies: xds.NewServer(xds.Config{}),
		Render: render.Options{Path: p.path, Cache: render.NewCache()}, Definitions: crds.FS, Version: "v0.1.0",
	})
	ctx, cancel := context.WithCancel(p.t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{held.Run, world.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				p.t.Error(err)
			}
		})
	}
	d, err := loop.Preview(ctx, "instance", "head")
	cancel()
	running.Wait()
	if err != nil {
		p.t.Fatal(err)
	}
	if got := slices.DeleteFunc(w.take(), func(r string) bool {
		return strings.HasPrefix(r, "GET ") || strings.Contains(r, "dryRun=All")
	}); len(got) > 0 {
		p.t.Errorf("a preview has written: %v", got)
	}
	return d
}

// actions are what a Diff plans, without the instance's namespace.
func (p *product) actions(d diff.Diff) []string {
	var out []string
	for _, s := range d.Plan {
		out = append(out, string(s.Action)+" "+s.Kind+" "+s.Name)
	}
	slices.Sort(out)
	return out
}

func (p *product) text(d diff.Diff) string {
	p.t.Helper()
	var b bytes.Buffer
	if err := diff.Text(&b, d, false); err != nil {
		p.t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), p.ns, "NS")
}

func manifest(name, extra string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: NAMESPACE}\n" + extra + "\n---\n"
}

// once is one run of tidelock apply: a life that ends when the newest commit is in.
func (p *product) applyOnce(files map[string]string) []string {
	p.t.Helper()
	p.offer(files)
	done := make(chan error, 1)
	p.drive = func(ctx context.Context, l *Loop) error {
		ctx, cancel := context.WithTimeout(ctx, soon)
		defer cancel()
		done <- l.Converge(ctx)
		return nil
	}
	p.start()
	select {
	case err := <-done:
		if err != nil {
			p.t.Fatalf("%v: %+v", err, p.sync().Status)
		}
	case <-p.t.Context().Done():
		p.t.Fatal(p.t.Context().Err())
	}
	p.stop()
	return p.wire.take()
}

func TestAPreviewShowsWhatIsThere(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	before := map[string]string{
		"a.yaml": manifest("same", "data: {v: '1'}") + manifest("drifts", "data: {v: '1', w: '1'}") + manifest("deleted", "data: {v: '1'}") +
			manifest("changes", "data: {v: '1', w: '1'}") + manifest("goes", "data: {v: '1'}") +
			manifest("stays", "data: {v: '1'}") + service("cart"),
	}
	p.applyOnce(before)
	if d := p.preview(before); d.Changed {
		t.Errorf("nothing changed:\n%s", p.text(d))
	}
	p.patch("ConfigMap", "drifts", `{"data":{"v":"by hand","other":"theirs"}}`)
	if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "deleted"}}); err != nil {
		t.Fatal(err)
	}
	p.make("found", nil, map[string]string{"v": "0", "w": "1"})
	p.make("flux", map[string]string{
		"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
	}, map[string]string{"v": "0"})

	d := p.preview(map[string]string{
		"a.yaml": manifest("same", "data: {v: '1'}") + manifest("drifts", "data: {v: '1', w: '1'}") + manifest("deleted", "data: {v: '1'}") +
			manifest("changes", "data: {v: '2', w: '1'}") + manifest("found", "data: {v: '1', w: '1'}") +
			manifest("flux", "data: {v: '1'}") + manifest("comes", "data: {v: '1'}") +
			strings.Replace(service("cart"), "8080", "8081", 1),
	})
	want := []string{
		"adopt ConfigMap found", "correct ConfigMap drifts", "create ConfigMap comes", "create ConfigMap deleted",
		"delete ConfigMap goes", "delete ConfigMap stays", "refuse ConfigMap flux", "update ConfigMap changes", "update Service cart",
	}
	if got := p.actions(d); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	text := p.text(d)
	for _, line := range []string{
		`data.v  by hand -> "1"`, "changed in the cluster by", "deleted in the cluster", `data.v  "1" -> "2"`, `data.v  "0" -> "1"`,
		"owned by Flux Kustomization flux-system/apps", "there without an owner", "spec.ports[name=http].port        8080 -> 8081", "ConfigMap NS/deleted  a.yaml:11  deleted in",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in:\n%s", line, text)
		}
	}
	for _, noise := range []string{"theirs", "data.w", "clusterIP", "managedFields", "tidelock.dev/digest", "tidelock.dev/owner"} {
		if strings.Contains(text, noise) {
			t.Errorf("%q would not change, and is shown:\n%s", noise, text)
		}
	}
}

func (p *product) patch(kind, name, data string) {
	p.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("v1")
	u.SetKind(kind)
	u.SetNamespace(p.ns)
	u.SetName(name)
	if err := p.client.Patch(p.t.Context(), u, client.RawPatch(types.MergePatchType, []byte(data))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *product) make(name string, labels, data map[string]string) {
	p.t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: name, Labels: labels}, Data: data}
	if err := p.client.Create(p.t.Context(), cm); err != nil {
		p.t.Fatal(err)
	}
}
