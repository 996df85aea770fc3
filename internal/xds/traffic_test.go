package xds_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestRealEnvoyServesWhatBuildSays(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t)
	world, routes := trafficWorld(t), trafficRoutes(t)
	for i := range routes {
		// Port 0: the kernel chooses.
		routes[i].Listener.Address, routes[i].Listener.Port = "127.0.0.1", 0
	}
	e.publish(t, mustBuild(t, xds.Input{Desired: routes, World: world}))
	address := e.address(t, desired.DefaultListener)

	for name, tc := range trafficCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := e.ask(t, address, tc.request)
			if tc.want.location != "" && !strings.Contains(tc.want.location, "://") {
				tc.want.location = "http://" + got.host + tc.want.location
			}
			got.host = ""
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(answer{})); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", tc.request, tc.reason, diff)
			}
		})
	}
	t.Run("headers are changed literally", func(t *testing.T) {
		t.Parallel()
		headersThroughEnvoy(t, e, address)
	})
	t.Run("shares follow the weights", func(t *testing.T) {
		t.Parallel()
		sharesThroughEnvoy(t, e, address)
	})
}

// answer is what a client sees; path and backend are told by the backend.
type answer struct {
	status   int
	backend  string
	path     string
	body     string
	location string
	host     string
}

type trafficCase struct {
	reason string
	// request is METHOD URL [header:value].
	request string
	want    answer
}

func trafficCases(t *testing.T) map[string]trafficCase {
	t.Helper()
	cases := map[string]trafficCase{}
	add := func(reason, request string, want answer) {
		if want.status == 0 {
			want.status = http.StatusOK
		}
		cases[request] = trafficCase{reason: reason, request: request, want: want}
	}
	for path, backend := range readRequests(t, "testdata/paths/requests.txt") {
		add("a prefix compares segments; exact before prefix, longer before shorter", "GET http://r.example.test"+path,
			answer{backend: backend, path: path})
	}
	unavailable := func(why string) answer { return answer{status: 503, body: "tidelock: " + why + "\n"} }
	add("nobody is to answer", "GET http://zero.test/", unavailable("every target has weight 0"))
	add("a lone target of weight 0 is no 100 %", "GET http://single-zero.test/", unavailable("every target has weight 0"))
	add("a pending Service is named", "GET http://ghost.test/", unavailable("Service shop/ghost is not there yet"))
	add("a pending target of weight 0 is in nobody's way", "GET http://half-ghost.test/", answer{backend: "echo", path: "/"})

	rewrites := map[string]string{
		"/a": "/x", "/a/": "/x/", "/a/b": "/x/b", "/a?q=1": "/x?q=1",
		"/b": "/", "/b/": "/", "/b/c": "/c", "/b?q=1": "/?q=1", "/b//c": "//c",
		"/c": "/", "/c/d": "/d",
		"/d.e/f": "/f",
		"/f":     "/x", "/f/g": "/x/g",
		"/g/h": `/100%25\1/h`,
	}
	for from, to := range rewrites {
		add("as in Gateway API a prefix is replaced by segments", "GET http://rewrite.test"+from, answer{backend: "echo", path: to})
	}
	add("/ is the empty prefix", "GET http://rewrite-root.test/b", answer{backend: "echo", path: "/x/b"})
	add("/ is the empty prefix", "GET http://rewrite-root.test/", answer{backend: "echo", path: "/x/"})
	add("the whole path goes, the query stays", "GET http://rewrite-path.test/any/thing?q=1", answer{backend: "echo", path: `/n%20ew\1?q=1`})

	add("the query stays", "GET http://redirect.test/path/x?q=1", answer{status: 301, location: "/new?q=1"})
	add("only the prefix goes", "GET http://redirect.test/prefix/x", answer{status: 308, location: "/other/x"})
	add("no double slash", "GET http://redirect.test/strip/x", answer{status: 302, location: "/x"})
	add("scheme and host go", "GET http://redirect.test/host/x", answer{status: 303, location: "https://www.example.test/host/x"})
	add("a new scheme has its own port", "GET http://redirect.test:10000/scheme/x?q=1",
		answer{status: 302, location: "https://redirect.test/scheme/x?q=1"})
	add("a new scheme has its own port", "GET http://redirect.test/scheme/x", answer{status: 302, location: "https://redirect.test/scheme/x"})
	add("a new scheme has its own port", "GET http://a.redirect.test:10000/x", answer{status: 302, location: "https://a.redirect.test:443/x"})
	add("a body is literal", "GET http://direct.test/", answer{status: 418, body: "100% teapot\n"})

	match := func(request, backend string) {
		add("all that a match sets must hold", request, answer{backend: backend, path: request[strings.Index(request, "test/")+4:]})
	}
	match("GET http://match.test/", "root")
	match("POST http://match.test/", "method")
	match("GET http://match.test/?beta", "query")
	match("GET http://match.test/v1/items", "regex")
	match("GET http://match.test/v1/items/", "root")
	match("GET http://match.test/xv1/items", "root")
	add("a regex matches the whole value", "GET http://match.test/ x-user:aaa", answer{backend: "header", path: "/"})
	add("a regex matches the whole value", "GET http://match.test/ x-user:aab", answer{backend: "root", path: "/"})

	add("the port of a host is not compared", "GET http://match.test:8443/", answer{backend: "root", path: "/"})
	add("a wildcard matches below", "GET http://a.b.wild.test/", answer{backend: "wild", path: "/"})
	add("the exact host wins", "GET http://deep.wild.test/", answer{backend: "deep", path: "/"})
	add("any host", "GET http://elsewhere.test/", answer{backend: "any", path: "/"})
	add("hosts have no case", "GET http://DEEP.wild.TEST/", answer{backend: "deep", path: "/"})

	add("slashes are left alone", "GET http://match.test//v1/items/", answer{backend: "root", path: "//v1/items/"})
	add("escaped slashes are left alone", "GET http://r.example.test/foo%2Fbar", answer{backend: "root", path: "/foo%2Fbar"})
	add("a path cannot step out of its prefix", "GET http://r.example.test/foo/bar/../../x", answer{backend: "root", path: "/x"})

	add("two attempts fail, the third is good", "GET http://retry.test/", answer{backend: "flaky", path: "/"})
	add("the timeout is the route's", "GET http://slow.test/", answer{status: 504, body: "upstream request timeout"})
	add("HTTP/2 with prior knowledge", "GET http://h2.test/", answer{backend: "h2", path: "/"})
	return cases
}

// readRequests reads lines of a path and the backend that it goes to.
func readRequests(t *testing.T, name string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 2 {
			out[fields[0]] = fields[1]
		}
	}
	if len(out) == 0 {
		t.Fatalf("%s: no requests", name)
	}
	return out
}

// ask sends one request to Envoy, the path as it is written.
func (e *realEnvoy) ask(t *testing.T, address, request string) answer {
	t.Helper()
	header, got := e.send(t, address, request)
	got.location = header.Get("Location")
	if told := tell(got.body); told.Backend != "" {
		got.backend, got.path, got.body = told.Backend, told.Path, ""
	}
	return got
}

// tell reads what an echo says; zero where something else answered.
func tell(body string) echoed {
	var out echoed
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		return echoed{}
	}
	return out
}

// send returns the header, the status and the body of an answer.
func (e *realEnvoy) send(t *testing.T, address, request string) (http.Header, answer) {
	t.Helper()
	fields := strings.Fields(request)
	host, path, _ := strings.Cut(strings.TrimPrefix(fields[1], "http://"), "/")
	req, err := http.NewRequestWithContext(t.Context(), fields[0], "http://"+address+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.URL.RawPath, req.URL.RawQuery, _ = strings.Cut("/"+path, "?")
	if req.URL.Path, err = url.PathUnescape(req.URL.RawPath); err != nil {
		t.Fatal(err)
	}
	for _, h := range fields[2:] {
		name, value, _ := strings.Cut(h, ":")
		req.Header.Add(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	return resp.Header, answer{status: resp.StatusCode, body: string(body), host: host}
}

func headersThroughEnvoy(t *testing.T, e *realEnvoy, address string) {
	t.Helper()
	header, reply := e.send(t, address, "GET http://headers.test/ x-add:one x-gone:here x-set:old")
	told := tell(reply.body)
	got := map[string][]string{}
	for _, name := range []string{"X-Set", "X-Add", "X-Gone", "X-Empty"} {
		got[name] = told.Header[name]
	}
	got["x-answer"] = header["X-Answer"]
	want := map[string][]string{
		"X-Set": {"100%"}, "X-Add": {"one", "two"}, "X-Gone": nil, "X-Empty": {""}, "x-answer": {"%REQ(x-set)%"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	header, _ = e.send(t, address, "GET http://direct.test/")
	if got := header.Get("Content-Type"); got != "text/x-tea" {
		t.Errorf("a direct response has content type %q, want text/x-tea", got)
	}
	_, reply = e.send(t, address, "GET http://rewrite-path.test/")
	if got := tell(reply.body).Host; got != "inner.test" {
		t.Errorf("the backend was asked for host %q, want inner.test", got)
	}
	_, reply = e.send(t, address, "GET http://h2.test/")
	if got := tell(reply.body).Proto; got != "HTTP/2.0" {
		t.Errorf("the backend was asked by %q, want HTTP/2.0", got)
	}
}

// sharesThroughEnvoy sends 10,000 requests: the canary's share of 10 % has a standard deviation of 30 requests.
func sharesThroughEnvoy(t *testing.T, e *realEnvoy, address string) {
	t.Helper()
	const requests, share, sigma = 10_000, 1_000, 30
	if n := e.count(t, address, "shares.test", requests); n < share-5*sigma || n > share+5*sigma {
		t.Errorf("the canary got %d of %d requests, want %d", n, requests, share)
	}
	if n := e.count(t, address, "permille.test", requests); n < 1 || n > 30 {
		t.Errorf("a canary of 0.1 %% got %d of %d requests, want about 10", n, requests)
	}
	if n := e.count(t, address, "explicit.test", 5_000); n != 0 {
		t.Errorf("a canary of weight 0 got %d requests", n)
	}
}

// count returns how many of n requests the canary answered.
func (e *realEnvoy) count(t *testing.T, address, host string, n int) int {
	t.Helper()
	canary := 0
	for range n {
		switch got := e.ask(t, address, fmt.Sprintf("GET http://%s/", host)); got.backend {
		case "canary":
			canary++
		case "stable":
		default:
			t.Fatalf("%s answered %+v", host, got)
		}
	}
	return canary
}
