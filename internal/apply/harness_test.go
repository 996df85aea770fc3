package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

// patience is how long a test waits for a real API server at most.
const patience = 30 * time.Second

// wire counts the requests of one instance, watches and lists apart, and can make the n-th write fail or stop.
type wire struct {
	base http.RoundTripper

	mu        sync.Mutex
	requests  []string
	writes    int
	conflicts int  // deletes of what had changed since it was seen
	failAt    int  // the number of the write that fails, from 1; 0 for none
	dead      bool // all that comes after it fails too, as after a kill
	lost      bool // the write is made, and its answer is lost
	failed    bool
}

var errCut = errors.New("the wire is cut")

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Query().Get("watch") != "" {
		return w.base.RoundTrip(req)
	}
	cut, now := w.note(req)
	if cut && (!now || !w.lost) {
		return nil, errCut
	}
	res, err := w.base.RoundTrip(req)
	if err == nil && res.StatusCode == http.StatusConflict && req.Method == http.MethodDelete {
		w.mu.Lock()
		w.conflicts++
		w.mu.Unlock()
	}
	if cut && err == nil {
		return nil, errors.Join(errCut, res.Body.Close())
	}
	return res, err
}

// note counts a request, and says whether it is cut, and whether it is the one that was meant.
func (w *wire) note(req *http.Request) (cut, now bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, req.Method+" "+req.URL.RequestURI())
	if req.Method != http.MethodGet && req.URL.Query().Get("dryRun") == "" {
		w.writes++
		now = w.writes == w.failAt
	}
	w.failed = w.failed || now
	return now || w.dead && w.failed, now
}

// take returns the requests since the last call, those of watches and discovery apart.
func (w *wire) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.DeleteFunc(w.requests, func(r string) bool {
		discovery := strings.HasPrefix(r, "GET /api") && !strings.Contains(r, "/namespaces/") && strings.Count(r, "/") <= 4
		return discovery || strings.Contains(r, "labelSelector=tidelock.dev%2Fowner")
	})
	w.requests = nil
	return out
}

// instance is one Tidelock instance under test.
type instance struct {
	*Cluster
	wire   *wire
	before Declared
	brakes desired.Brakes
}

// start starts an instance; owner must be the test's own. Its watches end with the test or with the returned function.
func start(tb testing.TB, namespace, owner string, change ...func(*Config)) (*instance, func()) {
	tb.Helper()
	w := &wire{}
	rc := env.Cluster(tb).Config()
	rc.Wrap(func(rt http.RoundTripper) http.RoundTripper { w.base = rt; return w })
	cfg := Config{REST: rc, Owner: owner, Namespace: namespace, Repository: "https://git.example.test/shop", Path: "."}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := c.Run(ctx); err != nil {
			tb.Errorf("run: %v", err)
		}
	})
	stop := sync.OnceFunc(func() { cancel(); wg.Wait() })
	tb.Cleanup(stop)
	return &instance{Cluster: c, wire: w, brakes: desired.DefaultBrakes()}, stop
}

// open starts an instance and reads its inventory.
func open(tb testing.TB, namespace, owner string, change ...func(*Config)) *instance {
	tb.Helper()
	in, _ := start(tb, namespace, owner, change...)
	if err := in.Open(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return in
}

// pass is one pass of the loop.
func (in *instance) pass(ctx context.Context, objects []desired.Object) (Plan, Result, error) {
	var all Result
	d, err := Declare(objects, in.before)
	if err != nil {
		return Plan{}, all, err
	}
	in.before = d
	inv := in.Inventory()
	view, err := in.View(ctx, d, inv)
	if err != nil {
		return Plan{}, all, err
	}
	plan := NewPlan(d, inv, view)
	if err := plan.Check(in.brakes); err != nil {
		return plan, all, err
	}
	plan, waits, err := in.Preflight(ctx, plan)
	if err != nil {
		return plan, all, err
	}
	all.Waits = waits
	res, err := in.Execute(ctx, plan)
	all.Add(res)
	if err != nil || len(res.Failed) > 0 {
		return plan, all, err
	}
	res, err = in.Prune(ctx, plan, nil)
	all.Add(res)
	return plan, all, err
}

// sync makes passes until nothing is outstanding, and returns all that was done. A failure ends it.
func (in *instance) sync(tb testing.TB, objects []desired.Object) Result {
	tb.Helper()
	res, err := in.settle(tb.Context(), objects)
	if err != nil {
		tb.Fatalf("sync: %v", err)
	}
	return res
}

func (in *instance) settle(ctx context.Context, objects []desired.Object) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all Result
	for {
		_, res, err := in.pass(ctx, objects)
		waits := res.Waits
		res.Waits = nil
		all.Add(res)
		if err != nil {
			return all, err
		}
		for _, f := range res.Failed {
			err = errors.Join(err, f.Err)
		}
		if err != nil || len(waits) == 0 {
			return all, err
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			return all, fmt.Errorf("still waiting: %v", waits)
		case <-in.Changed():
		case <-timer.C:
		}
	}
}

// await makes passes as changes come until check is content.
func (in *instance) await(tb testing.TB, objects []desired.Object, what string, check func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	for {
		if _, _, err := in.pass(ctx, objects); err != nil {
			tb.Fatalf("pass: %v", err)
		}
		if check() {
			return
		}
		timer := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			tb.Fatalf("waited in vain for %s", what)
		case <-in.Changed():
		case <-timer.C:
		}
	}
}

// manifests reads YAML documents as objects of a commit; NAMESPACE in them is the test's own. The n-th stands in line n.
func manifests(tb testing.TB, namespace, text string) []desired.Object {
	tb.Helper()
	var out []desired.Object
	for i, doc := range strings.Split(text, "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(doc, "NAMESPACE", namespace)), &u.Object); err != nil {
			tb.Fatalf("document %d: %v", i, err)
		}
		if len(u.Object) == 0 {
			continue
		}
		gvk := u.GroupVersionKind()
		out = append(out, desired.Object{
			ID:      identify(u),
			Version: gvk.Version, Content: u, Origin: desired.Origin{Path: "apps/app.yaml", Line: i + 1},
		})
	}
	return out
}

// The client of admin is made once a process: it learns the kinds by requests.
var (
	adminOnce   sync.Once
	adminClient client.Client
	errAdmin    error
)

// admin is a client with all rights, as a person has.
func admin(tb testing.TB) client.Client {
	tb.Helper()
	rc := env.Cluster(tb).Config()
	adminOnce.Do(func() { adminClient, errAdmin = client.New(rc, client.Options{}) })
	if errAdmin != nil {
		tb.Fatal(errAdmin)
	}
	return adminClient
}

// get returns a live object, nil where there is none.
func get(tb testing.TB, id desired.ID, version string) *unstructured.Unstructured {
	tb.Helper()
	u := addressOf(Change{ID: id}, version)
	err := admin(tb).Get(tb.Context(), client.ObjectKeyFromObject(u), u)
	if client.IgnoreNotFound(err) != nil && !isMissing(err) {
		tb.Fatalf("read %s: %v", id, err)
	}
	if err != nil {
		return nil
	}
	return u
}

func configMapID(namespace, name string) desired.ID {
	return desired.ID{Kind: "ConfigMap", Namespace: namespace, Name: name}
}
