package xds_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// trafficRoutes is what the real Envoy is asked about; each host is one subject.
func trafficRoutes(t *testing.T) []desired.Route {
	t.Helper()
	rewritten := func(from, to string) desired.Route {
		return routeTo("rewrite.test", "echo", prefix(from), func(r *desired.Route) { r.Rewrite.Prefix = new(to) })
	}
	redirected := func(path string, redirect desired.Redirect) desired.Route {
		return routeTo("redirect.test", "", prefix(path), func(r *desired.Route) { r.Redirect = &redirect })
	}
	return []desired.Route{
		// The order is shuffled on purpose: it must not matter.
		routeTo("r.example.test", "root", prefix("/")),
		routeTo("r.example.test", "foo", prefix("/foo")),
		routeTo("r.example.test", "exact", exact("/foo/bar")),
		routeTo("r.example.test", "foobar", prefix("/foo/bar")),

		routeTo("zero.test", "", split(target("stable", 0), target("canary", 0))),
		routeTo("single-zero.test", "", split(target("stable", 0))),
		routeTo("explicit.test", "", split(target("stable", 100), target("canary", 0))),
		routeTo("shares.test", "", split(target("stable", 90), target("canary", 10))),
		routeTo("permille.test", "", split(target("stable", 999), target("canary", 1))),
		routeTo("ghost.test", "ghost", pending),
		routeTo("half-ghost.test", "", split(target("echo", 1), target("ghost", 0)), pending),

		rewritten("/a", "/x"),
		rewritten("/b", "/"),
		rewritten("/c", ""),
		rewritten("/d.e", "/"),
		rewritten("/f", "/x/"),
		rewritten("/g", `/100%25\1`),
		routeTo("rewrite-root.test", "echo", func(r *desired.Route) { r.Rewrite.Prefix = new("/x") }),
		routeTo("rewrite-path.test", "echo", func(r *desired.Route) { r.Rewrite = desired.Rewrite{Path: `/n%20ew\1`, Host: "inner.test"} }),

		redirected("/path", desired.Redirect{Path: "/new", Code: 301}),
		redirected("/prefix", desired.Redirect{Prefix: new("/other"), Code: 308}),
		redirected("/strip", desired.Redirect{Prefix: new("/")}),
		redirected("/scheme", desired.Redirect{Scheme: "https"}),
		routeTo("*.redirect.test", "", func(r *desired.Route) { r.Redirect = &desired.Redirect{Scheme: "https"} }),
		redirected("/host", desired.Redirect{Scheme: "https", Host: "www.example.test", Code: 303}),

		routeTo("direct.test", "", func(r *desired.Route) {
			r.Direct = &desired.DirectResponse{Status: 418, Body: "100% teapot\n"}
			r.Headers.Response.Set = []desired.Header{{Name: "content-type", Value: "text/x-tea"}}
		}),
		routeTo("headers.test", "echo", func(r *desired.Route) {
			r.Headers = desired.Headers{
				Request: desired.HeaderChange{
					Set:    []desired.Header{{Name: "x-empty", Value: ""}, {Name: "x-set", Value: "100%"}},
					Add:    []desired.Header{{Name: "x-add", Value: "two"}},
					Remove: []string{"x-gone"},
				},
				Response: desired.HeaderChange{Set: []desired.Header{{Name: "x-answer", Value: "%REQ(x-set)%"}}},
			}
		}),

		routeTo("match.test", "root"),
		routeTo("match.test", "method", func(r *desired.Route) { r.Match.Method = "POST" }),
		routeTo("match.test", "header", func(r *desired.Route) {
			r.Match.Headers = []desired.ValueMatch{{Name: "x-user", Type: desired.ValueRegex, Value: "a+"}}
		}),
		routeTo("match.test", "query", func(r *desired.Route) {
			r.Match.Query = []desired.ValueMatch{{Name: "beta", Type: desired.ValuePresent}}
		}),
		routeTo("match.test", "regex", at(desired.PathRegex, "/v[0-9]+/items")),

		routeTo("*.wild.test", "wild"),
		routeTo("deep.wild.test", "deep"),
		routeTo("*", "any"),

		routeTo("retry.test", "flaky", func(r *desired.Route) { r.Retries = &desired.Retries{Attempts: 3, On: []string{"5xx"}} }),
		routeTo("slow.test", "slow", func(r *desired.Route) { r.Timeout = new(200 * time.Millisecond) }),
		routeTo("h2.test", "h2", func(r *desired.Route) { r.Backends[0].Upstream.Protocol = desired.GRPC }),
	}
}

func trafficWorld(t *testing.T) xds.World {
	t.Helper()
	services := map[string][]xds.Endpoint{}
	for _, name := range []string{
		"root", "foo", "exact", "foobar", "stable", "canary", "echo", "method", "header", "query", "regex", "wild", "deep", "any",
	} {
		services[name] = []xds.Endpoint{echo(t, name, nil)}
	}
	var calls atomic.Int32
	services["flaky"] = []xds.Endpoint{echo(t, "flaky", func(w http.ResponseWriter, _ *http.Request) bool {
		fails := calls.Add(1) < 3
		if fails {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return fails
	})}
	services["slow"] = []xds.Endpoint{echo(t, "slow", func(_ http.ResponseWriter, r *http.Request) bool {
		<-r.Context().Done()
		return true
	})}
	services["h2"] = []xds.Endpoint{echoHTTP2(t, "h2")}
	return worldOf(services)
}
