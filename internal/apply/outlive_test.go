package apply

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/test/env"
)

// reading is a workload whose pods read one ConfigMap, and that ConfigMap.
func reading(t *testing.T, ns, kind, name string) []desired.Object {
	t.Helper()
	service := ""
	if kind == "StatefulSet" {
		service = "\n  serviceName: web"
	}
	return manifests(t, ns, join(configMap(name, "1"), `
apiVersion: apps/v1
kind: `+kind+`
metadata: {name: web, namespace: NAMESPACE}
spec:`+service+`
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: c, image: none, envFrom: [{configMapRef: {name: `+name+`}}]}]`))
}

// serve makes all pods of a namespace look as a kubelet has them once they serve: the cluster of these tests has no node.
func serve(t *testing.T, ns string) {
	t.Helper()
	var pods corev1.PodList
	if err := admin(t).List(t.Context(), &pods, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		before := client.MergeFrom(pod.DeepCopy())
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if err := client.IgnoreNotFound(admin(t).Status().Patch(t.Context(), pod, before)); err != nil {
			t.Fatal(err)
		}
	}
}

// The daemon is killed in between: what older pods may need is known from the inventory then.
func TestAConfigMapOutlivesTheRollOut(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ns := env.Cluster(t).Namespace(t)
			in, stop := start(t, ns, "roll-"+strings.ToLower(kind))
			if err := in.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			there := func(name string) bool { return get(t, configMapID(ns, name), "v1") != nil }
			first, second, third := reading(t, ns, kind, "one"), reading(t, ns, kind, "two"), reading(t, ns, kind, "three")
			in.sync(t, first)
			in.await(t, first, "the first pods to serve", func() bool {
				serve(t, ns)
				return in.view.snapshot().Objects[first[1].ID].rollout.done()
			})

			want := desired.Wait{For: "prune ConfigMap " + ns + "/one", Until: kind + " " + ns + "/web to roll out"}
			for range 2 { // the pass that writes, and the one after
				if _, res, err := in.pass(t.Context(), second); err != nil || !slices.Contains(res.Waits, want) {
					t.Errorf("waits for %v, want %s: %v", res.Waits, want, err)
				}
			}
			stop()
			in = open(t, ns, "roll-"+strings.ToLower(kind))
			if _, res, err := in.pass(t.Context(), second); err != nil || !slices.Contains(res.Waits, want) {
				t.Errorf("after a restart it waits for %v, want %s: %v", res.Waits, want, err)
			}
			in.wire.take()
			if _, _, err := in.pass(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			if requests := in.wire.take(); len(requests) > 0 {
				t.Errorf("waiting made requests: %v", requests)
			}
			if _, _, err := in.pass(t.Context(), third); err != nil {
				t.Fatal(err)
			}
			if !there("one") || !there("two") {
				t.Fatal("pruned while pods that read it may restart")
			}
			in.await(t, third, "both to be pruned", func() bool {
				serve(t, ns)
				return !there("one") && !there("two")
			})
			if live := in.view.snapshot().Objects[first[1].ID]; !live.rollout.done() {
				t.Errorf("pruned although the %s has %s", kind, live.rollout.until)
			}
			if !there("three") {
				t.Error("what is named was pruned")
			}
		})
	}
}

func TestWhatAWorkloadNamedGoesWithIt(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "gone")
	in.brakes.AllowEmpty = true
	in.sync(t, reading(t, ns, "Deployment", "one"))
	in.sync(t, reading(t, ns, "Deployment", "two")[:1])
	if get(t, configMapID(ns, "one"), "v1") != nil {
		t.Error("it is kept for a Deployment that is gone")
	}
}

func TestAPausedDeploymentKeepsWhatItsPodsReadWithoutAWait(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "paused")
	in.sync(t, reading(t, ns, "Deployment", "one"))
	second := reading(t, ns, "Deployment", "two")
	if err := unstructured.SetNestedField(second[1].Content.Object, true, "spec", "paused"); err != nil {
		t.Fatal(err)
	}
	var last Result
	in.await(t, second, "nothing to be waited for", func() bool {
		_, res, err := in.pass(t.Context(), second)
		last = res
		return err == nil && len(res.Waits) == 0
	})
	if len(last.Kept) != 1 || get(t, configMapID(ns, "one"), "v1") == nil {
		t.Errorf("kept: %v", last.Kept)
	}
	second = reading(t, ns, "Deployment", "two")
	in.await(t, second, "the end of the pause to let it go", func() bool {
		serve(t, ns)
		return get(t, configMapID(ns, "one"), "v1") == nil
	})
}

func TestPodsThatNobodyAsksHoldNothing(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "podless", func(c *Config) { c.Podless = []string{"APIMock"} })
	for _, name := range []string{"one", "two"} {
		objects := reading(t, ns, "Deployment", name)
		objects[1].Source = desired.Source{Kind: "APIMock", Key: desired.Key{Namespace: ns, Name: "web"}}
		in.sync(t, objects)
	}
	if get(t, configMapID(ns, "one"), "v1") != nil {
		t.Error("a roll-out without a node is waited for")
	}
}
