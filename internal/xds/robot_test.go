package xds_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// robot behaves like Envoy: it warms clusters before it acknowledges them, answers late, and comes back with what it held.
// It complains when its routes name a cluster that it does not have.
type robot struct {
	*client
	r        *rand.Rand
	clusters map[string]bool // that have their endpoints
	warming  map[string]bool
	owed     *discoveryv3.DiscoveryResponse // the answer with clusters that is acknowledged when all are warm
	routes   []string                       // clusters that the routes name
	refuse   string                         // a cluster whose routes it does not take
	patience time.Duration
	started  bool // asked for listeners and routes
	serves   bool // had all that its routes name
}

func (b *robot) run(done <-chan struct{}) {
	if len(b.warming) == 0 {
		b.subscribe(xds.TypeCluster, b.acked[xds.TypeCluster])
	}
	if b.started || len(b.warming) > 0 {
		all := maps.Clone(b.clusters)
		maps.Copy(all, b.warming)
		b.subscribe(xds.TypeEndpoint, b.acked[xds.TypeEndpoint], names(all)...)
	}
	if b.started {
		b.listen()
	}
	for {
		select {
		case <-done:
			return
		case resp, ok := <-b.in:
			if !ok {
				return
			}
			select {
			case <-done:
				return
			case <-time.After(time.Duration(b.r.Int64N(int64(b.patience)))):
			}
			b.apply(resp)
		}
	}
}

// listen asks for listeners and routes; at its start Envoy does so once it has its clusters.
func (b *robot) listen() {
	b.started = true
	b.subscribe(xds.TypeListener, b.acked[xds.TypeListener])
	b.subscribe(xds.TypeRoute, b.acked[xds.TypeRoute], "http")
}

func names(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }

func (b *robot) apply(resp *discoveryv3.DiscoveryResponse) {
	b.last[resp.TypeUrl] = resp
	switch resp.TypeUrl {
	case xds.TypeCluster:
		b.applyClusters(resp)
	case xds.TypeEndpoint:
		b.ack(xds.TypeEndpoint)
		for _, name := range namesIn(resp) {
			if b.warming[name] {
				delete(b.warming, name)
				b.clusters[name] = true
			}
		}
		b.warm()
	case xds.TypeRoute:
		now := clustersIn(resp)
		if slices.Contains(now, b.refuse) {
			b.nack(xds.TypeRoute)
			return
		}
		b.routes = now
		b.check("after new routes")
		b.ack(xds.TypeRoute)
	default:
		b.ack(resp.TypeUrl)
	}
}

func (b *robot) applyClusters(resp *discoveryv3.DiscoveryResponse) {
	now := namesIn(resp)
	b.owed = resp
	b.acked[xds.TypeCluster] = resp.VersionInfo // what a new stream would say, although the ACK is held back
	maps.DeleteFunc(b.clusters, func(name string, _ bool) bool { return !slices.Contains(now, name) })
	maps.DeleteFunc(b.warming, func(name string, _ bool) bool { return !slices.Contains(now, name) })
	b.check("after new clusters")
	for _, name := range now {
		if !b.clusters[name] {
			b.warming[name] = true
		}
	}
	if _, subscribed := b.names[xds.TypeEndpoint]; subscribed {
		b.ask(xds.TypeEndpoint, now...)
	} else {
		b.subscribe(xds.TypeEndpoint, "", now...)
	}
	b.warm()
}

// warm acknowledges clusters once they have their endpoints. On a new stream Envoy says nothing of clusters until then.
func (b *robot) warm() {
	if len(b.warming) > 0 {
		return
	}
	if _, subscribed := b.names[xds.TypeCluster]; !subscribed {
		b.subscribe(xds.TypeCluster, b.acked[xds.TypeCluster])
	}
	if b.owed != nil {
		b.owed = nil
		b.ack(xds.TypeCluster)
	}
	if !b.started {
		b.listen()
	}
}

// check complains about lost traffic; before routes and clusters are in for the first time there is none.
func (b *robot) check(when string) {
	for _, name := range b.routes {
		if !b.clusters[name] && b.serves {
			b.t.Errorf("%s: %s routes to %s, which it does not have: %v", when, b.node.Id, name, names(b.clusters))
		}
		if !b.clusters[name] {
			return
		}
	}
	b.serves = b.routes != nil
}

// reconnect closes the stream and returns the same proxy on a new one.
func (b *robot) reconnect(p *plane) {
	b.close()
	held := b.client
	b.client = p.connect(b.t, held.node.Cluster, held.node.Id)
	b.acked = held.acked
	b.owed = nil
}

// A random life: commits that come while the last is still going out, proxies that are slow, go and come back, and one that
// refuses what the others take. Whatever happens, no proxy routes to a cluster that it does not have.
func TestRoutesNeverNameAClusterThatTheProxyLacks(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { randomLife(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func randomLife(t *testing.T, r *rand.Rand) {
	t.Helper()
	p, _ := servePlane(t)
	services := []string{"blue", "canary", "green", "stable", "teal"}
	commit := func(i int) xds.Snapshot {
		var targets []desired.Backend
		for _, n := range r.Perm(len(services))[:1+r.IntN(3)] {
			targets = append(targets, target(services[n], 1+r.Uint32N(3)))
		}
		return shopSplit(t, fmt.Sprint("c", i), targets...)
	}
	var robots []*robot
	for i := range 1 + r.IntN(4) {
		b := &robot{
			client: p.connect(t, "edge", fmt.Sprint("edge-", i)), r: rand.New(rand.NewPCG(r.Uint64(), 2)),
			clusters: map[string]bool{}, warming: map[string]bool{},
			patience: time.Duration(1 + r.Int64N(int64(12*time.Second))),
		}
		if i == 3 {
			b.refuse = "shop/teal/8080"
		}
		robots = append(robots, b)
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	for _, b := range robots {
		running.Go(func() {
			for {
				pause := make(chan struct{})
				timer := time.AfterFunc(time.Duration(b.r.Int64N(int64(3*time.Minute))), func() { close(pause) })
				b.run(either(done, pause))
				timer.Stop()
				select {
				case <-done:
					return
				default:
				}
				b.reconnect(p)
			}
		})
	}
	for i := range 12 {
		p.sync(commit(i))
		pass(time.Duration(r.Int64N(int64(40 * time.Second))))
	}
	last := shopSplit(t, "last", target("stable", 1))
	p.sync(last)
	pass(10 * time.Minute)
	p.until(t, "edge", "settled", settled)
	close(done)
	running.Wait()
	for _, b := range robots {
		if !slices.Equal(b.routes, []string{stable}) || !slices.Equal(names(b.clusters), []string{stable}) {
			t.Errorf("%s routes to %v and has %v, want %s", b.node.Id, b.routes, names(b.clusters), stable)
		}
	}
}

// either is closed when a or b is.
func either(a, b <-chan struct{}) <-chan struct{} {
	out := make(chan struct{})
	go func() {
		defer close(out)
		select {
		case <-a:
		case <-b:
		}
	}()
	return out
}
