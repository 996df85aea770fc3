package xds_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// oddRoutes are what a repository may well say; Envoy refuses a whole table for one route that it does not like, so what
// Build lets through must be to its liking.
func oddRoutes() map[string]desired.Route {
	regex := func(pathType desired.PathType, value string) desired.Route {
		return routeTo("a.test", "web", at(pathType, value))
	}
	return map[string]desired.Route{
		"a large expression":       regex(desired.PathRegex, "/.{990}"),
		"large character classes":  regex(desired.PathRegex, `/\pL{990}`),
		"a host with a space":      routeTo("a b", "web"),
		"a host with a port":       routeTo("a.test:80", "web"),
		"a lone percent in a path": regex(desired.PathPrefix, "/%"),
		"a matrix parameter":       regex(desired.PathPrefix, "/a;b"),
		"a question mark":          regex(desired.PathExact, "/a?b"),
		"a long direct response": routeTo("a.test", "web", func(r *desired.Route) {
			r.Backends, r.Direct = nil, &desired.DirectResponse{Status: 599, Body: strings.Repeat("x", 4096)}
		}),
		"percents in a redirect": routeTo("a.test", "", func(r *desired.Route) {
			r.Redirect = &desired.Redirect{Path: "/a%b?x#y", Host: "a%b"}
		}),
		"percents in a rewrite": routeTo("a.test", "web", prefix("/a"), func(r *desired.Route) {
			r.Rewrite = desired.Rewrite{Prefix: new("/%REQ("), Host: "a%b c"}
		}),
		"percents in a header": routeTo("a.test", "web", func(r *desired.Route) {
			r.Headers.Response.Set = []desired.Header{{Name: "x-a", Value: "%REQ("}, {Name: "x-b", Value: "%"}}
		}),
		"a header that is none": routeTo("a.test", "web", func(r *desired.Route) {
			r.Match.Headers = []desired.ValueMatch{{Name: "a b", Type: desired.ValueExact}}
		}),
		"the longest timeout": routeTo("a.test", "web", func(r *desired.Route) {
			r.Timeout, r.Retries = new(366*24*time.Hour), &desired.Retries{PerTryTimeout: 366 * 24 * time.Hour}
			r.Backends[0].Upstream.ConnectTimeout = 366 * 24 * time.Hour
		}),
		"no timeout":          routeTo("a.test", "web", func(r *desired.Route) { r.Timeout = new(time.Duration) }),
		"the largest weights": routeTo("a.test", "", split(target("web", 1<<31), target("web", 1<<31-1))),
		"every retry condition": routeTo("a.test", "web", func(r *desired.Route) {
			r.Retries = &desired.Retries{On: strings.Fields("5xx gateway-error reset reset-before-request connect-failure " +
				"envoy-ratelimited retriable-4xx refused-stream cancelled deadline-exceeded internal resource-exhausted unavailable")}
		}),
		"an access log": routeTo("a.test", "web", func(r *desired.Route) {
			r.Listener.AccessLog = "/dev/stdout"
			r.Listener.AccessLogFormat = `%START_TIME(%Y-%m-%dT%H:%M:%S.%3fZ)% "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH):20%" %% %RESPONSE_CODE%`
		}),
		"an IPv6 listener": routeTo("a.test", "web", func(r *desired.Route) { r.Listener.Address = "::1" }),
	}
}

func TestRealEnvoyTakesWhatBuildTakes(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t)
	var routes []desired.Route
	for name, r := range oddRoutes() {
		// A listener each, so that Envoy says which one it refuses.
		r.Listener.Name, r.Listener.Port = name, 0
		if r.Listener.Address == desired.DefaultAddress {
			r.Listener.Address = "127.0.0.1"
		}
		routes = append(routes, r)
	}
	e.publish(t, mustBuild(t, xds.Input{Desired: routes, World: worldOf(map[string][]xds.Endpoint{"web": {echo(t, "web", nil)}})}))
	eventually(t, "all tables", func() error {
		if _, refusal, found := strings.Cut(e.log.String(), "rejected: "); found {
			t.Fatalf("Envoy refuses what Build lets through: %.300s", refusal)
		}
		page, err := e.adminPage(t.Context(), "/stats?filter="+`rds.*update_success`)
		if err != nil {
			return err
		}
		if n := strings.Count(string(page), "update_success: 1"); n != len(routes) {
			return fmt.Errorf("%d of %d tables are in", n, len(routes))
		}
		return nil
	})
}

func TestWhatNoEnvoyTakesIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		route  desired.Route
		want   string
	}{
		"an expression that is none": {
			reason: "one bad expression would take all hosts of the listener down with it",
			route:  routeTo("a.test", "web", at(desired.PathRegex, "/(")),
			want:   "apps/a.test.yaml:1: ProxyRoute shop/a.test: spec.rules[0].match.path.value: error parsing regexp: missing closing ): `/(`",
		},
		"an expression that explodes": {
			reason: "Envoy bounds the size of a compiled expression",
			route:  routeTo("a.test", "web", at(desired.PathRegex, "/((a{100}){100}){10}")),
			want:   "spec.rules[0].match.path.value: ",
		},
		"a prefix rewrite without a prefix": {
			reason: "there is nothing that it could replace",
			route: routeTo("a.test", "web", exact("/a"), func(r *desired.Route) {
				r.Rewrite.Prefix = new("/b")
			}),
			want: "spec.rules[0].rewrite.prefix: replaces the prefix that is matched: the rule's path must be of type Prefix",
		},
		"a relative path": {
			reason: "the backend would get a request line that is none",
			route:  routeTo("a.test", "web", func(r *desired.Route) { r.Rewrite.Path = "b" }),
			want:   `spec.rules[0].rewrite.path: "b" must begin with /`,
		},
		"the host header": {
			reason: "Envoy refuses the table",
			route: routeTo("a.test", "web", func(r *desired.Route) {
				r.Headers.Request.Remove = []string{"Host"}
			}),
			want: "spec.rules[0].headers.request: header Host cannot be changed here; rewrite.host and rewrite.path can",
		},
		"a line break in a header": {
			reason: "Envoy refuses the table",
			route: routeTo("a.test", "web", func(r *desired.Route) {
				r.Headers.Request.Set = []desired.Header{{Name: "x", Value: "a\r\nb"}}
			}),
			want: "RequestHeadersToAdd",
		},
		"a retry condition that is none": {
			reason: "Envoy ignores it without a word",
			route: routeTo("a.test", "web", func(r *desired.Route) {
				r.Retries = &desired.Retries{On: []string{"502"}}
			}),
			want: `spec.rules[0].retries.on: "502" is no retry condition of Envoy; those are 5xx, `,
		},
		"a negative timeout": {
			reason: "Envoy refuses the table",
			route:  routeTo("a.test", "web", func(r *desired.Route) { r.Timeout = new(-time.Second) }),
			want:   "spec.rules[0].timeout: -1s must be from 0s to 8784h0m0s",
		},
		"weights that overflow": {
			reason: "Envoy adds them up in 32 bits",
			route:  routeTo("a.test", "", split(target("web", 1<<31), target("api", 1<<31))),
			want:   "spec.rules[0].backend: the weights add up to 4294967296; Envoy takes at most 4294967295",
		},
		"a long body": {
			reason: "Envoy refuses the table",
			route: routeTo("a.test", "", func(r *desired.Route) {
				r.Direct = &desired.DirectResponse{Status: http.StatusOK, Body: strings.Repeat("x", 4097)}
			}),
			want: "spec.rules[0].directResponse.body: is 4097 bytes long; Envoy takes at most 4096",
		},
		"nothing to do": {
			reason: "a route with no action matches, and answers what nobody said",
			route:  routeTo("a.test", ""),
			want:   "spec.rules[0].backend: set one of backend, redirect and directResponse, not 0",
		},
		"an access log with a lone percent sign": {
			reason: "Envoy refuses the listener",
			route: routeTo("a.test", "web", func(r *desired.Route) {
				r.Listener.AccessLog, r.Listener.AccessLogFormat = "/dev/stdout", "100% %PROTOCOL%"
			}),
			want: "spec.listener: listener http: accessLog.format: a % stands alone",
		},
		"a listener on a name": {
			reason: "Envoy binds addresses",
			route:  routeTo("a.test", "web", func(r *desired.Route) { r.Listener.Address = "localhost" }),
			want:   "spec.listener: listener http: localhost port 10000 is no IP address and port",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := xds.Build(xds.Input{Group: testGroup, Desired: []desired.Route{tc.route}}, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %s\nbecause %s", err, tc.want, tc.reason)
			}
		})
	}
}
