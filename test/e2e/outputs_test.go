//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/test/env"
)

// definitions applies the published definitions of one module to the cluster.
func definitions(t *testing.T, c client.Client, module, pattern string, kinds ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(env.Root(t), "test", "outputs")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("download module %s: %v: %s", module, err, out)
	}
	var downloaded struct {
		Dir string `json:"Dir"`
	}
	if err := json.Unmarshal(out, &downloaded); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(downloaded.Dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no definitions in %s: %v", module, err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for doc := range strings.SplitSeq(string(text), "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
				t.Fatal(err)
			}
			kind, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			for _, wanted := range kinds {
				if kind == wanted {
					if err := c.Create(t.Context(), u); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

func outputs(ns, steps string) string {
	return strings.ReplaceAll(`apiVersion: v1
kind: Service
metadata: {name: web, namespace: NS}
spec: {selector: {app: web}, ports: [{port: 8080}]}
---
apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: who, namespace: NS}
spec:
  hosts: [who.example.com, "*.who.example.com"]
  outputs: [Istio, GatewayAPI]
  gatewayAPI: {parentRefs: [{name: edge, namespace: infra, sectionName: https, port: 443}]}
  istio: {gateways: [infra/edge]}
  mirror: {service: web, percent: 5}
  targets:
  - {name: v1, service: web, subset: {labels: {version: v1}}, weight: 100}
  - {name: v2, service: web, subset: {labels: {version: v2}}, weight: 0}
`, "NS", ns) + steps + strings.ReplaceAll(`---
apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: sticky, namespace: NS}
spec:
  host: sticky.example.com
  outputs: [Istio]
  stickiness: {cookie: {name: user, ttl: 1h}, algorithm: Maglev}
  targets: [{name: other}]
---
apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: zero, namespace: NS}
spec:
  host: zero.example.com
  outputs: [Istio, GatewayAPI]
  gatewayAPI: {parentRefs: [{name: edge}]}
  targets: [{name: web, weight: 0}]
`, "NS", ns)
}

// What is written for Istio and Gateway API is what their own definitions take; a missing definition refuses the commit. A
// step moves the weights, and drift correction puts a foreign change back to the step, not to the file.
func TestOutputsAreTakenByTheirOwnDefinitions(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	first := r.Push(t, files{"split.yaml": outputs(d.namespace, "")})
	d.start(t)
	if text := d.rejected(t, first); !strings.Contains(text, "VirtualService") {
		t.Errorf("without the definitions: %s", text)
	} else {
		t.Log(text)
	}
	definitions(t, d.client, "istio.io/api", "kubernetes/customresourcedefinitions.gen.yaml", "VirtualService", "DestinationRule")
	definitions(t, d.client, "sigs.k8s.io/gateway-api", "config/crd/standard/*.yaml", "HTTPRoute")

	begins := time.Now().Add(8 * time.Second)
	steps := fmt.Sprintf("  steps: [{at: %q, weights: {v1: 90, v2: 10}}]\n", begins.Format(time.RFC3339Nano))
	d.settled(t, r.Push(t, files{"split.yaml": outputs(d.namespace, steps)}))
	vs := d.weighted(t, "networking.istio.io", "VirtualService", "100 0")
	d.weighted(t, "gateway.networking.k8s.io", "HTTPRoute", "100 0")
	var rules unstructured.UnstructuredList
	rules.SetGroupVersionKind(schema.GroupVersionKind{Group: "networking.istio.io", Version: "v1", Kind: "DestinationRuleList"})
	if err := d.client.List(t.Context(), &rules, client.InNamespace(d.namespace)); err != nil || len(rules.Items) != 2 {
		t.Errorf("%d DestinationRules, want 2: %v", len(rules.Items), err)
	}
	for _, rule := range rules.Items {
		if version(t, rule) > version(t, vs) {
			t.Errorf("DestinationRule %s was written after the VirtualService that needs it", rule.GetName())
		}
	}

	vs = d.weighted(t, "networking.istio.io", "VirtualService", "90 10")
	d.weighted(t, "gateway.networking.k8s.io", "HTTPRoute", "90 10")
	if now := time.Now(); now.Before(begins) {
		t.Errorf("the weights moved %s before their instant", begins.Sub(now))
	}
	patch := `[{"op": "replace", "path": "/spec/http/0/route/0/weight", "value": 1}]`
	if err := d.client.Patch(t.Context(), &vs, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	d.weighted(t, "networking.istio.io", "VirtualService", "90 10")
	d.Stop(t)
}

func version(t *testing.T, u unstructured.Unstructured) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(u.GetResourceVersion(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// weighted waits until an object named who has the weights, and returns it.
func (d *daemon) weighted(t *testing.T, group, kind, want string) unstructured.Unstructured {
	t.Helper()
	u := unstructured.Unstructured{}
	d.Eventually(t, kind+" to have the weights "+want, func(ctx context.Context) error {
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})
		if err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "who"}, &u); err != nil {
			return err
		}
		list, key := "http", "route"
		if kind == "HTTPRoute" {
			list, key = "rules", "backendRefs"
		}
		rules, _, _ := unstructured.NestedSlice(u.Object, "spec", list)
		targets, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), key)
		var got []string
		for _, target := range targets {
			got = append(got, fmt.Sprint(target.(map[string]any)["weight"]))
		}
		if text := strings.Join(got, " "); text != want {
			return errors.New("weights " + text)
		}
		return nil
	})
	return u
}
