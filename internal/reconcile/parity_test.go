package reconcile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/internal/diff"
)

// history makes commit after commit at random, over objects of many kinds, ours among them. Equal seeds make equal ones.
type history struct {
	rand  *rand.Rand
	files map[string]string
	made  int
}

// kinds are manifests of a name and a number that makes their content.
func (*history) kinds() []func(name string, n int) string {
	meta := func(name string) string { return "metadata: {name: " + name + ", namespace: NAMESPACE" }
	return []func(string, int) string{
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\n%s}\ndata: {v: '%d', %s: x}", meta(name), n, name)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: v1\nkind: Secret\n%s}\nstringData: {password: 'hidden-%d'}", meta(name), n)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: v1\nkind: Service\n%s}\nspec: {ports: [{name: http, port: %d}]}", meta(name), 8000+n)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\n%s}\nspec: {replicas: 0, selector: {matchLabels: {a: %s}}, template: "+
				"{metadata: {labels: {a: %[2]s}}, spec: {containers: [{name: app, image: 'app:%d'}]}}}", meta(name), name, n)
		},
		func(name string, n int) string { // its template never changes: it is made anew
			return fmt.Sprintf("apiVersion: batch/v1\nkind: Job\n%s, annotations: {tidelock.dev/recreate: enabled}}\nspec: {suspend: true, "+
				"template: {spec: {restartPolicy: Never, containers: [{name: app, image: 'app:%d'}]}}}", meta(name), n)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n%s}\nrules: [{apiGroups: [''], resources: [pods], "+
				"verbs: [get], resourceNames: ['n%d']}]", meta(name), n)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\n%s}\nspec: {hosts: [%s.example.test], rules: "+
				"[{redirect: {host: 'n%d.example.test'}}]}", meta(name), name, n)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: At\n%s}\nspec: {schedule: '%d 2 * * *', command: echo}", meta(name), n)
		},
		func(name string, n int) string { // without pods: the test's cluster has no node on which they would roll out
			return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: APIMock\n%s}\nspec:\n  replicas: 0\n  definition: |\n    openapi: 3.1.0\n    info: "+
				"{title: t, version: '%d'}\n    paths: {/p: {get: {responses: {'200': {description: d}}}}}\n", meta(name), n)
		},
	}
}

// next makes another commit: files come, change, go, or are called something else.
func (h *history) next() map[string]string {
	for range 2 + h.rand.IntN(4) {
		names := slices.Sorted(maps.Keys(h.files))
		if len(names) < 4 || h.rand.IntN(3) == 0 {
			h.made++
			kinds := h.kinds()
			kind := h.rand.IntN(len(kinds))
			name := fmt.Sprintf("k%d-n%d", kind, h.made)
			h.files[name] = kinds[kind](name, h.rand.IntN(60))
			continue
		}
		name := names[h.rand.IntN(len(names))]
		kind := int(name[1] - '0')
		switch h.rand.IntN(3) {
		case 0:
			h.files[name] = h.kinds()[kind](name, h.rand.IntN(60))
		case 1:
			delete(h.files, name)
		case 2:
			h.made++
			to := fmt.Sprintf("k%d-n%d", kind, h.made)
			h.files[to] = strings.ReplaceAll(h.files[name], name, to)
			delete(h.files, name)
		}
	}
	out := map[string]string{"keep.yaml": manifest("keep", "data: {v: '1'}")}
	for name, text := range h.files {
		out[name+".yaml"] = text
	}
	return out
}

// planned are the writes that a plan announces: the verb of each, and the object's path.
func (p *product) planned(d diff.Diff) []string {
	p.t.Helper()
	var out []string
	for _, s := range d.Plan {
		m, err := p.client.RESTMapper().RESTMapping(schema.GroupKind{Group: s.Group, Kind: s.Kind})
		if err != nil {
			p.t.Fatal(err)
		}
		at := " " + m.Resource.Resource + "/" + s.Name
		switch s.Action {
		case diff.Create, diff.Adopt, diff.Update, diff.Correct, diff.Release:
			out = append(out, "PATCH"+at)
		case diff.Delete:
			out = append(out, "DELETE"+at)
		case diff.Recreate:
			out = append(out, "DELETE"+at, "PATCH"+at)
		case diff.Refuse, diff.Rename:
			p.t.Errorf("%s of%s is in the plan", s.Action, at)
		}
	}
	slices.Sort(out)
	return out
}

// written are the writes among requests, without what the instance notes of itself.
func (p *product) written(requests []string) []string {
	p.t.Helper()
	var out []string
	for _, r := range requests {
		verb, uri, _ := strings.Cut(r, " ")
		u, err := url.ParseRequestURI(uri)
		if err != nil {
			p.t.Fatal(err)
		}
		path := strings.Split(u.Path, "/")
		resource, name := path[len(path)-2], path[len(path)-1]
		switch {
		case verb == "GET", u.Query().Has("dryRun"), name == "status", name == "events", resource == "syncs", name == "syncs",
			resource == "leases", resource == "customresourcedefinitions",
			strings.HasSuffix(u.Path, "/configmaps"), strings.HasPrefix(name, "tidelock-"+p.ns):
			continue
		}
		out = append(out, verb+" "+resource+"/"+name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// spoil changes or deletes some objects by hand.
func (h *history) spoil(p *product) {
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		if strings.HasPrefix(name, "k0-") && h.rand.IntN(2) == 0 {
			p.patch("ConfigMap", name, `{"data":{"v":"by hand"}}`)
		}
	}
}

func TestADaemonWritesWhatAPreviewSays(t *testing.T) {
	t.Parallel()
	const commits, seeds = 8, 5
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			p := newProduct(t)
			h := &history{rand: rand.New(rand.NewPCG(seed, 0)), files: map[string]string{}}
			total := 0
			for n := range commits {
				files := h.next()
				said := p.preview(files) // the first one before our kinds are installed
				did := p.written(p.applyOnce(files))
				if d := cmp.Diff(p.planned(said), did); d != "" {
					t.Fatalf("commit %d: the preview (-) and the daemon (+) differ:\n%s", n, d)
				}
				if d := p.preview(files); d.Changed {
					t.Fatalf("commit %d is in, and a preview of it says:\n%s", n, p.text(d))
				}
				total += len(did)
				h.spoil(p)
			}
			t.Logf("%d commits, %d writes", commits, total)
		})
	}
}
