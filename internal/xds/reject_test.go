package xds_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidelock/tidelock/internal/xds"
)

const reason = "synthetic reject 4711"

func rejected(p xds.Progress) bool { return len(p.Rejections) > 0 }

// statusOf returns what is said of a proxy.
func statusOf(t *testing.T, p *plane, node string) xds.Proxy {
	t.Helper()
	all := p.Proxies()
	i := slices.IndexFunc(all, func(x xds.Proxy) bool { return x.Node == node })
	if i < 0 {
		t.Fatalf("no proxy %s among %v", node, all)
	}
	return all[i]
}

func TestARejectionIsShownAndNotAnsweredWithTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := shopSplit(t, "c1", target("stable", 1))
		two := shopSplit(t, "c2", target("stable", 1), target("canary", 1))
		three := shopSplit(t, "c3", target("stable", 1), target("blue", 1))
		p, _ := servePlane(t)
		p.sync(one)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, "", "http")
		v1 := c.next(xds.TypeRoute).VersionInfo

		c.held[xds.TypeRoute] = true
		p.sync(two)
		v2 := c.next(xds.TypeRoute).VersionInfo
		c.nack(xds.TypeRoute)
		c.none()
		got := p.until(t, "edge", "rejected", rejected)
		want := []xds.Rejection{{Node: "edge-1", TypeURL: xds.TypeRoute, Version: v2, Message: reason, Commit: "c2"}}
		if !slices.Equal(got.Rejections, want) || !got.Reverted || got.Settled || got.Serving != "c1" {
			t.Errorf("progress %+v, want the rejection %v and c1 served", got, want)
		}
		if s := statusOf(t, p, "edge-1"); s.State != xds.Rejected || s.Message != reason || s.Acked[xds.TypeRoute] != v1 {
			t.Errorf("the proxy is shown as %+v", s)
		}

		stale := c.last[xds.TypeRoute].Nonce
		c.last[xds.TypeRoute].Nonce = "stale"
		c.ask(xds.TypeRoute, "http")
		c.none()
		c.last[xds.TypeRoute].Nonce = stale

		again := two
		again.Commit = "c2-again"
		if got := p.sync(again); !rejected(got) {
			t.Errorf("equal content clears the rejection: %+v", got)
		}
		c.none()

		if got := p.sync(one); rejected(got) || !got.Settled {
			t.Errorf("back at what was acknowledged: %+v", got)
		}
		c.none()
		if s := statusOf(t, p, "edge-1"); s.State != xds.Current {
			t.Errorf("the proxy is shown as %+v", s)
		}
		p.sync(three)
		if got := c.next(xds.TypeRoute).VersionInfo; got == v1 || got == v2 {
			t.Errorf("new content has the old version %s", got)
		}
	})
}

func TestARejectedSnapshotTakesTheWholeGroupBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		first := p.connect(t, "edge", "edge-1")
		subscribeAll(first, stable)
		p.until(t, "edge", "settled", settled)
		other := p.connect(t, "inner", "inner-1")
		other.subscribe(xds.TypeCluster, "")

		first.held[xds.TypeRoute] = true
		p.sync(shopSplit(t, "c2", target("canary", 1)))
		wantNames(t, first.next(xds.TypeCluster), canary, stable)
		first.next(xds.TypeRoute)
		first.nack(xds.TypeRoute)
		wantNames(t, first.next(xds.TypeCluster), stable)
		p.until(t, "edge", "rejected", rejected)

		late := p.connect(t, "edge", "edge-2")
		subscribeAll(late, stable)
		if got := clustersIn(late.last[xds.TypeRoute]); !slices.Equal(got, []string{stable}) {
			t.Errorf("a new proxy gets routes to %v", got)
		}
		inner := shopSplit(t, "c2", target("canary", 1))
		inner.Group = "inner"
		p.sync(inner)
		wantNames(t, other.next(xds.TypeCluster), canary)
		first.none()
	})
}

func TestTheGroupGoesBackToTheLastOfManyChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c0", target("stable", 1), target("canary", 9)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable, canary)
		for i := range uint32(6) {
			snap := shopSplit(t, fmt.Sprint("w", i), target("stable", 10+i), target("canary", 1))
			p.sync(snap)
			if i > 0 {
				c.next(xds.TypeEndpoint)
			}
			c.next(xds.TypeRoute)
			snap.Resources = withCluster(snap, xds.TypeEndpoint, stable, fmt.Sprint(i))
			p.sync(snap)
			c.next(xds.TypeEndpoint)
		}
		p.until(t, "edge", "settled", settled)
		c.held[xds.TypeRoute] = true
		p.sync(shopSplit(t, "bad", target("stable", 1), target("canary", 1)))
		c.next(xds.TypeEndpoint)
		c.next(xds.TypeRoute)
		c.nack(xds.TypeRoute)
		c.none()
		if got := p.until(t, "edge", "rejected", rejected); got.Serving != "w5" {
			t.Errorf("serves %s, want w5", got.Serving)
		}
	})
}

func TestARejectionOfClustersKeepsTheRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable)
		p.until(t, "edge", "settled", settled)
		c.held[xds.TypeCluster] = true
		p.sync(shopSplit(t, "c2", target("stable", 1), target("canary", 1)))
		wantNames(t, c.next(xds.TypeCluster), canary, stable)
		c.nack(xds.TypeCluster)
		c.none()
		if got := p.until(t, "edge", "rejected", rejected); !got.Reverted || got.Rejections[0].Commit != "c2" {
			t.Errorf("progress %+v", got)
		}
		if got := p.sync(shopSplit(t, "c1", target("stable", 1))); !got.Settled {
			t.Errorf("back at what was acknowledged: %+v", got)
		}
		c.none()
	})
}

func TestAProxyThatRejectsWhatOthersTakeStaysAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("blue", 1)))
		good, odd := p.connect(t, "edge", "edge-1"), p.connect(t, "edge", "edge-2")
		subscribeAll(good, blue)
		subscribeAll(odd, blue)
		p.until(t, "edge", "settled", settled)

		odd.held[xds.TypeRoute] = true
		p.sync(shopSplit(t, "c2", target("green", 1)))
		good.next(xds.TypeCluster)
		odd.next(xds.TypeCluster)
		good.next(xds.TypeRoute)
		odd.next(xds.TypeRoute)
		p.until(t, "edge", "taken by the other", func(x xds.Progress) bool {
			return len(x.Waits) == 1 && statusOf(t, p, "edge-1").State == xds.Current
		})
		odd.nack(xds.TypeRoute)
		got := p.until(t, "edge", "settled without the odd one", settled)
		if got.Reverted || len(got.Rejections) != 1 || got.Serving != "c2" {
			t.Errorf("progress %+v", got)
		}
		// The odd one still routes to blue, so blue stays, for all.
		good.none()
		odd.none()
		if s := statusOf(t, p, "edge-2"); s.State != xds.Rejected {
			t.Errorf("the odd proxy is shown as %+v", s)
		}

		odd.held[xds.TypeRoute] = false
		p.sync(shopSplit(t, "c3", target("stable", 1)))
		for _, c := range []*client{good, odd} {
			wantNames(t, c.next(xds.TypeCluster), blue, green, stable)
		}
		good.next(xds.TypeRoute)
		odd.next(xds.TypeRoute)
		for _, c := range []*client{good, odd} {
			wantNames(t, c.next(xds.TypeCluster), stable)
			routesNameOnlyWhatWasSent(t, c.log)
		}
		if got := p.until(t, "edge", "settled", settled); rejected(got) {
			t.Errorf("the rejection outlives its content: %+v", got)
		}
	})
}

func TestEndpointsGoOnWhileRoutesAreRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 2), target("canary", 1)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable, canary)
		p.until(t, "edge", "settled", settled)
		c.held[xds.TypeRoute] = true
		bad := shopSplit(t, "c2", target("stable", 1), target("canary", 1))
		p.sync(bad)
		c.next(xds.TypeRoute)
		c.nack(xds.TypeRoute)
		p.until(t, "edge", "rejected", rejected)

		for _, salt := range []string{"pod-1", "pod-2"} {
			next := bad
			next.Resources = withCluster(bad, xds.TypeEndpoint, stable, salt)
			got := p.sync(next)
			if !rejected(got) || !got.Reverted {
				t.Errorf("new endpoints clear the rejection: %+v", got)
			}
			c.next(xds.TypeEndpoint)
			c.none()
		}
	})
}

func TestAFirstSnapshotThatIsRejectedHasNothingToGoBackTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		c := p.connect(t, "edge", "edge-1")
		c.held[xds.TypeRoute] = true
		c.subscribe(xds.TypeRoute, "", "http")
		c.next(xds.TypeRoute)
		c.nack(xds.TypeRoute)
		c.none()
		got := p.until(t, "edge", "rejected", rejected)
		if got.Settled || got.Reverted {
			t.Errorf("progress %+v", got)
		}
		p.sync(shopSplit(t, "c2", target("canary", 1)))
		c.next(xds.TypeRoute)
	})
}

func TestWhatARefusedListMayHaveChangedIsPutRight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		was := shopSplit(t, "c1", target("stable", 1))
		p.sync(was)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeCluster, "")
		v1 := c.next(xds.TypeCluster).VersionInfo
		p.until(t, "edge", "settled", settled)

		c.held[xds.TypeCluster] = true
		bad := shopSplit(t, "c2", target("stable", 1), target("canary", 1))
		bad.Resources = withCluster(bad, xds.TypeCluster, stable, "changed")
		p.sync(bad)
		c.next(xds.TypeCluster)
		c.nack(xds.TypeCluster)
		// Envoy may have taken the change of stable and refused canary: only sending stable again undoes it.
		c.held[xds.TypeCluster] = false
		if got := c.next(xds.TypeCluster).VersionInfo; got != v1 {
			t.Errorf("got version %s, want %s", got, v1)
		}
		c.none()
	})
}

// A port in use is a reason that passes: the same content is offered again, ever more rarely, and taken in the end or not.
func TestRefusedContentIsOfferedAgainAFewTimesFarApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, "", "http")
		c.next(xds.TypeRoute)
		c.held[xds.TypeRoute] = true
		p.sync(shopSplit(t, "c2", target("stable", 1), target("canary", 1)))
		refused := c.next(xds.TypeRoute).VersionInfo
		c.nack(xds.TypeRoute)
		p.until(t, "edge", "rejected", rejected)

		for _, wait := range []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute} {
			time.Sleep(wait / 2) //nolint:forbidigo // the bubble's clock
			synctest.Wait()
			c.none()
			time.Sleep(wait / 2) //nolint:forbidigo // the bubble's clock
			synctest.Wait()
			if got := c.next(xds.TypeRoute).VersionInfo; got != refused {
				t.Errorf("after %s version %s is offered, want %s again", wait, got, refused)
			}
			c.nack(xds.TypeRoute)
			p.until(t, "edge", "rejected", rejected)
		}
		time.Sleep(24 * time.Hour) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		c.none()
		stop()
	})
}

func TestRefusedContentThatIsTakenAtARetryIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 1)))
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, "", "http")
		c.next(xds.TypeRoute)
		c.held[xds.TypeRoute] = true
		p.sync(shopSplit(t, "c2", target("stable", 1), target("canary", 1)))
		c.next(xds.TypeRoute)
		c.nack(xds.TypeRoute)
		p.until(t, "edge", "rejected", rejected)
		time.Sleep(time.Minute + time.Second) //nolint:forbidigo // the bubble's clock
		synctest.Wait()
		c.next(xds.TypeRoute)
		c.ack(xds.TypeRoute)
		if got := p.until(t, "edge", "settled", settled); rejected(got) || got.Serving != "c2" || got.Reverted {
			t.Errorf("progress %+v, want c2 served", got)
		}
		stop()
	})
}
