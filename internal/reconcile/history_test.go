package reconcile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// history makes commit after commit at random, over objects of many kinds, ours among them. Equal seeds make equal ones.
type history struct {
	rand  *rand.Rand
	files map[string]string
	fresh []string // what came with the last commit
	made  int
}

// kinds are manifests of a name and a number that makes their content.
func (*history) kinds() []func(name string, n int) string {
	meta := func(name string) string { return "metadata: {name: " + name + ", namespace: NAMESPACE" }
	mock := func(name string, n int) string { // without pods: the test's cluster has no node on which they would roll out
		return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: APIMock\n%s}\nspec:\n  replicas: 0\n  definition: |\n    openapi: 3.1.0\n    info: "+
			"{title: t, version: '%d'}\n    paths: {/p: {get: {responses: {'200': {description: d}}}}}\n", meta(name), n)
	}
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
		mock,
		func(name string, n int) string { // all of traffic: one step of the split is past, and one ahead
			return mock(name+"-a", n%2) + "---\n" + mock(name+"-b", n) + fmt.Sprintf("---\napiVersion: tidelock.dev/v1alpha1\nkind: TrafficSplit\n%s}\n"+
				"spec:\n  targets: [{name: a, mock: %[2]s-a, weight: 1}, {name: b, mock: %[2]s-b, weight: 1}]\n"+
				"  steps: [{at: '2026-01-01T00:00:00Z', weights: {a: %[3]d, b: 1}}, {at: '2099-01-01T00:00:00Z', weights: {a: 0, b: %[3]d}}]\n"+
				"---\napiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\n%[1]s}\nspec: {hosts: [%[2]s.example.test], rules: "+
				"[{match: {path: {value: /s}}, backend: {split: %[2]s}, timeout: %[4]ds}, {backend: {mock: %[2]s-b}}]}", meta(name), name, 1+n, 1+n%9)
		},
		func(name string, n int) string {
			return fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: NAMESPACE-%[1]s, annotations: {tidelock.dev/prune: enabled}, labels: {n: '%[2]d'}}\n"+
				"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: inside, namespace: NAMESPACE-%[1]s}\ndata: {v: '%[2]d'}", name, n)
		},
		func(name string, n int) string { // a definition and an object of its kind
			return fmt.Sprintf("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: gears.%[1]s.NAMESPACE.test, "+
				"annotations: {tidelock.dev/prune: enabled}}\nspec:\n  group: %[1]s.NAMESPACE.test\n  scope: Namespaced\n"+
				"  names: {kind: Gear, listKind: GearList, plural: gears, singular: gear}\n  versions:\n  - {name: v1, served: true, storage: true, schema: "+
				"{openAPIV3Schema: {type: object, description: 'of %[2]d', x-kubernetes-preserve-unknown-fields: true}}}\n"+
				"---\napiVersion: %[1]s.NAMESPACE.test/v1\nkind: Gear\nmetadata: {name: %[1]s, namespace: NAMESPACE}\nspec: {teeth: %[2]d}", name, n)
		},
		func(name string, n int) string { // stays when it leaves
			return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\n%s, annotations: {tidelock.dev/prune: disabled}}\ndata: {v: '%d'}", meta(name), n)
		},
		func(name string, n int) string { // its selector cannot change: it is made anew
			return fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\n%s, annotations: {tidelock.dev/recreate: enabled}}\nspec: {replicas: 0, selector: "+
				"{matchLabels: {a: a%d}}, template: {metadata: {labels: {a: a%[2]d}}, spec: {containers: [{name: app, image: app}]}}}", meta(name), n)
		},
	}
}

// kindOf is the number of the kind that a name says.
func kindOf(name string) int {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, "k"), "-")
	kind, err := strconv.Atoi(number)
	if err != nil {
		panic(err)
	}
	return kind
}

// next makes another commit: files come, change, go, or are called something else.
func (h *history) next() map[string]string {
	h.fresh = nil
	for range 2 + h.rand.IntN(4) {
		names := slices.Sorted(maps.Keys(h.files))
		if len(names) < 4 || h.rand.IntN(3) == 0 {
			h.made++
			kinds := h.kinds()
			kind := h.rand.IntN(len(kinds))
			name := fmt.Sprintf("k%d-n%d", kind, h.made)
			h.files[name] = kinds[kind](name, h.rand.IntN(60))
			h.fresh = append(h.fresh, name)
			continue
		}
		name := names[h.rand.IntN(len(names))]
		kind := kindOf(name)
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
	out := map[string]string{
		"keep.yaml":     manifest("keep", "data: {v: '1'}"),
		"tidelock.yaml": "apiVersion: tidelock.dev/v1alpha1\nkind: Config\nprune: {maxDeletes: 1000, maxPercent: 100}\n",
	}
	for name, text := range h.files {
		out[name+".yaml"] = text
	}
	return out
}

// meddle makes objects by hand before a commit declares them.
func (h *history) meddle(p *product) {
	for _, name := range h.fresh {
		if _, stays := h.files[name]; stays && kindOf(name) == 0 && h.rand.IntN(2) == 0 {
			p.make(name, nil, map[string]string{"v": "found"})
		}
	}
}

// spoil changes or deletes some objects by hand.
func (h *history) spoil(p *product) {
	p.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		switch {
		case kindOf(name) != 0:
		case h.rand.IntN(2) == 0:
			p.patch("ConfigMap", name, `{"data":{"v":"by hand"}}`)
		case h.rand.IntN(3) == 0:
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: name}}
			if err := p.client.Delete(p.t.Context(), cm); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}
