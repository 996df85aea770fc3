package reconcile

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/diff"
)

func TestAPreviewOfANamespaceAndAKindShowsWhatIsInThem(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	d := p.preview(map[string]string{"all.yaml": `apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-fresh}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: inside, namespace: NAMESPACE-fresh}
data: {v: "1"}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gears.NAMESPACE.example.test}
spec:
  group: NAMESPACE.example.test
  scope: Namespaced
  names: {kind: Gear, plural: gears, singular: gear}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: NAMESPACE.example.test/v1
kind: Gear
metadata: {name: g, namespace: NAMESPACE-fresh}
spec: {n: 1}
---
apiVersion: tidelock.dev/v1alpha1
kind: At
metadata: {name: nightly, namespace: NAMESPACE-fresh}
spec: {schedule: "0 2 * * *", command: echo}
`})
	want := []string{
		"create At nightly", "create ConfigMap inside", "create CustomResourceDefinition gears." + p.ns + ".example.test",
		"create Gear g", "create Namespace " + p.ns + "-fresh",
	}
	if got := p.actions(d); !slices.Equal(got, want) || len(d.Refused) > 0 || len(d.Unknown) > 0 {
		t.Errorf("got  %v\nwant %v\nrefused %v, unknown %v", got, want, d.Refused, d.Unknown)
	}
	if p.has(&corev1.Namespace{}, p.ns+"-fresh") {
		t.Error("the namespace is there")
	}
}

func TestAPreviewOfASecretShowsThatItChangesAndNoValue(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "creds", Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": `{"data":{"token":"` + encoded("OLD-SECRET") + `"}}`,
		}},
		Data: map[string][]byte{"token": []byte("OLD-SECRET"), "same": []byte("UNCHANGED-SECRET")},
	}
	if err := p.client.Create(t.Context(), secret, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		t.Fatal(err)
	}
	d := p.preview(map[string]string{"s.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: creds, namespace: NAMESPACE}\n" +
		"stringData: {token: NEW-SECRET, same: UNCHANGED-SECRET, added: x-NEW-SECRET}\n"})
	var out bytes.Buffer
	for _, err := range []error{diff.Text(&out, d, false), diff.Markdown(&out, d), diff.JSON(&out, d)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, value := range []string{"OLD-SECRET", "NEW-SECRET", "UNCHANGED-SECRET"} {
		for _, form := range []string{value, strings.TrimRight(encoded(value), "=")} {
			if strings.Contains(out.String(), form) {
				t.Errorf("%s shows", value)
			}
		}
	}
	text := p.text(d)
	for _, want := range []string{"data.token  *** (before) -> *** (after)", "data.added  added: ***", "taken over"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "data.same") {
		t.Errorf("an equal value is told as changed:\n%s", text)
	}
}

func TestAPreviewShowsWhatIsDeletedAndWhatIsKept(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	a := manifest("a", "data: {v: '1'}")
	p.applyOnce(map[string]string{
		"all.yaml": a + manifest("b", "data: {v: '1'}") +
			strings.Replace(manifest("c", "data: {v: '1'}"), "NAMESPACE}", "NAMESPACE, annotations: {tidelock.dev/prune: disabled}}", 1),
	})
	d := p.preview(map[string]string{"all.yaml": a})
	if got, want := p.actions(d), []string{"delete ConfigMap b", "release ConfigMap c"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if text := p.text(d); !strings.Contains(text, "kept: tidelock.dev/prune is disabled") {
		t.Errorf("that c is kept is not told:\n%s", text)
	}
}

func TestAPreviewReadsTheFilesThatThePassReads(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	files := map[string]string{
		".tidelockignore": "draft.yaml\nsub/*\n!sub/keep.yaml\nvalues.yaml\n", "values.yaml": "just: values\n",
		"keep.yaml": manifest("keep", "data: {v: '1'}"), "draft.yaml": manifest("draft", "data: {v: '1'}"),
		"sub/keep.yaml": manifest("sub-keep", "data: {v: '1'}"), "sub/draft.yaml": manifest("sub-draft", "data: {v: '1'}"),
	}
	if got, want := p.actions(p.preview(files)), []string{"create ConfigMap keep", "create ConfigMap sub-keep"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got, _ := p.written(p.applyOnce(files))
	if want := []string{"PATCH " + p.ns + "/configmaps/keep", "PATCH " + p.ns + "/configmaps/sub-keep"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if d := p.preview(files); d.Changed {
		t.Errorf("nothing changed since:\n%s", p.text(d))
	}
}

// What holds a delete back is told where it can be known, and the daemon is held back by that.
func TestAPreviewSaysWhatADeleteWaitsFor(t *testing.T) {
	t.Parallel()
	web := func(settings string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: NAMESPACE}\nspec: {selector: {matchLabels: {a: web}}, " +
			"template: {metadata: {labels: {a: web}}, spec: {containers: [{name: app, image: app, envFrom: [{configMapRef: {name: " + settings + "}}]}]}}}\n---\n"
	}
	before := map[string]string{"all.yaml": web("old") + manifest("old", "data: {v: '1'}") + manifest("keep", "data: {v: '1'}")}
	for name, test := range map[string]struct{ after, waits string }{
		"a roll-out": {web("new") + manifest("new", "data: {v: '1'}") + manifest("keep", "data: {v: '1'}"), "Deployment NS/web to roll out"},
		"what another owns": {web("old") + manifest("flux", "data: {v: '1'}") + manifest("keep", "data: {v: '1'}") +
			manifest("old", "data: {v: '1'}"), ""},
		"a refusal": {manifest("flux", "data: {v: '1'}") + manifest("keep", "data: {v: '1'}"), "ConfigMap NS/flux to be in, which is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProduct(t)
			p.applyOnce(before)
			p.make("flux", map[string]string{
				"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
			}, map[string]string{"v": "0"})
			after := map[string]string{"all.yaml": test.after}
			d := p.preview(after)
			for _, prune := range d.Prunes {
				if got := strings.ReplaceAll(prune.WaitsFor, p.ns, "NS"); got != test.waits {
					t.Errorf("%s waits for %q, want %q", prune.Object, got, test.waits)
				}
			}
			want := slices.DeleteFunc(planned(d), func(w string) bool { return strings.HasPrefix(w, "DELETE") })
			p.drive = nil
			p.start()
			commit := p.offer(after)
			p.until("the commit to be acted on", func(s v1alpha1.SyncStatus) bool {
				rolls := strings.Contains(strings.Join(waitsIn(s), "\n"), "to roll out")
				return s.Commit == commit && (s.Counts.Failed > 0 || rolls)
			})
			p.passes(2)
			p.stop()
			if got, _ := p.written(p.wire.take()); !slices.Equal(got, want) {
				t.Errorf("the daemon wrote %v, and %v was said to be written at once", got, want)
			}
		})
	}
}

// What the brakes hold is told, and then nothing at all is written.
func TestNothingIsWrittenOfWhatAPreviewSaysIsHeld(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	many := ""
	for n := range 12 {
		many += manifest(fmt.Sprint("n", n), "data: {v: '1'}")
	}
	p.applyOnce(map[string]string{"all.yaml": many})
	files := map[string]string{"all.yaml": manifest("n0", "data: {v: '2'}")}
	if d := p.preview(files); d.Brake == nil || !d.Brake.Held || d.Brake.Deletes != 11 {
		t.Errorf("the brakes say %+v", d.Brake)
	}
	p.drive = nil
	p.start()
	commit := p.offer(files)
	p.until("the commit to be held", func(s v1alpha1.SyncStatus) bool { return s.Rejected != nil && s.Rejected.Commit == commit })
	p.stop()
	if got, _ := p.written(p.wire.take()); len(got) > 0 {
		t.Errorf("the daemon wrote %v", got)
	}
}
