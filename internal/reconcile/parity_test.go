package reconcile

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/redact"
	"github.com/tidelock/tidelock/test/env"
)

// planned are the writes that a plan announces: the verb of each, and the object. What another owns is not written.
func planned(d diff.Diff) []string {
	var out []string
	for _, s := range d.Plan {
		resource, _ := meta.UnsafeGuessKindToResource(schema.GroupVersionKind{Group: s.Group, Kind: s.Kind})
		at := " " + strings.TrimPrefix(s.Namespace+"/", "/") + resource.Resource + "/" + s.Name
		switch s.Action {
		case diff.Create, diff.Adopt, diff.Update, diff.Correct, diff.Release:
			out = append(out, "PATCH"+at)
		case diff.Delete:
			out = append(out, "DELETE"+at)
		case diff.Recreate:
			out = append(out, "DELETE"+at, "PATCH"+at)
		case diff.Refuse:
		case diff.Rename:
			out = append(out, "a plan has no renames"+at)
		}
	}
	slices.Sort(out)
	return out
}

// written are the writes among requests: those of the commit, and how many there were of the instance's own, by what they
// are. Nothing else is left out.
func (p *product) written(requests []string) (out []string, own map[string]int) {
	p.t.Helper()
	own = map[string]int{}
	for _, r := range requests {
		verb, uri, _ := strings.Cut(r, " ")
		u, err := url.ParseRequestURI(uri)
		if err != nil {
			p.t.Fatal(err)
		}
		if verb == "GET" || u.Query().Has("dryRun") {
			continue
		}
		if what := p.ofItsOwn(verb, u.Path); what != "" {
			own[what]++
			continue
		}
		parts := strings.Split(strings.Trim(u.Path, "/"), "/")
		at := strings.Join(parts[len(parts)-2:], "/")
		if i := slices.Index(parts, "namespaces"); i >= 0 && len(parts) > i+2 {
			at = parts[i+1] + "/" + at
		}
		out = append(out, verb+" "+at)
	}
	slices.Sort(out)
	return out, own
}

// ofItsOwn says what a write of the instance's own is: its records, and what it installs and tells.
func (p *product) ofItsOwn(verb, path string) string {
	name, within := filepath.Base(path), "/namespaces/"+p.ns+"/"
	switch {
	case name == "status":
		return "statuses"
	case strings.Contains(path, within+"syncs"):
		return "Sync"
	case strings.Contains(path, within+"leases"):
		return "Lease"
	case verb == "POST" && name == "events", verb == "PATCH" && strings.Contains(path, "/events/"):
		return "events"
	case strings.Contains(path, within+"configmaps/tidelock-"+p.ns), verb == "POST" && strings.HasSuffix(path, within+"configmaps"):
		return "inventory"
	case strings.Contains(path, "/customresourcedefinitions/") && strings.HasSuffix(name, ".tidelock.dev"),
		verb == "POST" && name == "customresourcedefinitions": // those of repositories are patched
		return "definitions"
	}
	return ""
}

// lives reads the objects of a plan.
func (p *product) lives(d diff.Diff) map[diff.Step]*unstructured.Unstructured {
	p.t.Helper()
	out := map[diff.Step]*unstructured.Unstructured{}
	for _, s := range d.Plan {
		mapping, err := p.client.RESTMapper().RESTMapping(schema.GroupKind{Group: s.Group, Kind: s.Kind})
		if meta.IsNoMatchError(err) {
			continue // the commit brings its definition
		}
		if err != nil {
			p.t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(mapping.GroupVersionKind)
		err = p.client.Get(p.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: s.Name}, u)
		switch {
		case err == nil:
			out[s] = u
		case !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
			p.t.Fatal(err)
		}
	}
	return out
}

// fieldsSaid are the changed fields that a Diff tells of each object that is there, by object.
func fieldsSaid(d diff.Diff) map[string][]diff.Field {
	out := map[string][]diff.Field{}
	var add func([]diff.Object)
	add = func(list []diff.Object) {
		for _, o := range list {
			if o.Was == "" && (o.Action == diff.Update || o.Action == diff.Adopt || o.Action == diff.Correct) {
				// The document of a mock is told with it, and stands in another object.
				if fields := slices.DeleteFunc(slices.Clone(o.Fields), isOfDocument); len(fields) > 0 {
					out[o.Object] = fields
				}
			}
			add(o.Generated)
		}
	}
	add(d.Objects)
	return out
}

func isOfDocument(f diff.Field) bool { return strings.HasPrefix(f.Path, "definition") }

// fieldsDone are the fields that changed between two looks at the objects of a plan, said as a Diff says them.
func fieldsDone(d diff.Diff, before, after map[diff.Step]*unstructured.Unstructured) map[string][]diff.Field {
	in := diff.Input{Checked: true, Secrets: redact.New()}
	for _, s := range d.Plan {
		if s.Action == diff.Update || s.Action == diff.Adopt || s.Action == diff.Correct {
			id := desired.ID{Group: s.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
			in.Changes = append(in.Changes, diff.Change{ID: id, Action: s.Action, Before: settled(before[s]), After: settled(after[s])})
		}
	}
	return fieldsSaid(diff.Of(in))
}

// settled is an object without what controllers have written on it meanwhile.
func settled(u *unstructured.Unstructured) *unstructured.Unstructured {
	if u == nil {
		return nil
	}
	u = u.DeepCopy()
	unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
	return u
}

// ends checks what became of objects that are not changed but come, go, stay or are made anew.
func ends(t *testing.T, d diff.Diff, before, after map[diff.Step]*unstructured.Unstructured) {
	t.Helper()
	for _, s := range d.Plan {
		was, is := before[s], after[s]
		ok := true
		switch s.Action { //nolint:exhaustive // of the others the fields are compared
		case diff.Create:
			ok = was == nil && is != nil
		case diff.Delete:
			ok = was != nil && (is == nil || is.GetDeletionTimestamp() != nil)
		case diff.Release:
			ok = was != nil && is != nil && is.GetUID() == was.GetUID() && is.GetLabels()["tidelock.dev/owner"] == ""
		case diff.Recreate:
			ok = was != nil && is != nil && is.GetUID() != was.GetUID()
		}
		if !ok {
			t.Errorf("%v: it was %v, and is %v", s, was, is)
		}
	}
}

// sameAsSaid previews a commit, has the daemon take it, and compares.
func (p *product) sameAsSaid(t *testing.T, what string, files map[string]string) {
	t.Helper()
	said := p.preview(files) // the first one before our kinds are installed
	before := p.lives(said)
	did, own := p.written(p.applyOnce(files))
	after := p.lives(said)
	if d := cmp.Diff(planned(said), did); d != "" {
		t.Fatalf("%s: the preview (-) and the daemon (+) differ:\n%s\n%s", what, d, p.text(said))
	}
	if d := cmp.Diff(fieldsSaid(said), fieldsDone(said, before, after)); d != "" {
		t.Fatalf("%s: the fields of the preview (-) and of the cluster (+) differ:\n%s", what, d)
	}
	ends(t, said, before, after)
	if d := p.preview(files); d.Changed {
		t.Fatalf("%s is in, and a preview of it says:\n%s", what, p.text(d))
	}
	t.Logf("%s: %d writes, of its own %v", what, len(did), own)
}

func TestADaemonWritesWhatAPreviewSays(t *testing.T) {
	t.Parallel()
	const commits, seeds = 8, 5
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			p := newProduct(t)
			h := &history{rand: rand.New(rand.NewPCG(seed, 0)), files: map[string]string{}}
			for n := range commits {
				files := h.next()
				h.meddle(p)
				p.sameAsSaid(t, fmt.Sprint("commit ", n), files)
				h.spoil(p)
			}
		})
	}
}

// example returns the example's files, in a namespace of the test's own and without pods.
func example(t *testing.T) map[string]string {
	t.Helper()
	root := os.DirFS(filepath.Join(env.Root(t), "examples", "repo"))
	out := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, name)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	change := func(name, from, to string) {
		if !strings.Contains(out[name], from) {
			t.Fatalf("%s says %q no longer", name, from)
		}
		out[name] = strings.ReplaceAll(out[name], from, to)
	}
	change("overlays/production/namespace.yaml", "name: shop", "name: NAMESPACE-shop")
	change("overlays/production/kustomization.yaml", "namespace: shop", "namespace: NAMESPACE-shop")
	change("overlays/production/kustomization.yaml", "kind: APIMock, name: catalog-v1}", "kind: APIMock}")
	change("overlays/production/kustomization.yaml", "value: 2}", "value: 0}")
	return out
}

// The example's own history: what its users change first.
func TestADaemonWritesWhatAPreviewSaysOfTheExample(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.path = "overlays/production"
	files := example(t)
	t.Cleanup(func() {
		own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.ns + "-shop"}}
		if err := p.client.Delete(context.WithoutCancel(t.Context()), own); err != nil {
			t.Error(err)
		}
	})
	first := maps.Clone(files)
	p.sameAsSaid(t, "the example", files)
	for _, step := range []struct{ what, file, from, to string }{
		{"half of the traffic", "base/catalog.yaml", "weight: 90}", "weight: 10}"},
		{"a step", "base/catalog.yaml", "spec:\n", "spec:\n  steps: [{at: '2026-01-01T00:00:00Z', weights: {v1: 0, v2: 1}}, {at: '0 9 1 1 *', weights: {v1: 1, v2: 5}}]\n"},
		{"another banner", "base/settings.yaml", "Free shipping", "Half price"},
		{"a definition's file", "base/catalog/openapi.yaml", "title: ", "title: New "},
		{"an inline definition", "base/catalog-v2.yaml", "amount: 4900", "amount: 5900"},
		{"a later report", "base/nightly-report.yaml", "30 2 * * *", "45 3 * * *"},
		{"a shorter timeout", "base/shop.yaml", "timeout: 5s", "timeout: 3s"},
		{"another host", "base/shop.yaml", "shop.example.com", "store.example.com"},
		{"no raw listener", "base/kustomization.yaml", "- load-balancer.yaml\n", ""},
		{"labels on all", "overlays/production/kustomization.yaml", "resources:", "labels: [{pairs: {team: shop}}]\nresources:"},
	} {
		if !strings.Contains(files[step.file], step.from) {
			t.Fatalf("%s: %s says %q no longer", step.what, step.file, step.from)
		}
		files[step.file] = strings.Replace(files[step.file], step.from, step.to, 1)
		p.sameAsSaid(t, step.what, files)
	}
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "catalog-v2", "catalog-next")
	}
	files["base/catalog-next.yaml"] = files["base/catalog-v2.yaml"]
	delete(files, "base/catalog-v2.yaml")
	p.sameAsSaid(t, "a mock is renamed", files)
	p.sameAsSaid(t, "all is reverted", first)
}
