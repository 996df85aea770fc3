package reconcile

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

func TestALoopRestsUntilNewsOrTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wake, from := make(chan struct{}, 1), make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { forward(ctx, from, wake) })
		begin := time.Now()
		if err := rest(ctx, wake, standing{trouble: errors.New("x"), failures: 1, retry: begin.Add(8 * time.Second)}, begin); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 8*time.Second {
			t.Errorf("rested %s", d)
		}
		from <- struct{}{}
		if err := rest(ctx, wake, standing{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 8*time.Second {
			t.Errorf("news did not end the rest: %s", d)
		}
		cancel()
		if err := rest(ctx, wake, standing{}, time.Now()); !errors.Is(err, context.Canceled) {
			t.Errorf("the end of ctx: %v", err)
		}
		if err := rest(ctx, wake, standing{again: 1}, time.Now()); !errors.Is(err, context.Canceled) {
			t.Errorf("a loop that always goes on does not end: %v", err)
		}
		running.Wait()
	})
}

func (p *product) has(o client.Object, name string) bool {
	p.t.Helper()
	err := p.client.Get(p.t.Context(), client.ObjectKey{Namespace: p.ns, Name: name}, o)
	if err != nil && !apierrors.IsNotFound(err) {
		p.t.Fatal(err)
	}
	return err == nil
}

func TestAnIdlePassAsksForNothing(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.service("stable", "192.0.2.1")
	p.start()
	commit := p.push(map[string]string{"a.yaml": configMap("a", "1"), "split.yaml": splitTo("shop", "", "stable")})
	p.ready(commit)
	x := p.connect("edge", "edge-1")
	x.subscribeAll()
	p.until("the proxy to be on record", func(s v1alpha1.SyncStatus) bool {
		return len(s.Proxies) == 1 && s.Proxies[0].State == "Current" && s.LiveCommit["edge"] == commit && len(s.Waiting) == 0
	})
	before := p.sync()
	p.wire.take()
	p.passes(20)
	x.none(200 * time.Millisecond)
	if requests := p.wire.take(); len(requests) > 0 {
		t.Errorf("passes with nothing to do asked for %v", requests)
	}
	if after := p.sync(); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the Sync was written: %+v, and before %+v", after.Status, before.Status)
	}
}

func TestARefusedCommitLeavesTheAcceptedOneInForce(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	good := map[string]string{"a.yaml": configMap("a", "1")}
	commit := p.push(good)
	p.ready(commit)
	for name, bad := range map[string]string{
		"by render":         "a: [",
		"by the API server": service("b") + "apiVersion: v1\nkind: Service\nmetadata: {name: c, namespace: NAMESPACE}\nspec: {ports: []}\n",
	} {
		refused := p.offer(map[string]string{"bad.yaml": bad})
		s := p.until(name+" to be refused", func(s v1alpha1.SyncStatus) bool { return s.Rejected != nil && s.Rejected.Commit == refused })
		if s.Commit != commit || !strings.Contains(strings.Join(s.Rejected.Errors, "\n"), "bad.yaml:") {
			t.Errorf("%s: %+v", name, s)
		}
		if !p.has(&corev1.ConfigMap{}, "a") || p.has(&corev1.Service{}, "b") {
			t.Errorf("%s: something was written or deleted", name)
		}
		// Drift goes on being corrected meanwhile.
		if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "a"}}); err != nil {
			t.Fatal(err)
		}
		p.eventually("the deleted object to be back", func() (bool, any) { return p.has(&corev1.ConfigMap{}, "a"), nil })
		p.offer(good)
		p.until("the refusal to be history", func(s v1alpha1.SyncStatus) bool { return s.Rejected == nil })
		p.ready(commit)
	}
	var events corev1.EventList
	if err := p.client.List(t.Context(), &events, client.InNamespace(p.ns)); err != nil {
		t.Fatal(err)
	}
	reasons := map[string]int{}
	for i := range events.Items {
		reasons[events.Items[i].Reason]++
	}
	if reasons["Accepted"] != 1 || reasons["Rejected"] != 2 {
		t.Errorf("events: %v", reasons)
	}
}

func TestUsersSuspendAndPin(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	set := func(spec string) {
		t.Helper()
		s := &v1alpha1.Sync{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: p.ns}}
		if err := p.client.Patch(t.Context(), s, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`))); err != nil {
			t.Fatal(err)
		}
	}
	says := func(what string) v1alpha1.SyncStatus {
		t.Helper()
		generation := p.sync().Generation
		return p.until("the Sync to say "+what, func(s v1alpha1.SyncStatus) bool {
			return s.ObservedGeneration == generation && strings.Contains(conditionOf(s.Conditions, "Ready").Message, what)
		})
	}
	p.eventually("the Sync to be made", func() (bool, any) { return p.sync().Generation > 0, nil })
	set(`{"suspend":true}`)
	says("suspended by spec.suspend before any commit was accepted")
	first := p.offer(map[string]string{"a.yaml": configMap("a", "1")})
	p.passes(3)
	if p.has(&corev1.ConfigMap{}, "a") {
		t.Error("a suspended instance took its first commit")
	}
	set(`{"suspend":false}`)
	p.ready(first)
	set(`{"suspend":true}`)
	says("spec.suspend")
	second := p.offer(map[string]string{"a.yaml": configMap("a", "2")})
	p.passes(3)
	if s := says("spec.suspend"); s.Commit != first {
		t.Errorf("suspended at %s, is at %s", first, s.Commit)
	}
	set(`{"suspend":false}`)
	p.ready(second)
	set(`{"pin":"` + first + `"}`)
	p.ready(first)
	says("held there by spec.pin")
	unknown := strings.Repeat("e", 40)
	set(`{"pin":"` + unknown + `"}`)
	s := says("spec.pin")
	if s.Commit != first || conditionOf(s.Conditions, "Stalled").Status != metav1.ConditionTrue {
		t.Errorf("pinned to a commit that is not there: %+v", s)
	}
	p.passes(20)
	if n := p.repo.asks(unknown); n > 6 {
		t.Errorf("a commit that is not there was looked for %d times", n)
	}
	set(`{"pin":""}`)
	p.ready(second)
}

func TestAnObjectOfAnotherOwnerFailsAloneAndRests(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.ns, Name: "theirs", Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"},
	}}
	if err := p.client.Create(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	p.start()
	p.ready(p.push(map[string]string{"old.yaml": configMap("old", "1")}))
	commit := p.push(map[string]string{"a.yaml": configMap("a", "1"), "theirs.yaml": configMap("theirs", "1")})
	s := p.until("the failure to be shown", func(s v1alpha1.SyncStatus) bool { return s.Commit == commit && s.Counts.Failed == 1 })
	if !strings.Contains(conditionOf(s.Conditions, "Ready").Message, "Flux") {
		t.Errorf("the owner is not named: %+v", s)
	}
	if waiting := strings.Join(waitsIn(s), "\n"); waiting != "prune waits for 1 failed writes to succeed" {
		t.Errorf("why nothing is deleted: %q", waiting)
	}
	if !p.has(&corev1.ConfigMap{}, "a") || !p.has(&corev1.ConfigMap{}, "old") {
		t.Error("the others are not in, or something is deleted already")
	}
	p.wire.take()
	const touches = 30
	p.passes(touches)
	if n := len(p.wire.take()); n > touches/3 {
		t.Errorf("%d requests for %d pieces of news that have nothing to do with it", n, touches)
	}
	p.ready(p.push(map[string]string{"a.yaml": configMap("a", "1")}))
	if p.has(&corev1.ConfigMap{}, "old") {
		t.Error("what left the repository is still there")
	}
}

func TestConvergeEndsWhenAllIsInOrCannotBe(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	ended := make(chan error, 1)
	p.drive = func(ctx context.Context, l *Loop) error {
		ended <- l.Converge(ctx)
		return nil
	}
	p.service("stable", "192.0.2.1")
	p.offer(map[string]string{"a.yaml": configMap("a", "1"), "split.yaml": splitTo("shop", "", "stable")})
	p.start()
	if err := <-ended; err != nil {
		t.Errorf("a good commit: %v", err)
	}
	if !p.has(&corev1.ConfigMap{}, "a") {
		t.Error("it is not in")
	}
	p.offer(map[string]string{"bad.yaml": "a: ["})
	p.start()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "bad.yaml:1") {
		t.Errorf("a wrong commit: %v", err)
	}
}
