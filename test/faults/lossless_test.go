//go:build e2e

package faults

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tidelock/tidelock/test/env"
)

// rate is how many requests a second there are, and leastRate how many a machine that does other things has to manage.
const (
	rate      = 250
	leastRate = 200
)

// No request is lost in a push: while random commits add, move, rename and remove backends, hosts, mocks and splits, every
// request through a real Envoy to a host that is in the commit before and in the one after is answered, by a backend that
// one of the two leads to.
func TestNoRequestIsLostInAPush(t *testing.T) {
	t.Parallel()
	const length = time.Minute
	seed := uint64(time.Now().UnixNano())
	if *first != 0 {
		seed = *first
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	d := daemonOn(t, env.Cluster(t), env.Cluster(t).Namespace(t))
	at := newStage(t, d.name)
	s := newScene(r)
	commit := d.repo.Push(t, map[string]string{"all.yaml": s.manifests(at)})
	d.start(t)
	d.settled(t, commit, nil)
	d.envoy(t)
	d.settled(t, commit, nil)

	l := newLoad(at)
	l.expect(s)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	began := time.Now()
	running.Go(func() { l.run(ctx) })
	defer running.Wait()
	defer stop()
	end := time.NewTimer(length)
	defer end.Stop()
	var done []string
	counts := map[string]int{}
	for pushes := 0; ; pushes++ {
		select {
		case <-end.C:
			took := time.Since(began)
			stop()
			running.Wait()
			perSecond := float64(l.answered) / took.Seconds()
			t.Logf("%d pushes of %v: %d requests in %s, %.0f a second, %d failed", pushes, counts, l.answered, took, perSecond, len(l.failures))
			if perSecond < leastRate {
				t.Errorf("%.0f requests a second prove too little: want %d", perSecond, leastRate)
			}
			return
		default:
		}
		done = done[:0]
		for range 1 + r.IntN(3) {
			done = append(done, s.change(r))
			counts[done[len(done)-1]]++
		}
		l.push(s)
		commit := d.repo.Push(t, map[string]string{"all.yaml": s.manifests(at)})
		if r.IntN(4) > 0 { // else the next one comes on its heels
			d.settled(t, commit, nil)
			l.expect(s)
		}
		if failures := l.failed(); len(failures) > 0 {
			t.Fatalf("push %d, %q, of seed %d, lost requests: %v", pushes, done, seed, failures)
		}
	}
}

// envoy starts a real Envoy that this daemon serves.
func (d *daemon) envoy(t *testing.T) *env.Envoy {
	t.Helper()
	return env.StartEdge(t, binary, d.xdsPort)
}

// newStage starts the servers behind services and addresses.
func newStage(t *testing.T, namespace string) stage {
	t.Helper()
	at := stage{namespace: namespace, address: outward(t), accessLog: t.TempDir() + "/log", ports: []int{env.FreePort(t), env.FreePort(t)}}
	for i := range spots {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", ":0")
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, spotText(i))
		}))
		_ = server.Listener.Close()
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
		at.spots = append(at.spots, listener.Addr().(*net.TCPAddr).Port)
	}
	return at
}

// outward is an address of this machine that an EndpointSlice may hold: not a loopback one.
func outward(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Fatal("this machine has no IPv4 address but loopback, and an EndpointSlice takes none of those")
	return ""
}

// load makes requests to what must answer.
type load struct {
	at     stage
	client http.Client

	mu       sync.Mutex
	must     picture
	answered int
	failures []string
}

// target is what a request asks for.
type target struct {
	host     string
	listener int
	path     string
}

func newLoad(at stage) *load {
	return &load{at: at, client: http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: most}}}
}

// picture is what a request may meet: what each target leads to, of which backends, and what these answer. While a push is
// on its way all of it may be as before or as after, each for itself: a route that has not switched yet leads to a backend
// that was edited already.
type picture struct {
	leads   map[target]set
	members map[string]set // of splits
	answers map[string]set // of backends
}

type set map[string]bool

func pictureOf(s *scene) picture {
	p := picture{leads: map[target]set{}, members: map[string]set{}, answers: map[string]set{}}
	for name, h := range s.hosts {
		p.leads[target{name, h.listener, "/who"}] = set{h.to: true}
		p.leads[target{name, h.listener, "/deep/who"}] = set{h.deep: true}
	}
	for name, sp := range s.splits {
		p.members[name] = sp.reached()
	}
	for name, b := range s.backends {
		p.answers[name] = set{b.text: true}
		if b.kind != "mock" {
			p.answers[name] = set{spotText(b.spot): true}
		}
	}
	return p
}

// with adds what another picture has.
func (p picture) with(o picture) {
	for t, names := range p.leads {
		if o.leads[t] == nil {
			delete(p.leads, t) // it is on its way out
			continue
		}
		maps.Copy(names, o.leads[t])
	}
	for _, both := range []struct{ have, add map[string]set }{{p.members, o.members}, {p.answers, o.answers}} {
		for name, more := range both.add {
			if both.have[name] == nil {
				both.have[name] = set{}
			}
			maps.Copy(both.have[name], more)
		}
	}
}

// allowed are the answers that a target may give; nil where it need not answer.
func (p picture) allowed(t target) set {
	if p.leads[t] == nil {
		return nil
	}
	out := set{}
	for name := range p.leads[t] {
		maps.Copy(out, p.answers[name])
		for b := range p.members[name] {
			maps.Copy(out, p.answers[b])
		}
	}
	return out
}

// expect says that a scene is live: exactly that must answer.
func (l *load) expect(s *scene) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.must = pictureOf(s)
}

// push says that a scene is on its way: what is in both must answer.
func (l *load) push(s *scene) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.must.with(pictureOf(s))
}

func (l *load) failed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.failures)
}

// most is how many requests may be under way at once.
const most = 64

// run makes requests at a constant rate until ctx ends, however long each takes: what a tick that came late owes is made up.
func (l *load) run(ctx context.Context) {
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	var under sync.WaitGroup
	defer under.Wait()
	due := make(chan struct{}, rate)
	for range most {
		under.Go(func() {
			for range due {
				l.request(ctx)
			}
		})
	}
	defer close(due)
	began, sent := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for ; sent < int(time.Since(began).Seconds()*rate); sent++ {
			select {
			case due <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	}
}

// choose returns one target of those that must answer.
func (l *load) choose() (target, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := rand.IntN(max(len(l.must.leads), 1))
	for t := range l.must.leads {
		if n--; n < 0 {
			return t, true
		}
	}
	return target{}, false
}

func (l *load) request(ctx context.Context) {
	t, ok := l.choose()
	if !ok {
		return
	}
	before := l.allowed(t)
	began := time.Now()
	code, body, err := l.ask(ctx, t)
	if ctx.Err() != nil {
		return
	}
	after := l.allowed(t)
	if before == nil || after == nil {
		return // it left the repository meanwhile
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered++
	if err == nil && code == http.StatusOK && (before[body] || after[body]) {
		return
	}
	l.failures = append(l.failures, fmt.Sprintf("%s after %s: %v: %d %q %v, want one of %v or %v",
		time.Now().Format(time.StampMilli), time.Since(began), t, code, body, err, before, after))
}

func (l *load) allowed(t target) set {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.must.allowed(t)
}

func (l *load) ask(ctx context.Context, t target) (int, string, error) {
	url := fmt.Sprintf("http://127.0.0.1:%d%s", l.at.ports[t.listener], t.path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	req.Host = t.host + ".example.com"
	res, err := l.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, string(body), err
}
