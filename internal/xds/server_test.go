package xds_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tidelock/tidelock/internal/xds"
)

func TestNothingIsAnsweredBeforeTheFirstSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, "", "http")
		c.subscribe(xds.TypeListener, "")
		c.subscribe(xds.TypeCluster, "")
		c.none()

		p.sync(shopSplit(t, "c1", target("stable", 1)))
		wantNames(t, c.next(xds.TypeCluster), stable)
		wantNames(t, c.next(xds.TypeListener), "http")
		routes := c.next(xds.TypeRoute)
		wantNames(t, routes, "http")
		if got := routes.GetControlPlane().GetIdentifier(); got != "c1" {
			t.Errorf("the answer names commit %q, want c1", got)
		}
		p.until(t, "edge", "settled", settled)
	})
}

func TestAVersionIsContentSoARestartSendsNothingAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := shopSplit(t, "c1", target("stable", 100), target("canary", 0))
		two := shopSplit(t, "c2", target("stable", 50), target("canary", 50))

		p, stop := servePlane(t)
		p.sync(one)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, "", "http")
		v1 := c.next(xds.TypeRoute).VersionInfo
		c.none()
		stop()

		p, stop = servePlane(t)
		renamed := one
		renamed.Commit = "c1-again"
		p.sync(renamed)
		c = p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, v1, "http")
		c.none()
		p.until(t, "edge", "settled without a response", settled)
		stop()

		p, _ = servePlane(t)
		p.sync(two)
		c = p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeRoute, v1, "http")
		if got := c.next(xds.TypeRoute).VersionInfo; got == v1 {
			t.Errorf("other content has the same version %s", got)
		}
	})
}

func TestAClientThatReconnectsGetsNothingThatItHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		snap := shopSplit(t, "c1", target("stable", 1))
		p.sync(snap)
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable)
		p.until(t, "edge", "settled", settled)
		versions := c.acked
		c.close()

		c = p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeCluster, versions[xds.TypeCluster])
		c.subscribe(xds.TypeEndpoint, versions[xds.TypeEndpoint], stable)
		c.subscribe(xds.TypeListener, versions[xds.TypeListener])
		c.subscribe(xds.TypeRoute, versions[xds.TypeRoute], "http")
		c.none()
	})
}

// subscribeAll asks for all types, one after the other, as Envoy does at its start.
func subscribeAll(c *client, endpoints ...string) {
	c.t.Helper()
	c.subscribe(xds.TypeCluster, "")
	c.next(xds.TypeCluster)
	c.subscribe(xds.TypeEndpoint, "", endpoints...)
	c.next(xds.TypeEndpoint)
	c.subscribe(xds.TypeListener, "")
	c.next(xds.TypeListener)
	c.subscribe(xds.TypeRoute, "", "http")
	c.next(xds.TypeRoute)
}

func TestAClusterThatComesBackGetsItsEndpointsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		with := shopSplit(t, "c1", target("stable", 1), target("canary", 1))
		without := shopSplit(t, "c2", target("stable", 1))
		p, _ := servePlane(t)
		p.sync(with)
		c := p.connect(t, "edge", "edge-1")
		c.subscribe(xds.TypeCluster, "")
		wantNames(t, c.next(xds.TypeCluster), canary, stable)
		c.subscribe(xds.TypeEndpoint, "", stable, canary)
		first := c.next(xds.TypeEndpoint)
		wantNames(t, first, canary, stable)
		p.until(t, "edge", "settled", settled)

		p.sync(without)
		wantNames(t, c.next(xds.TypeCluster), stable)
		c.ask(xds.TypeEndpoint, stable)
		c.none() // what is left is what it holds

		p.sync(with)
		wantNames(t, c.next(xds.TypeCluster), canary, stable)
		c.ask(xds.TypeEndpoint, stable, canary)
		again := c.next(xds.TypeEndpoint)
		wantNames(t, again, canary, stable)
		if again.VersionInfo != first.VersionInfo {
			t.Errorf("equal endpoints have the versions %s and %s", first.VersionInfo, again.VersionInfo)
		}
		c.none()
	})
}

func TestAClusterThatChangesGetsItsEndpointsAgainOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		before := shopSplit(t, "c1", target("stable", 1))
		p.sync(before)
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable)
		p.until(t, "edge", "settled", settled)

		after := before
		after.Resources = withCluster(before, xds.TypeCluster, stable, " ")
		p.sync(after)
		c.next(xds.TypeCluster)
		c.ask(xds.TypeEndpoint, stable) // Envoy asks anew for the cluster that it warms
		wantNames(t, c.next(xds.TypeEndpoint), stable)
		c.none()
	})
}

// withCluster returns the resources of snap, in which one has another hash, as if its content were different.
func withCluster(snap xds.Snapshot, typeURL, name, salt string) map[string][]xds.Resource {
	out := map[string][]xds.Resource{}
	for t, list := range snap.Resources {
		out[t] = slices.Clone(list)
		for i, r := range out[t] {
			if t == typeURL && r.Name == name {
				out[t][i].Hash += salt
			}
		}
	}
	return out
}

func TestAClientThatLetATypeGoMayBeginAnewOnTheSameStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, _ := servePlane(t)
		p.sync(shopSplit(t, "c1", target("stable", 1), target("canary", 1)))
		c := p.connect(t, "edge", "edge-1")
		subscribeAll(c, stable, canary)
		p.until(t, "edge", "settled", settled)
		c.ask(xds.TypeEndpoint)
		c.none() // no name is no wildcard for endpoints

		c.subscribe(xds.TypeEndpoint, "", stable) // without a nonce, as its first request was
		wantNames(t, c.next(xds.TypeEndpoint), stable)
		c.subscribe(xds.TypeEndpoint, "", stable) // it says that it holds nothing
		wantNames(t, c.next(xds.TypeEndpoint), stable)
		c.ask(xds.TypeCluster, stable) // names end the wildcard
		wantNames(t, c.next(xds.TypeCluster), stable)
		c.ask(xds.TypeCluster, "*")
		wantNames(t, c.next(xds.TypeCluster), canary, stable)
		c.none()
		p.until(t, "edge", "settled", settled)
	})
}

func TestAProxyThatComesBackWhileAClusterWarmsGetsItsEndpointsBeforeItsRoutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, _ := servePlane(t)
		before.sync(shopSplit(t, "c1", target("stable", 1), target("canary", 1)))
		c := before.connect(t, "edge", "edge-1")
		subscribeAll(c, stable, canary)
		before.until(t, "edge", "settled", settled)
		held := c.acked

		after, _ := servePlane(t)
		after.sync(shopSplit(t, "c2", target("stable", 0), target("canary", 1)))
		c = after.connect(t, "edge", "edge-1")
		c.held[xds.TypeEndpoint] = true
		// Envoy, whose canary was added once more when the daemon ended: it does not ask for clusters before it is warm.
		c.subscribe(xds.TypeListener, held[xds.TypeListener])
		c.subscribe(xds.TypeRoute, held[xds.TypeRoute], "http")
		c.subscribe(xds.TypeEndpoint, held[xds.TypeEndpoint], stable, canary)
		again := c.next(xds.TypeEndpoint)
		wantNames(t, again, canary, stable)
		if again.VersionInfo != held[xds.TypeEndpoint] {
			t.Errorf("equal endpoints have another version after the restart")
		}
		c.none() // not even the new routes: they name what is not warm

		c.held[xds.TypeEndpoint] = false
		c.ack(xds.TypeEndpoint)
		c.subscribe(xds.TypeCluster, held[xds.TypeCluster])
		c.next(xds.TypeRoute)
		after.until(t, "edge", "settled", settled)
		c.none()
	})
}
