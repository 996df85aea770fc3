package apply

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/internal/desired"
)

// object returns a declared object; what is "Kind ns/name", or "Kind name" for what lives in no namespace.
func object(what string, annotations map[string]string) desired.Object {
	kind, name, _ := strings.Cut(what, " ")
	namespace, name, found := strings.Cut(name, "/")
	if !found {
		namespace, name = "", namespace
	}
	u := &unstructured.Unstructured{Object: map[string]any{"kind": kind}}
	u.SetName(name)
	u.SetNamespace(namespace)
	if annotations != nil {
		u.SetAnnotations(annotations)
	}
	id := desired.ID{Group: groupOf(kind), Kind: kind, Namespace: namespace, Name: name}
	u.SetAPIVersion(schema.GroupVersion{Group: id.Group, Version: "v1"}.String())
	return desired.Object{ID: id, Version: "v1", Content: u}
}

func groupOf(kind string) string {
	return map[string]string{
		"Deployment": "apps", "Job": "batch", "CustomResourceDefinition": "apiextensions.k8s.io", "Gizmo": "example.dev",
		"VirtualService": "networking.istio.io", "DestinationRule": "networking.istio.io", "Role": "rbac.authorization.k8s.io",
		"ValidatingWebhookConfiguration": "admissionregistration.k8s.io",
	}[kind]
}

func TestPlanComparesTheCommitTheInventoryAndTheCluster(t *testing.T) {
	t.Parallel()
	o := object("ConfigMap shop/cm", nil)
	digest, err := contentDigest(o)
	if err != nil {
		t.Fatal(err)
	}
	recorded := Entry{Version: "v1", UID: "u1", Digest: digest, Live: "f1"}
	asWritten := Live{ID: o.ID, UID: "u1", Owner: "prod", Digest: digest, Fields: "f1", applied: true}
	job := object("Job shop/migrate", nil)
	jobDigest, err := contentDigest(job)
	if err != nil {
		t.Fatal(err)
	}
	space := object("Namespace shop", nil)
	live := func(change func(*Live)) *Live {
		l := asWritten
		change(&l)
		return &l
	}
	entry := func(change func(*Entry)) *Entry {
		e := recorded
		change(&e)
		return &e
	}
	tests := map[string]struct {
		reason  string
		declare *desired.Object
		entry   *Entry
		live    *Live
		want    string
	}{
		"new": {
			reason: "nothing is known of it, so it is made; the dry run shows whether it is there", declare: &o,
			want: "create: new in the repository",
		},
		"as it should be": {
			reason: "equal input means no write", declare: &o, entry: &recorded, live: &asWritten, want: "unchanged",
		},
		"changed in git": {
			reason: "the content in git is another", declare: &o, live: &asWritten,
			entry: entry(func(e *Entry) { e.Digest = "old" }), want: "update: changed in the repository",
		},
		"drifted": {
			reason: "a field of ours has another value or another manager", declare: &o, entry: &recorded,
			live: live(func(l *Live) { l.Fields, l.rival = "f2", "kubectl-edit" }),
			want: "correct: changed in the cluster by kubectl-edit",
		},
		"deleted by hand": {
			reason: "what we own is put back", declare: &o, entry: &recorded, want: "create: gone from the cluster",
		},
		"replaced by hand": {
			reason: "another UID is another object, so adoption's rules hold", declare: &o, entry: &recorded,
			live: live(func(l *Live) { l.UID = "u2" }), want: "adopt: somebody replaced it",
		},
		"crashed after the write": {
			reason: "the UID was not recorded: a write that changes nothing records it", declare: &o, live: &asWritten,
			entry: entry(func(e *Entry) { e.UID, e.Live = "", "" }), want: "correct: written, and not recorded yet",
		},
		"crashed before an old object was made anew": {
			reason: "the entry has the new digest already, the object the old content", declare: &o,
			live: live(func(l *Live) { l.Digest = "old" }), entry: entry(func(e *Entry) { e.Live = "" }),
			want: "update: changed in the repository",
		},
		"inventory lost": {
			reason: "the label alone makes nothing ours", declare: &o, live: &asWritten,
			want: "adopt: carries our label, and is not in the inventory",
		},
		"on its way out": {
			reason: "a write to it would be lost", declare: &o, entry: &recorded,
			live: live(func(l *Live) { l.Deleting = true }), want: "waits for its deletion to end",
		},
		"on its way out, and held": {
			reason: "who waits must know for whom", declare: &o, entry: &recorded,
			live: live(func(l *Live) { l.Deleting, l.finalizers = true, "example.com/a, example.com/b" }),
			want: "waits for its deletion to end, which its finalizers hold up: example.com/a, example.com/b",
		},
		"paused on the live object": {
			reason: "somebody debugs it", declare: &o, entry: &recorded,
			live: live(func(l *Live) {
				l.Fields, l.Annotations = "f2", map[string]string{"tidelock.dev/reconcile": "disabled"}
			}),
			want: "paused",
		},
		"paused in git": {
			reason:  "the repository says so",
			declare: new(object("ConfigMap shop/cm", map[string]string{"tidelock.dev/reconcile": "disabled"})),
			want:    "paused",
		},
		"a finished Job that is gone": {
			reason: "it has run with this content", declare: &job,
			entry: &Entry{Version: "v1", UID: "u1", Digest: jobDigest, Live: "f1", Finished: true}, want: "unchanged",
		},
		"a finished Job with new content": {
			reason: "a changed manifest runs again", declare: &job,
			entry: &Entry{Version: "v1", UID: "u1", Digest: "old", Live: "f1", Finished: true},
			want:  "create: gone from the cluster",
		},
		"an unfinished Job that is gone": {
			reason: "it has not done its work", declare: &job,
			entry: &Entry{Version: "v1", UID: "u1", Digest: jobDigest, Live: "f1"}, want: "create: gone from the cluster",
		},
		"left git": {
			reason: "what the inventory lists and git does not is deleted", entry: &recorded, live: &asWritten,
			want: "delete: left the repository",
		},
		"left git and the cluster": {
			reason: "the prune finds it gone, and drops the entry", entry: &recorded, want: "delete: left the repository",
		},
		"left git, protected": {
			reason: "the annotation keeps it", entry: &recorded,
			live: live(func(l *Live) { l.Annotations = map[string]string{"tidelock.dev/prune": "disabled"} }),
			want: "release: kept: tidelock.dev/prune is disabled",
		},
		"left git, another object of the name": {
			reason: "somebody made it anew with copied labels: it is not ours to delete", entry: &recorded,
			live: live(func(l *Live) { l.UID, l.applied = "u2", false }), want: "release: somebody replaced it",
		},
		"left git after a crash": {
			reason: "our digest and our field manager on it prove that it is ours", live: &asWritten,
			entry: entry(func(e *Entry) { e.UID, e.Live = "", "" }), want: "delete: left the repository",
		},
		"left git, paused": {
			reason: "somebody debugs it", entry: &recorded,
			live: live(func(l *Live) { l.Annotations = map[string]string{"tidelock.dev/reconcile": "disabled"} }),
			want: "paused",
		},
		"a Namespace left git": {
			reason: "its end would take others' objects along", entry: &recorded,
			live: live(func(l *Live) { l.ID = space.ID }),
			want: "release: kept: a Namespace is deleted only where annotated tidelock.dev/prune: enabled",
		},
		"a Namespace left git, annotated": {
			reason: "it was asked for", entry: &recorded,
			live: live(func(l *Live) {
				l.ID, l.Annotations = space.ID, map[string]string{"tidelock.dev/prune": "enabled"}
			}),
			want: "delete: left the repository",
		},
		"only the label": {
			reason: "labels are copied: what is not in the inventory is not in the plan", live: &asWritten, want: "unchanged",
		},
		"a Secret after a restart": {
			reason: "its stored entry has no hash, but the object has not been touched since", declare: &o,
			entry: &Entry{Version: "v1", UID: "u1", ResourceVersion: "7"},
			live:  live(func(l *Live) { l.ResourceVersion = "7" }), want: "unchanged",
		},
		"a Secret that was touched while we were away": {
			reason: "what was done to it cannot be told, so it is written once", declare: &o,
			entry: &Entry{Version: "v1", UID: "u1", ResourceVersion: "7"},
			live:  live(func(l *Live) { l.ResourceVersion = "8" }), want: "correct: changed in the cluster",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []desired.Object
			if tc.declare != nil {
				objects = append(objects, *tc.declare)
			}
			d, err := Declare(objects, Declared{})
			if err != nil {
				t.Fatal(err)
			}
			inv, view := Inventory{Entries: map[desired.ID]Entry{}}, View{Objects: map[desired.ID]Live{}}
			id := o.ID
			if tc.live != nil {
				id = tc.live.ID
				view.Objects[id] = *tc.live
			}
			if tc.declare != nil {
				id = tc.declare.ID
			}
			if tc.entry != nil {
				inv.Entries[id] = *tc.entry
			}
			if got := describe(NewPlan(d, inv, view)); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func describe(p Plan) string {
	var out []string
	for _, c := range append(p.Writes, p.Prunes...) {
		out = append(out, fmt.Sprintf("%s: %s", c.Action, c.Reason))
	}
	for _, w := range p.Waits {
		out = append(out, "waits for "+w.Until)
	}
	if len(p.Paused) > 0 {
		out = append(out, "paused")
	}
	if len(out) == 0 {
		return "unchanged"
	}
	return strings.Join(out, "; ")
}

func TestWritesGoByStageAndPrunesTheOtherWayRound(t *testing.T) {
	t.Parallel()
	names := []string{
		"ValidatingWebhookConfiguration hook", "VirtualService shop/vs", "DestinationRule shop/dr", "Deployment shop/web",
		"Gizmo shop/g", "ConfigMap shop/cm", "Role shop/r", "CustomResourceDefinition gizmos.example.dev", "Namespace shop",
	}
	var objects []desired.Object
	inv := Inventory{Entries: map[desired.ID]Entry{}}
	for _, name := range names {
		o := object(name, nil)
		objects = append(objects, o)
		inv.Entries[o.ID] = Entry{Version: "v1"}
	}
	d, err := Declare(objects, Declared{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Namespace", "CustomResourceDefinition", "Role", "ConfigMap", "Gizmo", "Deployment", "DestinationRule", "VirtualService",
		"ValidatingWebhookConfiguration",
	}
	if diff := cmp.Diff(want, kindsOf(NewPlan(d, Inventory{}, View{}).Writes)); diff != "" {
		t.Errorf("writes: %s", diff)
	}
	var reverse []string
	for _, kind := range want {
		reverse = append([]string{kind}, reverse...)
	}
	if diff := cmp.Diff(reverse, kindsOf(NewPlan(Declared{}, inv, View{}).Prunes)); diff != "" {
		t.Errorf("prunes: %s", diff)
	}
}

func kindsOf(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Kind)
	}
	return out
}

func TestAnObjectIsPlannedInTheNamespaceThatItWillHave(t *testing.T) {
	t.Parallel()
	crd := object("CustomResourceDefinition gizmos.example.dev", nil)
	crd.Content.Object["spec"] = map[string]any{
		"group": "example.dev", "scope": "Namespaced", "names": map[string]any{"kind": "Gizmo"},
	}
	namespaced := map[schema.GroupKind]bool{{Kind: "ConfigMap"}: true, {Kind: "Namespace"}: false}
	tests := map[string]struct{ reason, object, want string }{
		"namespaced without a namespace": {"kubectl puts it there too", "ConfigMap cm", "ConfigMap default/cm"},
		"cluster-scoped with a namespace": {
			"kustomize gives one to kinds that it does not know", "Namespace shop/shop", "Namespace shop",
		},
		"instance of a declared CRD": {"the commit itself says the scope", "Gizmo g", "Gizmo.example.dev default/g"},
		"unknown":                    {"nothing can be said", "Role shop/r", "Role shop/r"},
	}
	for name, tc := range tests {
		d, err := Declare([]desired.Object{crd, object(tc.object, nil)}, Declared{})
		if err != nil {
			t.Fatal(err)
		}
		writes := NewPlan(d, Inventory{}, View{Namespaced: namespaced}).Writes
		var got []string
		for _, c := range writes {
			got = append(got, c.String())
		}
		if !strings.Contains(strings.Join(got, "|"), tc.want) {
			t.Errorf("%s: %s: got %v, want %s", name, tc.reason, got, tc.want)
		}
	}
}
