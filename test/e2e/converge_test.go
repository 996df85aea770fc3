//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// Drift: a deleted or edited object is back, a field that nobody declared stays.
func TestDriftIsCorrected(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	commit := r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1"), "b.yaml": configMap(d.namespace, "b", "1")})
	d.start(t)
	d.settled(t, commit)

	a := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: d.namespace, Name: "a"}
	if err := d.client.Get(t.Context(), key, a); err != nil {
		t.Fatal(err)
	}
	edited := a.DeepCopy()
	edited.Data["v"], edited.Data["theirs"] = "hacked", "stays"
	if err := d.client.Update(t.Context(), edited, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	d.Eventually(t, "the edit to be undone", func(ctx context.Context) error {
		err := d.client.Get(ctx, key, a)
		if err == nil && a.Data["v"] != "1" {
			err = fmt.Errorf("data %v", a.Data)
		}
		return err
	})
	if a.Data["theirs"] != "stays" {
		t.Errorf("a field of somebody else's was taken away: %v", a.Data)
	}

	b := &corev1.ConfigMap{}
	b.Namespace, b.Name = d.namespace, "b"
	if err := d.client.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	d.Eventually(t, "the deleted object to be back", func(ctx context.Context) error {
		return d.client.Get(ctx, client.ObjectKeyFromObject(b), b)
	})
}

// kill -9 at a random moment of an apply, again and again: a restart always ends in the same state, with no orphan.
func TestKillInTheMiddleOfAnApplyConverges(t *testing.T) {
	t.Parallel()
	const objects, kills = 60, 4
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	generation := func(g int) files {
		out := files{}
		for i := range objects {
			// A third of the objects changes its name with each generation: those of before must go.
			name := fmt.Sprintf("object-%d", i)
			if i%3 == 0 {
				name = fmt.Sprintf("object-%d-%d", i, g)
			}
			out[fmt.Sprintf("%d.yaml", i)] = configMap(d.namespace, name, fmt.Sprint(g))
		}
		out["tidelock.yaml"] = "apiVersion: tidelock.dev/v1alpha1\nkind: Config\nprune: {maxDeletes: 1000, maxPercent: 100}\n"
		return out
	}
	d.settledAfterStart(t, r.Push(t, generation(0)))
	var commit string
	for g := 1; g <= kills; g++ {
		commit = r.Push(t, generation(g))
		// The moment of the kill is any: what counts is that every one of them converges.
		wait := time.NewTimer(time.Duration(random.IntN(400)) * time.Millisecond)
		select {
		case <-wait.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
		d.Kill(t)
		d.start(t)
	}
	d.settled(t, commit)
	var list corev1.ConfigMapList
	if err := d.client.List(t.Context(), &list, client.InNamespace(d.namespace), client.MatchingLabels{"tidelock.dev/owner": d.name}); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if got := list.Items[i].Data["v"]; got != fmt.Sprint(kills) {
			t.Errorf("%s holds %q, want %d", list.Items[i].Name, got, kills)
		}
	}
	if len(list.Items) != objects {
		t.Errorf("%d objects are there, want %d", len(list.Items), objects)
	}
}

func (d *daemon) settledAfterStart(t *testing.T, commit string) {
	t.Helper()
	d.start(t)
	d.settled(t, commit)
}

// The API server goes and comes back: nothing is lost, and what was pushed meanwhile is applied.
func TestAPIServerGoneAndBack(t *testing.T) {
	t.Parallel()
	plane := env.Processes(t)
	r := env.NewRepo(t)
	d := daemonOn(t, plane.ControlPlane, "default", r.Bare)
	d.name = "gone"
	first := r.Push(t, files{"a.yaml": configMap("default", "a", "1")})
	d.settledAfterStart(t, first)

	plane.StopAPIServer(t)
	second := r.Push(t, files{"a.yaml": configMap("default", "a", "2"), "b.yaml": configMap("default", "b", "1")})
	plane.StartAPIServer(t)
	d.settled(t, second)
	wantData(t, d, "a", "2")
	wantData(t, d, "b", "1")

	plane.KillAPIServer(t)
	plane.StartAPIServer(t)
	d.settled(t, r.Push(t, files{"a.yaml": configMap("default", "a", "3")}))
	wantData(t, d, "a", "3")
}

// An outage that costs the daemon its Lease stops its writes and nothing else: proxies that come meanwhile are served, mocks
// answer, and the daemon goes on when the API server is back.
func TestLongOutageOfTheAPIServerKeepsServing(t *testing.T) {
	t.Parallel()
	plane := env.Processes(t)
	r := env.NewRepo(t)
	d := daemonOn(t, plane.ControlPlane, "default", r.Bare, "--local-mocks")
	d.name = "outage"
	port := env.FreePort(t)
	mocks := answering("default", "v1", "one") + "---\n" + answering("default", "v2", "two")
	d.settledAfterStart(t, r.Push(t, files{"mocks.yaml": mocks, "routes.yaml": split("default", 100, 0, port)}))
	d.envoy(t)

	plane.StopAPIServer(t)
	d.Eventually(t, "the daemon to lose its Lease", func(context.Context) error {
		if !strings.Contains(d.Log.String(), "the Lease could not be renewed") {
			return errors.New("not yet")
		}
		return nil
	})
	d.envoy(t) // another one of the group: it shares the port, and is live only with its first configuration
	d.Eventually(t, "an answer during the outage", func(ctx context.Context) error {
		_, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/who", port), whoHost)
		return err
	})
	commit := r.Push(t, files{"routes.yaml": split("default", 0, 100, port)})
	plane.StartAPIServer(t)
	d.settled(t, commit)
	wantShare(t, spread(t, 200, fmt.Sprintf("http://127.0.0.1:%d/who", port)), "two", 1, 0)
}

// Two daemons of one name: the second waits and names the first; it takes over when the first goes.
func TestSecondDaemonOfOneNameWaits(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	one := newDaemon(t, r)
	one.settledAfterStart(t, r.Push(t, files{"a.yaml": configMap(one.namespace, "a", "1")}))
	two := daemonOn(t, env.Cluster(t), one.namespace, r.Bare)
	two.launch(t)
	two.Eventually(t, "the second to say that it waits", func(context.Context) error {
		if !strings.Contains(two.Log.String(), "another process has the instance's Lease") {
			return errors.New(two.Log.String())
		}
		return nil
	})
	one.Stop(t)
	two.settled(t, r.Push(t, files{"a.yaml": configMap(one.namespace, "a", "2")}))
	wantData(t, two, "a", "2")
}

// The same name on another repository refuses to write until it is told to take over.
func TestSameNameOnAnotherRepositoryIsRefused(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	one := newDaemon(t, r)
	one.settledAfterStart(t, r.Push(t, files{"a.yaml": configMap(one.namespace, "a", "1")}))
	one.Stop(t)

	other := env.NewRepo(t)
	other.Push(t, files{"b.yaml": configMap(one.namespace, "b", "1")})
	two := daemonOn(t, env.Cluster(t), one.namespace, other.Bare)
	two.launch(t)
	if code := two.Wait(); code == 0 || !strings.Contains(two.Log.String(), "--takeover") {
		t.Errorf("want an exit with an error that names --takeover, got %d:\n%s", code, two.Log)
	}
	wantData(t, two, "a", "1")
	wantAbsent(t, two, "b")

	two.extra = append(two.extra, "--takeover")
	two.settledAfterStart(t, other.Git(t, "rev-parse", "HEAD"))
	wantData(t, two, "b", "1")
}
