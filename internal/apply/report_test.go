package apply

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/deploy/crds"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

func install(t *testing.T, in *instance) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := in.Install(ctx, crds.FS, "v0.1.0"); err != nil {
		t.Fatal(err)
	}
}

func TestAReportIsWrittenOnceAndWakesNobody(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "report")
	install(t, in)
	split := manifests(t, ns, `
apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: cart, namespace: NAMESPACE}
spec: {host: cart.example.test, targets: [{name: stable, service: cart}]}`)
	in.sync(t, split)
	drain(in)
	sync := v1alpha1.SyncStatus{
		Repository: "https://git.example.test/shop", Commit: strings.Repeat("a", 40),
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Live"}},
	}
	status := ObjectStatus{ID: split[0].ID, Status: v1alpha1.TrafficSplitStatus{Status: v1alpha1.Status{
		Phase: v1alpha1.PhaseLive, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Live"}},
	}}}
	report := func(in *instance) []string {
		t.Helper()
		in.wire.take()
		if err := in.Report(t.Context(), sync, []ObjectStatus{status}); err != nil {
			t.Fatal(err)
		}
		return in.wire.take()
	}
	report(in)
	id := in.syncID()
	first := get(t, id, "v1alpha1")
	if commit, _, _ := unstructured.NestedString(first.Object, "status", "commit"); commit != sync.Commit {
		t.Errorf("the Sync says commit %q", commit)
	}
	if phase, _, _ := unstructured.NestedString(get(t, split[0].ID, "v1alpha1").Object, "status", "phase"); phase != "Live" {
		t.Errorf("the split's phase is %q", phase)
	}
	if requests := report(in); len(requests) != 0 {
		t.Errorf("an unchanged report made requests: %v", requests)
	}
	if plan, _, err := in.pass(t.Context(), split); err != nil || !plan.Empty() {
		t.Errorf("a status is drift: %+v, %v", plan, err)
	}
	sync.Commit = strings.Repeat("b", 40)
	report(in)
	second := get(t, id, "v1alpha1")
	if transitioned(t, first) != transitioned(t, second) {
		t.Error("a condition that is as it was has another time")
	}
	was := get(t, split[0].ID, "v1alpha1")
	status.Status = v1alpha1.TrafficSplitStatus{Status: v1alpha1.Status{
		Phase: v1alpha1.PhaseWaiting, Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Waits"}},
	}}
	if requests := report(in); len(requests) != 1 {
		t.Errorf("one changed status made the requests %v", requests)
	}
	if is := get(t, split[0].ID, "v1alpha1"); transitioned(t, was) != transitioned(t, is) {
		t.Error("a condition that is as it was has another time, on a resource")
	}
	again := open(t, ns, "report")
	again.sync(t, split)
	again.await(t, split, "the Sync to be seen", func() bool { return again.told.syncKnown() })
	if requests := report(again); len(requests) != 0 {
		t.Errorf("a restart reported again what stands there: %v", requests)
	}
}

func transitioned(t *testing.T, u *unstructured.Unstructured) any {
	t.Helper()
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	if len(conditions) != 1 {
		t.Fatalf("conditions: %v", conditions)
	}
	return conditions[0].(map[string]any)["lastTransitionTime"]
}

// busy answers the first write of a status with a conflict, as an API server does that has too much to do.
type busy struct {
	http.RoundTripper

	struck atomic.Bool
}

func (b *busy) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/status") && b.struck.CompareAndSwap(false, true) {
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "application/json")
		rec.WriteHeader(http.StatusConflict)
		_, _ = rec.WriteString(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409}`)
		return rec.Result(), nil
	}
	return b.RoundTripper.RoundTrip(req)
}

func TestAStatusThatMetAConflictIsNotTakenForWritten(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "busy", func(c *Config) {
		c.REST.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &busy{RoundTripper: rt} })
	})
	install(t, in)
	status := v1alpha1.SyncStatus{Commit: strings.Repeat("a", 40)}
	if err := in.Report(t.Context(), status, nil); !apierrors.IsConflict(err) {
		t.Errorf("want the conflict, so that the loop reports again; got %v", err)
	}
	if err := in.Report(t.Context(), status, nil); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedString(get(t, in.syncID(), "v1alpha1").Object, "status", "commit"); got != status.Commit {
		t.Errorf("the Sync says %q", got)
	}
}

func TestUsersSuspendAndPinThroughTheSync(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "suspend")
	install(t, in)
	if err := in.Report(t.Context(), v1alpha1.SyncStatus{}, nil); err != nil {
		t.Fatal(err)
	}
	u := addressOf(Change{ID: in.syncID()}, "v1alpha1")
	pin := strings.Repeat("c", 40)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true,"pin":"`+pin+`"}}`))
	if err := admin(t).Patch(t.Context(), u, patch); err != nil {
		t.Fatal(err)
	}
	in.await(t, nil, "the spec to be seen", func() bool {
		spec, generation := in.Spec()
		return spec.Suspend && spec.Pin == pin && generation == 2
	})
	if err := admin(t).Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	in.await(t, nil, "the Sync to be gone", func() bool { return !in.told.syncKnown() })
	if err := in.Report(t.Context(), v1alpha1.SyncStatus{}, nil); err != nil || get(t, in.syncID(), "v1alpha1") == nil {
		t.Errorf("a deleted Sync is not made again: %v", err)
	}
}

func TestAnEventStandsOnTheSyncAndIsCounted(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "events")
	install(t, in)
	for range 3 {
		if err := in.Event(t.Context(), in.Sync(), ReasonRejected, "apps/app.yaml:3: no"); err != nil {
			t.Fatal(err)
		}
	}
	var list eventsv1.EventList
	if err := admin(t).List(t.Context(), &list, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	events := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Regarding.Kind != "Sync" })
	if len(events) != 1 || events[0].Type != "Warning" || events[0].Note != "apps/app.yaml:3: no" ||
		events[0].Regarding.Name != "events" || events[0].Series == nil || events[0].Series.Count != 3 {
		t.Errorf("events: %+v", events)
	}
}

func TestDefinitionsOfOthersAndOfNewerVersionsAreLeftAlone(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "definitions")
	file := func(field string) fstest.MapFS {
		return fstest.MapFS{"things.yaml": {Data: []byte(strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.NAMESPACE.dev}
spec:
  group: NAMESPACE.dev
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {`+field+`: {type: object}}}}}`,
			"NAMESPACE", ns))}}
	}
	id := desired.ID{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition", Name: "things." + ns + ".dev"}
	t.Cleanup(func() {
		u := addressOf(Change{ID: id}, "v1")
		if err := admin(t).Delete(context.WithoutCancel(t.Context()), u); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	version := func() string { return get(t, id, "v1").GetResourceVersion() }
	for _, step := range []struct {
		name, field, version string
		writes               bool
	}{
		{"install", "one", "v0.2.0", true},
		{"again", "one", "v0.2.0", false},
		{"an older daemon", "zero", "v0.1.9", false},
		{"a newer daemon", "two", "v0.3.0", true},
	} {
		before := in.wire.writes
		if err := in.Install(ctx, file(step.field), step.version); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if wrote := in.wire.writes > before; wrote != step.writes {
			t.Errorf("%s: wrote is %v", step.name, wrote)
		}
	}
	merge(t, id, `{"metadata":{"labels":{"app.kubernetes.io/managed-by":"somebody"}}}`)
	before := version()
	if err := in.Install(ctx, file("three"), "v0.4.0"); !errors.Is(err, ErrForeignDefinition) || version() != before {
		t.Errorf("a definition of others was written: %v", err)
	}
}

func TestASecondDaemonOfOneNameWaitsAndIsToldWhoHasTheLease(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	a, b := open(t, ns, "lease"), open(t, ns, "lease")
	leading, release := make(chan struct{}), make(chan struct{})
	errs := make(chan error, 2)
	go func() {
		errs <- a.Lead(t.Context(), "daemon-a", nil, func(context.Context) error {
			close(leading)
			<-release
			return nil
		})
	}()
	<-leading
	holders := make(chan string, 10)
	second := make(chan struct{})
	go func() {
		errs <- b.Lead(t.Context(), "daemon-b", func(holder string) { holders <- holder }, func(context.Context) error {
			close(second)
			return errors.New("what held returns")
		})
	}()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case holder := <-holders:
		if holder != "daemon-a" {
			t.Errorf("told of %q", holder)
		}
	case <-second:
		t.Fatal("both lead")
	case <-ctx.Done():
		t.Fatal("not told who holds the Lease")
	}
	start := time.Now()
	close(release)
	if err := <-errs; err != nil {
		t.Error(err)
	}
	if err := <-errs; err == nil || err.Error() != "what held returns" {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > leaseDuration {
		t.Errorf("a Lease that was given back was taken after %v", took)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	err := a.Lead(gone, "daemon-c", nil, func(context.Context) error { return nil })
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestTheViewComesBackWithTheAPIServer(t *testing.T) {
	t.Parallel()
	plane := env.Processes(t)
	ns := "default"
	w := &wire{}
	in := &instance{wire: w, brakes: desired.DefaultBrakes()}
	var err error
	if in.Cluster, err = New(Config{REST: plane.Config(), Owner: "outage", Namespace: ns}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- in.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := in.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects := manifests(t, ns, configMap("cm", "1"))
	in.sync(t, objects)
	plane.KillAPIServer(t)
	plan, _, err := in.pass(t.Context(), objects)
	if err != nil || !plan.Empty() {
		t.Errorf("without the API server the view is another: %+v, %v", plan, err)
	}
	short, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if _, res, err := in.pass(short, manifests(t, ns, configMap("cm", "2"))); err != nil || len(res.Waits)+len(res.Failed) == 0 {
		t.Errorf("a server out of reach is no rejection: %+v, %v", res, err)
	}
	plane.StartAPIServer(t)
	cl, err := client.New(plane.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	live := objects[0].Content.DeepCopy()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"v":"edited"}}`))
	if err := cl.Patch(t.Context(), live, patch, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	in.await(t, objects, "an edit after the outage to be put back", func() bool {
		u := addressOf(Change{ID: objects[0].ID}, "v1")
		if err := cl.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return false
		}
		v, _, _ := unstructured.NestedString(u.Object, "data", "v")
		return v == "1"
	})
}
