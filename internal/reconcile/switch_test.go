package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/xds"
)

func service(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: NAMESPACE}\n"+
		"spec: {ports: [{name: http, port: 8080}]}\n---\n", name)
}

func splitTo(name, extra string, targets ...string) string {
	text := fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: TrafficSplit\nmetadata: {name: %s, namespace: NAMESPACE%s}\n"+
		"spec:\n  host: %s.example.test\n  targets:\n", name, extra, name)
	for _, target := range targets {
		text += fmt.Sprintf("  - {name: %s, port: 8080}\n", target)
	}
	return text + "---\n"
}

func TestASwitchWaitsForItsBackendAndThePruneForTheSwitch(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	p.ready(p.push(map[string]string{"blue.yaml": service("blue"), "shop.yaml": splitTo("shop", "", "blue")}))
	p.service("blue", "192.0.2.1")
	x := p.connect("edge", "edge-1")
	x.subscribeAll()
	x.ackAll(func() bool { return len(x.last) > 0 && p.sync().Status.LiveCommit["edge"] != "" })

	green := p.push(map[string]string{"green.yaml": service("green"), "shop.yaml": splitTo("shop", "", "green")})
	wait := "route shop.example.test / waits for endpoints of " + p.ns + "/green/8080"
	s := p.until("the switch to be held back", func(s v1alpha1.SyncStatus) bool { return slices.Contains(waitsIn(s), wait) })
	if !slices.Contains(waitsIn(s), "prune waits for the switch of route shop.example.test /") {
		t.Errorf("the status does not say why nothing is deleted: %v", s.Waiting)
	}
	if s.Commit != green || s.LiveCommit["edge"] == green || !p.has(&corev1.Service{}, "blue") {
		t.Errorf("live is %v of %s", s.LiveCommit, green)
	}
	p.eventually("the split to say what it waits for", func() (bool, any) {
		var split v1alpha1.TrafficSplit
		return p.has(&split, "shop") && split.Status.Phase == v1alpha1.PhaseWaiting && strings.Contains(split.Status.Message, wait), split.Status
	})
	p.service("green", "192.0.2.2")
	x.ackAll(func() bool {
		s := p.sync().Status
		return s.LiveCommit["edge"] == green && conditionOf(s.Conditions, "Ready").Status == metav1.ConditionTrue
	})
	if p.has(&corev1.Service{}, "blue") {
		t.Error("the old backend is still there")
	}
	if got := clustersOf(t, x.last[xds.TypeRoute]); !slices.Equal(got, []string{p.ns + "/green/8080"}) {
		t.Errorf("the route names %v", got)
	}
}

func TestAForcedSwitchDoesNotWait(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.service("blue", "192.0.2.1")
	p.service("green")
	p.start()
	p.ready(p.push(map[string]string{"shop.yaml": splitTo("shop", "", "blue")}))
	p.push(map[string]string{"shop.yaml": splitTo("shop", "", "green")})
	p.until("the switch to be held back", func(s v1alpha1.SyncStatus) bool { return len(s.Waiting) > 0 })
	p.ready(p.push(map[string]string{"shop.yaml": splitTo("shop", `, annotations: {tidelock.dev/switch: force}`, "green")}))
}

func TestGroupsAreToldApart(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.service("a", "192.0.2.1")
	p.service("b", "192.0.2.2")
	route := func(name, service, group string) string {
		return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: %[1]s, namespace: NAMESPACE}\n"+
			"spec:\n  proxies: [%[3]s]\n  hosts: [%[1]s.example.test]\n  rules:\n  - backend: {service: %[2]s, port: 8080}\n---\n", name, service, group)
	}
	p.start()
	first := p.push(map[string]string{"routes.yaml": route("outer", "a", "edge") + route("inner", "a", "mesh")})
	edge, mesh := p.connect("edge", "edge-1"), p.connect("mesh", "mesh-1")
	for x, host := range map[*proxy]string{edge: "outer.example.test", mesh: "inner.example.test"} {
		x.subscribe(xds.TypeRoute, "http")
		if got := hostsOf(t, x.next(xds.TypeRoute)); !slices.Equal(got, []string{host}) {
			t.Errorf("%s is told of %v", x.node.Id, got)
		}
	}
	p.until("both to be live", func(s v1alpha1.SyncStatus) bool {
		return s.LiveCommit["edge"] == first && s.LiveCommit["mesh"] == first
	})
	second := p.push(map[string]string{"routes.yaml": route("outer", "b", "edge") + route("inner", "b", "mesh")})
	mesh.next(xds.TypeRoute)
	resp := edge.await(soon)
	edge.nack(resp, "synthetic reject 0815")
	s := p.until("the refusal to be shown", func(s v1alpha1.SyncStatus) bool {
		return strings.Contains(fmt.Sprint(s.Conditions), "synthetic reject 0815") && s.LiveCommit["mesh"] == second
	})
	if s.LiveCommit["edge"] != first {
		t.Errorf("the group that refused is at %v", s.LiveCommit)
	}
	p.eventually("the route that was refused to say so, and the other not", func() (bool, any) {
		var outer, inner v1alpha1.ProxyRoute
		ok := p.has(&outer, "outer") && p.has(&inner, "inner") && strings.Contains(outer.Status.Message, "synthetic reject 0815") &&
			strings.Contains(outer.Status.Message, "routes.yaml:1") && inner.Status.Phase == v1alpha1.PhaseLive
		return ok, []any{outer.Status, inner.Status}
	})
}

func TestLocalMocksGoOnUntilNothingReachesThem(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.mocks = mock.NewLocal(mock.LocalConfig{})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.mocks.Run(ctx); err != nil {
			t.Errorf("mocks: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	answering := func(name, who string, replicas int) string {
		return fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: %[1]s, namespace: NAMESPACE}
spec:
  replicas: %[3]d
  definition: |
    openapi: 3.0.3
    info: {title: %[1]s, version: "1"}
    paths:
      /who: {get: {responses: {"200": {description: ok, content: {text/plain: {example: %[2]s}}}}}}
---
apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: shop, namespace: NAMESPACE}
spec: {host: shop.example.test, targets: [{name: %[1]s, mock: %[1]s}]}
`, name, who, replicas)
	}
	addresses := func() map[string]string {
		out := map[string]string{}
		for key, at := range p.mocks.Addresses() {
			out[key.Name] = at.String()
		}
		return out
	}
	p.start()
	p.ready(p.push(map[string]string{"mock.yaml": answering("old", "one", 1)}))
	x := p.connect("edge", "edge-1")
	x.subscribeAll()
	x.ackAll(func() bool { return p.sync().Status.LiveCommit["edge"] != "" })
	before := addresses()["old"]

	p.ready(p.push(map[string]string{"mock.yaml": answering("old", "two", 1)}))
	if at := addresses()["old"]; at != before || before == "" {
		t.Errorf("another document moved the mock from %q to %q", before, at)
	}
	p.push(map[string]string{"mock.yaml": answering("new", "one", 1)})
	if resp := x.await(soon); resp.TypeUrl != xds.TypeCluster { // and it keeps its tongue
		t.Fatalf("got %s", describe(t, resp))
	} else if at := addresses(); at["old"] != before || at["new"] == "" {
		t.Errorf("before the proxy has let go of the old mock: %v", at)
	} else {
		x.ack(resp)
	}
	x.ackAll(func() bool { return conditionOf(p.sync().Status.Conditions, "Ready").Status == metav1.ConditionTrue })
	if at := addresses(); at["old"] != "" || at["new"] == "" {
		t.Errorf("after it has: %v", at)
	}
	p.push(map[string]string{"mock.yaml": answering("new", "one", 0)})
	x.ackAll(func() bool { return conditionOf(p.sync().Status.Conditions, "Ready").Status == metav1.ConditionTrue })
	if at := addresses(); at["new"] != "" {
		t.Errorf("a mock of 0 replicas answers: %v", at)
	}
}

// ackAll acknowledges what comes until done.
func (x *proxy) ackAll(done func() bool) {
	x.t.Helper()
	deadline := time.NewTimer(soon)
	defer deadline.Stop()
	for !done() {
		if resp := x.await(50 * time.Millisecond); resp != nil {
			x.ack(resp)
		}
		select {
		case <-deadline.C:
			x.t.Fatalf("waited in vain; the last answers: %v", x.log)
		default:
		}
	}
}
