package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/source"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestARestartWithNothingToDoWritesNoObjectAndKeepsTheCounts(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	commit := p.push(map[string]string{"a.yaml": configMap("a", "1"), "split.yaml": splitTo("shop", "", "stable")})
	before := p.ready(commit)
	p.eventually("the split to have its status", func() (bool, any) {
		var split v1alpha1.TrafficSplit
		return p.has(&split, "shop") && split.Status.Phase != "", split.Status
	})
	p.start()
	p.eventually("the first pass to be through", func() (bool, any) { return p.loop.Ready() == nil, nil })
	p.repo.touch()
	after := p.ready(commit)
	if before.Counts != after.Counts || before.Counts.Created != 2 {
		t.Errorf("counts %+v, and before the restart %+v", after.Counts, before.Counts)
	}
	for _, r := range p.wire.take() {
		if !strings.HasPrefix(r, "GET ") && !strings.Contains(r, "/syncs/") && !strings.Contains(r, "customresourcedefinitions") {
			t.Errorf("a restart wrote: %s", r)
		}
	}
}

func TestACommitThatCannotBeHadAfterARestartDeletesNothing(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	first := p.push(map[string]string{"a.yaml": configMap("a", "1"), "b.yaml": configMap("b", "1")})
	p.ready(first)
	p.stop()
	p.repo.forget(first)
	refused := p.offer(map[string]string{"bad.yaml": "a: ["})
	p.start()
	s := p.until("the status to say so", func(s v1alpha1.SyncStatus) bool {
		return s.Rejected != nil && strings.Contains(conditionOf(s.Conditions, "Ready").Message, "nothing is written or deleted until")
	})
	if s.Commit != first || s.Rejected.Commit != refused {
		t.Errorf("the record of what was accepted is gone: %+v", s)
	}
	if !p.has(&corev1.ConfigMap{}, "a") || !p.has(&corev1.ConfigMap{}, "b") {
		t.Error("something was deleted")
	}
	p.ready(p.push(map[string]string{"a.yaml": configMap("a", "2")}))
	if !p.has(&corev1.ConfigMap{}, "a") || p.has(&corev1.ConfigMap{}, "b") {
		t.Error("the next good commit is not what is there")
	}
}

func TestARepositoryThatComesBackAfterARestartGivesWhatIsLive(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	first := p.push(map[string]string{"a.yaml": configMap("a", "1")})
	p.ready(first)
	p.stop()
	p.repo.fail(fmt.Errorf("dial: %w", source.ErrUnreachable))
	p.start()
	p.until("the status to say so", func(s v1alpha1.SyncStatus) bool {
		return strings.Contains(conditionOf(s.Conditions, "Ready").Message, "unreachable") && s.Commit == first
	})
	p.repo.fail(nil)
	p.ready(first)
}

func TestAcceptedIsOnRecordBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	first := p.push(map[string]string{"a.yaml": configMap("a", "1")})
	p.ready(first)
	var mu sync.Mutex
	var early []string
	recorded := false
	p.wire.failing(func(req *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/syncs/") {
			recorded = true
			return nil
		}
		write := req.Method != http.MethodGet && req.URL.Query().Get("dryRun") == "" && !strings.Contains(req.URL.Path, "events")
		if write && !recorded {
			early = append(early, req.Method+" "+req.URL.Path)
		}
		return nil
	})
	second := p.push(map[string]string{"a.yaml": configMap("a", "2")})
	p.ready(second)
	mu.Lock()
	defer mu.Unlock()
	if len(early) > 0 {
		t.Errorf("written before the commit was on record: %v", early)
	}
	if kept := p.repo.lastKept(); !slices.Contains(kept, first) || !slices.Contains(kept, second) {
		t.Errorf("kept %v, want what was on record until now and what is", kept)
	}
}

func TestAStatusThatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	p.ready(p.push(map[string]string{"a.yaml": configMap("a", "1")}))
	var mu sync.Mutex
	reports := 0
	p.wire.failing(func(req *http.Request) error {
		mu.Lock()
		defer mu.Unlock()
		if req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, "/syncs/") {
			return nil
		}
		// The first is that of the acceptance, and the next is lost.
		if reports++; reports == 2 {
			return errors.New("connection reset")
		}
		return nil
	})
	p.ready(p.push(map[string]string{"a.yaml": configMap("a", "2")}))
}

func TestAfterARestartNothingGoesBeforeTheProxiesAreBack(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.service("blue", "192.0.2.1")
	p.service("green", "192.0.2.2")
	p.start()
	p.ready(p.push(map[string]string{"blue.yaml": service("blue"), "shop.yaml": splitTo("shop", "", "blue")}))
	before := p.connect("edge", "edge-1")
	before.subscribeAll()
	p.until("the proxy to be on record", func(s v1alpha1.SyncStatus) bool {
		return len(s.Proxies) == 1 && s.Proxies[0].State == "Current" && s.LiveCommit["edge"] != ""
	})
	p.stop()
	before.close()
	p.offer(map[string]string{"green.yaml": service("green"), "shop.yaml": splitTo("shop", "", "green")})
	for range 2 { // the second restart must know of the proxy, too
		p.start()
		s := p.until("the proxy to be waited for", func(s v1alpha1.SyncStatus) bool {
			return slices.Contains(waitsIn(s), "configuration of proxies edge waits for proxy edge-1 to come back") &&
				strings.Contains(strings.Join(waitsIn(s), "\n"), "prune waits for proxies edge to take the configuration")
		})
		if len(s.Proxies) != 1 || s.Proxies[0].Message != "not back yet since the daemon started" {
			t.Errorf("proxies: %+v", s.Proxies)
		}
	}
	if !p.has(&corev1.Service{}, "blue") {
		t.Fatal("the old backend went before the proxy was back")
	}
	x := p.connect("edge", "edge-1")
	for _, typeURL := range []string{xds.TypeCluster, xds.TypeEndpoint, xds.TypeListener, xds.TypeRoute} {
		x.resume(before, typeURL)
	}
	resp := x.await(soon)
	if got, want := describe(t, resp), "Cluster "+p.ns+"/blue/8080, "+p.ns+"/green/8080"; got != want {
		t.Errorf("the proxy that comes back is told of %s, want %s", got, want)
	}
	x.ack(resp)
	x.ackAll(func() bool { return conditionOf(p.sync().Status.Conditions, "Ready").Status == metav1.ConditionTrue })
	if p.has(&corev1.Service{}, "blue") {
		t.Error("the old backend is still there")
	}
}

// A repository that does not answer keeps a daemon that starts from nothing but newer commits.
func TestAfterARestartASlowRepositoryKeepsNothingFromWhatWasAccepted(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.start()
	first := p.push(map[string]string{"a.yaml": configMap("a", "1")})
	p.ready(first)
	p.stop()
	if err := p.client.Delete(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	second := p.offer(map[string]string{"a.yaml": configMap("a", "2")})
	p.repo.hang(true)
	p.start()
	p.eventually("what was deleted to be back", func() (bool, any) { return p.has(&corev1.ConfigMap{}, "a"), nil })
	p.until("the status to say so", func(s v1alpha1.SyncStatus) bool {
		return s.Commit == first && strings.Contains(conditionOf(s.Conditions, "Ready").Message, errNoAnswer.Error())
	})
	p.repo.hang(false)
	p.ready(second)
}

func TestAStepThatCameWhileTheDaemonWasDownIsInForceAfterwards(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	p.service("blue", "192.0.2.1")
	p.service("green", "192.0.2.2")
	p.start()
	p.ready(p.push(map[string]string{"shop.yaml": splitTo("shop", "", "blue", "green")}))
	x := p.connect("edge", "edge-1")
	x.subscribeAll()
	x.ackAll(func() bool { return len(x.last) > 0 && p.sync().Status.LiveCommit["edge"] != "" })

	begins := time.Now().Add(3 * time.Second)
	steps := fmt.Sprintf("  steps: [{at: %q, weights: {blue: 0, green: 7}}]\n", begins.Format(time.RFC3339Nano))
	commit := p.push(map[string]string{"shop.yaml": strings.TrimSuffix(splitTo("shop", "", "blue", "green"), "---\n") + steps})
	p.ready(commit)
	if !time.Now().Before(begins) {
		t.Fatal("the commit came in after the instant of its step: this machine is too slow for this test")
	}
	p.stop()
	<-time.After(time.Until(begins))
	p.start()
	again := p.connect("edge", "edge-1")
	for _, typeURL := range []string{xds.TypeCluster, xds.TypeEndpoint, xds.TypeListener, xds.TypeRoute} {
		again.resume(x, typeURL)
	}
	route := tables(t, again.next(xds.TypeRoute))[0].VirtualHosts[0].Routes[0].GetRoute()
	got, want := map[string]uint32{}, map[string]uint32{p.ns + "/blue/8080": 0, p.ns + "/green/8080": 7}
	for _, c := range route.GetWeightedClusters().GetClusters() {
		got[c.Name] = c.Weight.GetValue()
	}
	if !maps.Equal(got, want) {
		t.Errorf("the first answer after the restart has the weights %v, want %v", got, want)
	}
}
