package xds_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/tidelock/tidelock/internal/xds"
)

func TestOnlyWhatChangedIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "w1", target("stable", 90), target("canary", 10)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable, canary)
		p.until(t, "edge", "settled", settled)

		p.sync(shopSplit(t, "w2", target("stable", 80), target("canary", 20)))
		c.next(xds.TypeRoute)
		c.none()

		more := shopSplit(t, "w2", target("stable", 80), target("canary", 20))
		more.Resources = withCluster(more, xds.TypeEndpoint, canary, "192.0.2.9")
		p.sync(more)
		c.next(xds.TypeEndpoint)
		c.none()

		for range 50 {
			if got := p.sync(more); !got.Settled {
				t.Fatalf("an equal snapshot unsettles the group: %+v", got)
			}
		}
		c.none()
		if n := len(c.log); n != 6 {
			t.Errorf("%d responses in all, want 6", n)
		}
	})
}

func TestRemovedClustersGoLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		was := shopSplit(t, "old", target("blue", 1))
		p.sync(was)
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, blue)
		p.until(t, "edge", "settled", settled)
		for range 100 {
			for _, step := range []struct{ commit, name, was string }{{"new", "green", blue}, {"old", "blue", green}} {
				now := "shop/" + step.name + "/8080"
				p.sync(shopSplit(t, step.commit, target(step.name, 1)))
				both := []string{step.was, now}
				slices.Sort(both)
				wantNames(t, c.next(xds.TypeCluster), both...)
				if got := clustersIn(c.next(xds.TypeRoute)); !slices.Equal(got, []string{now}) {
					t.Fatalf("the routes name %v, want %s", got, now)
				}
				wantNames(t, c.next(xds.TypeCluster), now)
				p.until(t, "edge", "settled", settled)
			}
		}
		routesNameOnlyWhatWasSent(t, c.log)
	})
}

// routesNameOnlyWhatWasSent checks that no answer with routes names a cluster outside the last answer with clusters.
func routesNameOnlyWhatWasSent(t *testing.T, log []*discoveryv3.DiscoveryResponse) {
	t.Helper()
	var clusters []string
	for i, r := range log {
		switch r.TypeUrl {
		case xds.TypeCluster:
			clusters = namesIn(r)
		case xds.TypeRoute:
			for _, name := range clustersIn(r) {
				if !slices.Contains(clusters, name) {
					t.Errorf("answer %d names cluster %s, the proxy has %v", i, name, clusters)
				}
			}
		}
	}
}

func TestRoutesWaitForTheClustersOfEveryProxy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "old", target("blue", 1)))
		fast, slow := p.connect(t, "edge", "edge-1"), p.connect(t, "edge", "edge-2")
		subscribeAll(fast, blue)
		subscribeAll(slow, blue)
		p.until(t, "edge", "settled", settled)

		slow.held[xds.TypeCluster] = true
		p.sync(shopSplit(t, "new", target("green", 1)))
		wantNames(t, fast.next(xds.TypeCluster), blue, green)
		wantNames(t, slow.next(xds.TypeCluster), blue, green)
		fast.none()
		got := p.until(t, "edge", "waiting for edge-2 alone", func(p xds.Progress) bool { return len(p.Waits) == 1 })
		if want := "the ACK of Cluster by proxy edge-2"; got.Waits[0].Until != want || got.Serving != "old" {
			t.Errorf("waits for %q and serves %s, want %q and old", got.Waits[0].Until, got.Serving, want)
		}

		slow.held[xds.TypeCluster] = false
		slow.ack(xds.TypeCluster)
		fast.next(xds.TypeRoute)
		slow.next(xds.TypeRoute)
		wantNames(t, fast.next(xds.TypeCluster), green)
		wantNames(t, slow.next(xds.TypeCluster), green)
		p.until(t, "edge", "settled", settled)
	})
}

func TestANewerSnapshotMayComeInAnyPhase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("blue", 1)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, blue)
		p.until(t, "edge", "settled", settled)

		c.held[xds.TypeRoute] = true
		p.sync(shopSplit(t, "c2", target("green", 1)))
		wantNames(t, c.next(xds.TypeCluster), blue, green)
		c.next(xds.TypeRoute) // may be in use or not
		p.sync(shopSplit(t, "c3", target("stable", 1)))
		wantNames(t, c.next(xds.TypeCluster), blue, green, stable)
		c.none()
		c.held[xds.TypeRoute] = false
		c.ack(xds.TypeRoute)
		if got := clustersIn(c.next(xds.TypeRoute)); !slices.Equal(got, []string{stable}) {
			t.Errorf("the routes name %v", got)
		}
		wantNames(t, c.next(xds.TypeCluster), stable)
		routesNameOnlyWhatWasSent(t, c.log)
		if got := p.until(t, "edge", "settled", settled); got.Serving != "c3" {
			t.Errorf("serves %s, want c3", got.Serving)
		}
	})
}

func TestGroupsAreNamedByTheirProxiesAndServedApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		a, b := p.connect(t, "edge", "edge-1"), p.connect(t, "inner", "inner-1")
		a.subscribe(xds.TypeCluster, "")
		b.subscribe(xds.TypeCluster, "")
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		wantNames(t, a.next(xds.TypeCluster), stable)
		b.none()
		if got := p.Groups(); !slices.Equal(got, []string{"edge", "inner"}) {
			t.Errorf("groups %v", got)
		}
		p.sync(xds.Snapshot{Group: "inner", Commit: "c1"})
		wantNames(t, b.next(xds.TypeCluster))
		p.until(t, "inner", "settled", settled)
		if snap, found := p.Served("edge"); !found || snap.Commit != "c1" || len(snap.Resources[xds.TypeCluster]) != 1 {
			t.Errorf("served: %v %s %d clusters", found, snap.Commit, len(snap.Resources[xds.TypeCluster]))
		}
		if _, found := p.Served("nobody"); found {
			t.Error("a group that nobody published to is served something")
		}
	})
}

func TestARuntimeLayerIsAnsweredEmptyAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRuntime, "", "runtime-0")
		wantNames(t, c.next(xds.TypeRuntime), "runtime-0")
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		c.none()
	})
}

func TestASecretThatIsNotThereIsWithheldUntilItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		snap := shopSplit(t, "c1", target("stable", 1))
		p.sync(snap)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeSecret, "", "shop/tls", "shop/other")
		c.none()
		p.until(t, "edge", "settled without the secret", settled)
		p.sync(withSecret(t, snap, "shop/tls"))
		wantNames(t, c.next(xds.TypeSecret), "shop/tls")
		p.sync(withSecret(t, snap, "shop/other", "shop/tls"))
		wantNames(t, c.next(xds.TypeSecret), "shop/other", "shop/tls")
		c.none()
	})
}

func TestDeltaIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		c := p.connect(t, "edge", "edge-1")
		stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(c.conn).DeltaAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); err == nil || !strings.Contains(err.Error(), "Unimplemented") {
			t.Errorf("delta is answered with %v", err)
		}
	})
}
