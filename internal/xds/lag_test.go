package xds_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock/tidelock/internal/xds"
)

// pass lets the time of the test's bubble pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestAProxyThatDoesNotAnswerIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "old", target("blue", 1)))
		quick, slow := p.connect(t, "edge", "edge-1"), p.connect(t, "edge", "edge-2")
		subscribeAll(quick, blue)
		subscribeAll(slow, blue)
		p.until(t, "edge", "settled", settled)

		slow.held[xds.TypeCluster] = true
		start := time.Now()
		p.sync(shopSplit(t, "new", target("green", 1)))
		quick.next(xds.TypeCluster)
		slow.next(xds.TypeCluster)
		pass(20 * time.Second)
		quick.none()
		if s := statusOf(t, p, "edge-2"); s.State != xds.Updating {
			t.Errorf("after 20 s the proxy is shown as %+v", s)
		}

		quick.next(xds.TypeRoute)
		if took := time.Since(start); took < 25*time.Second || took > 26*time.Second {
			t.Errorf("the lagging proxy was waited for for %s", took)
		}
		p.until(t, "edge", "settled", settled)
		s := statusOf(t, p, "edge-2")
		if want := "no ACK of Cluster since " + start.UTC().Format(time.RFC3339); s.State != xds.Lagging || s.Message != want {
			t.Errorf("the proxy is shown as %+v, want Lagging: %s", s, want)
		}
		// It still routes to blue, so blue stays, and it gets no routes before it has the clusters for them.
		quick.none()
		slow.none()

		slow.held[xds.TypeCluster] = false
		slow.ack(xds.TypeCluster)
		slow.next(xds.TypeRoute)
		wantNames(t, slow.next(xds.TypeCluster), green)
		wantNames(t, quick.next(xds.TypeCluster), green)
		p.until(t, "edge", "settled", settled)
		if s := statusOf(t, p, "edge-2"); s.State != xds.Current {
			t.Errorf("the proxy is shown as %+v", s)
		}
	})
}

func TestClustersStayForAProxyThatMayComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "old", target("blue", 1)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, blue)
		p.until(t, "edge", "settled", settled)
		held := c.acked
		c.close()
		synctest.Wait()

		p.sync(shopSplit(t, "new", target("green", 1)))
		got := p.until(t, "edge", "waiting", func(p xds.Progress) bool { return len(p.Waits) > 0 })
		if want := "proxy edge-1 to come back"; got.Waits[0].Until != want || got.Serving != "new" {
			t.Errorf("waits for %q and serves %s, want %q and new", got.Waits[0].Until, got.Serving, want)
		}
		c = p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeCluster, held[xds.TypeCluster])
		wantNames(t, c.next(xds.TypeCluster), blue, green)
		c.subscribe(xds.TypeListener, held[xds.TypeListener])
		c.subscribe(xds.TypeRoute, held[xds.TypeRoute], "http")
		c.next(xds.TypeRoute)
		wantNames(t, c.next(xds.TypeCluster), green)
		p.until(t, "edge", "settled", settled)
		c.close()
		synctest.Wait()

		p.sync(shopSplit(t, "old", target("blue", 1)))
		p.until(t, "edge", "waiting", func(p xds.Progress) bool { return len(p.Waits) > 0 })
		pass(30 * time.Second)
		p.until(t, "edge", "settled without the proxy", settled)
	})
}

func TestProxiesOfAnEarlierLifeAreWaitedForBeforeAnythingIsRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.Expect("edge", []string{"edge-1"}, time.Now().Add(time.Minute))
		p.sync(shopSplit(t, "live", target("blue", 1)))
		if got := p.sync(shopSplit(t, "new", target("green", 1))); got.Settled || len(got.Waits) != 1 {
			t.Errorf("progress %+v, want to wait for edge-1", got)
		}
		late := p.connect(t, "edge", "edge-2")
		late.subscribe(xds.TypeCluster, "")
		wantNames(t, late.next(xds.TypeCluster), blue, green)
		pass(50 * time.Second)
		late.none()
		pass(10 * time.Second)
		wantNames(t, late.next(xds.TypeCluster), green)
		p.until(t, "edge", "settled", settled)
	})
}
