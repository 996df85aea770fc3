package xds_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// stickyWorld has two targets of three pods each, and a shadow that counts what it gets.
func stickyWorld(t *testing.T, mirrored *atomic.Int64) xds.World {
	t.Helper()
	pods := func(name string) []xds.Endpoint {
		var out []xds.Endpoint
		for i := range 3 {
			out = append(out, echo(t, fmt.Sprintf("%s-%d", name, i), nil))
		}
		return out
	}
	shadow := echo(t, "shadow", func(http.ResponseWriter, *http.Request) bool {
		mirrored.Add(1)
		return false
	})
	return worldOf(map[string][]xds.Endpoint{
		"stable": pods("stable"), "canary": pods("canary"), "shadow": {shadow},
	})
}

func sticky(s desired.Sticky, balancer desired.Balancer, stable, canary uint32) func(*desired.Route) {
	return func(r *desired.Route) {
		r.Listener.Address, r.Listener.Port = "127.0.0.1", 0
		r.Backends, r.Sticky = []desired.Backend{target("stable", stable), target("canary", canary)}, &s
		for i := range r.Backends {
			r.Backends[i].Upstream.Balancer = balancer
		}
	}
}

// By chance alone a client would change its target with every request, and its pod.
func TestAStickyClientKeepsToOneTargetAndOnePod(t *testing.T) {
	t.Parallel()
	var mirrored atomic.Int64
	e, world := startEnvoy(t), stickyWorld(t, &mirrored)
	routes := func(stable, canary uint32) []desired.Route {
		return []desired.Route{
			routeTo("cookie.test", "", sticky(desired.Sticky{Cookie: "user", Path: "/"}, desired.RingHash, stable, canary)),
			routeTo("header.test", "", sticky(desired.Sticky{Header: "x-user"}, desired.Maglev, stable, canary)),
			routeTo("mirrored.test", "stable", func(r *desired.Route) {
				r.Listener.Address, r.Listener.Port = "127.0.0.1", 0
				r.Mirror = &desired.Mirror{Upstream: serviceOf("shadow"), Percent: 100}
			}),
		}
	}
	e.publish(t, mustBuild(t, xds.Input{Desired: routes(50, 50), World: world}))
	address := e.address(t, desired.DefaultListener)

	const clients, requests = 60, 5
	backends := map[string]map[string]string{}
	for host, header := range map[string]string{"cookie.test": "cookie:user=%d", "header.test": "x-user:%d"} {
		of := map[string]string{}
		for client := range clients {
			user := fmt.Sprintf(header, client)
			for range requests {
				got := e.ask(t, address, "GET http://"+host+"/ "+user)
				if was := of[user]; was != "" && was != got.backend {
					t.Errorf("%s, %s: went to %s and to %s", host, user, was, got.backend)
				}
				of[user] = got.backend
			}
		}
		backends[host] = of
		if n := toCanary(of); n < clients/4 || n > clients*3/4 {
			t.Errorf("%s: %d of %d clients are on the canary, want about half", host, n, clients)
		}
	}

	// A bigger share takes clients along and sends none of its own back.
	e.publish(t, mustBuild(t, xds.Input{Desired: routes(20, 80), World: world}))
	eventually(t, "the new weights", func() error {
		for user := range backends["header.test"] {
			if was := backends["header.test"][user]; strings.HasPrefix(was, "stable") &&
				strings.HasPrefix(e.ask(t, address, "GET http://header.test/ "+user).backend, "canary") {
				return nil
			}
		}
		return fmt.Errorf("nobody has moved")
	})
	for host, of := range backends {
		for user, was := range of {
			now := e.ask(t, address, "GET http://"+host+"/ "+user).backend
			if strings.HasPrefix(was, "canary") && now != was {
				t.Errorf("%s, %s: was on %s, whose target's share has grown, and is on %s", host, user, was, now)
			}
		}
	}
	newClient(t, e, address)
	before := mirrored.Load()
	for range 10 {
		if got := e.ask(t, address, "GET http://mirrored.test/"); !strings.HasPrefix(got.backend, "stable") {
			t.Errorf("answered by %q", got.backend)
		}
	}
	eventually(t, "the copies", func() error {
		if n := mirrored.Load() - before; n != 10 {
			return fmt.Errorf("%d copies of 10 requests", n)
		}
		return nil
	})
}

func toCanary(of map[string]string) int {
	n := 0
	for _, backend := range of {
		if strings.HasPrefix(backend, "canary") {
			n++
		}
	}
	return n
}

// newClient is answered with a cookie that keeps it. Envoy makes the cookie when it picks the pod, after the target: the first
// answer may come from a target that is not the client's.
func newClient(t *testing.T, e *realEnvoy, address string) {
	t.Helper()
	for range 20 {
		header, _ := e.send(t, address, "GET http://cookie.test/")
		cookie, _, _ := strings.Cut(header.Get("Set-Cookie"), ";")
		name, value, _ := strings.Cut(cookie, "=")
		if name != "user" || value == "" {
			t.Fatalf("Set-Cookie: %q", header.Get("Set-Cookie"))
		}
		request := "GET http://cookie.test/ cookie:user=" + strings.Trim(value, `"`)
		second := e.ask(t, address, request)
		for range 3 {
			if next := e.ask(t, address, request); next.backend != second.backend {
				t.Errorf("a client went from %s to %s", second.backend, next.backend)
			}
		}
	}
}
