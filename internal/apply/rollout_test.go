package apply

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
)

func TestTheObjectsThatAPodTemplateNames(t *testing.T) {
	t.Parallel()
	const everything = `
spec:
  serviceAccountName: robot
  imagePullSecrets: [{name: pull}]
  volumes:
  - {name: a, configMap: {name: files}}
  - {name: b, secret: {secretName: tls}}
  - {name: c, projected: {sources: [{configMap: {name: part}}, {secret: {name: part}}, {downwardAPI: {}}]}}
  - {name: d, csi: {driver: x, nodePublishSecretRef: {name: driver}}}
  - {name: e, persistentVolumeClaim: {claimName: data}}
  - {name: f, rbd: {secretRef: {name: ceph}}}
  - {name: g, azureFile: {secretName: azure}}
  - {name: h, emptyDir: {}}
  initContainers:
  - {name: i, env: [{name: A, valueFrom: {secretKeyRef: {name: first, key: k}}}]}
  containers:
  - name: c
    envFrom: [{configMapRef: {name: env}}, {secretRef: {name: env}}]
    env: [{name: A, valueFrom: {configMapKeyRef: {name: files, key: k}}}, {name: B, value: plain}]
`
	all := []string{
		"ConfigMap env", "ConfigMap files", "ConfigMap part", "PersistentVolumeClaim data", "Secret azure", "Secret ceph",
		"Secret driver", "Secret env", "Secret first", "Secret part", "Secret pull", "Secret tls", "ServiceAccount robot",
	}
	tests := map[string]struct {
		reason, kind, template string
		want                   []string
	}{
		"a Deployment":  {"its pods are replaced", "Deployment", everything, all},
		"a StatefulSet": {"its pods are replaced", "StatefulSet", everything, all},
		"a DaemonSet":   {"its pods are replaced", "DaemonSet", everything, all},
		"a ReplicaSet":  {"its pods are never replaced", "ReplicaSet", everything, nil},
		"nonsense": {
			"a manifest may be anything", "Deployment", `{spec: {volumes: {a: 1}, containers: [x, {envFrom: 3}], imagePullSecrets: [{name: 7}]}}`, nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "apps/v1", "kind": tc.kind, "spec": map[string]any{"template": parse(t, tc.template)},
			}}
			if d := cmp.Diff(tc.want, namedBy(u)); d != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, d)
			}
		})
	}
}

func TestARollOutIsDoneWhenNoOlderPodIsLeft(t *testing.T) {
	t.Parallel()
	const done, meant = "", "meant"
	tests := map[string]struct {
		kind, object, want, reason string
	}{
		"not seen by its controller": {
			"Deployment", `{spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}}`,
			toRollOut, "the counts are those of the older template",
		},
		"rolled out": {
			"Deployment", `{spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2}}`,
			done, "all pods are of the new template, and serve",
		},
		"an older pod is left": {
			"Deployment", `{spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3}}`,
			toRollOut, "it may restart",
		},
		"new pods do not serve yet": {
			"Deployment", `{spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1}}`,
			toRollOut, "the roll-out may still be undone",
		},
		"the older pods are gone and the new ones not made": {
			"Deployment", `{spec: {replicas: 2}, status: {observedGeneration: 2}}`, toRollOut, "strategy Recreate, in the middle",
		},
		"scaled to nothing": {
			"Deployment", `{spec: {replicas: 0}, status: {observedGeneration: 2}}`, done, "there are no pods",
		},
		"scaled to nothing, one pod on its way out": {
			"Deployment", `{spec: {replicas: 0}, status: {observedGeneration: 2, replicas: 1}}`, toRollOut, "it is of the older template",
		},
		"paused": {
			"Deployment", `{spec: {replicas: 2, paused: true}, status: {observedGeneration: 2, replicas: 2, availableReplicas: 2}}`,
			meant, "its pods stay as they are for as long as somebody wants",
		},
		"paused without pods": {
			"Deployment", `{spec: {replicas: 0, paused: true}, status: {observedGeneration: 2}}`,
			meant, "scaled up it gets pods of the older template",
		},
		"paused after its roll-out": {
			"Deployment", `{spec: {replicas: 2, paused: true}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2}}`,
			done, "its pods are of the new template",
		},
		"past its progress deadline with older pods": {
			"Deployment", `{spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1,
				conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			toRollOut + ": it exceeded its progress deadline", "the older pods are what serves",
		},
		"past its progress deadline without older pods": {
			"Deployment", `{spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1,
				conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			done, "nothing can need what the older ones named, and it may never serve",
		},
		"a StatefulSet rolled out": {
			"StatefulSet", `{spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 2, readyReplicas: 2,
				currentRevision: b, updateRevision: b}}`, done, "as kubectl rollout status has it",
		},
		"a StatefulSet in the middle": {
			"StatefulSet", `{spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, readyReplicas: 2,
				currentRevision: a, updateRevision: b}}`, toRollOut, "pod 0 is older",
		},
		"a StatefulSet with a partition": {
			"StatefulSet", `{spec: {replicas: 2, updateStrategy: {rollingUpdate: {partition: 1}}}, status: {observedGeneration: 2,
				replicas: 2, updatedReplicas: 1, readyReplicas: 2, currentRevision: a, updateRevision: b}}`,
			meant, "pods below it are made anew by the older template",
		},
		"a StatefulSet whose pods are deleted by hand": {
			"StatefulSet", `{spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, replicas: 1,
				readyReplicas: 1, currentRevision: a, updateRevision: b}}`, meant, "nobody has",
		},
		"a StatefulSet whose pods were deleted by hand": {
			"StatefulSet", `{spec: {replicas: 1, updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, replicas: 1,
				updatedReplicas: 1, readyReplicas: 1, currentRevision: a, updateRevision: b}}`,
			done, "its controller does not move the revision then",
		},
		"a DaemonSet rolled out": {
			"DaemonSet", `{status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 3}}`,
			done, "one pod a node, and all new",
		},
		"a DaemonSet in the middle": {
			"DaemonSet", `{status: {observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 2, numberAvailable: 3}}`,
			toRollOut, "one node has an older pod",
		},
		"a DaemonSet without a node": {"DaemonSet", `{status: {observedGeneration: 2}}`, done, "there are no pods"},
		"a DaemonSet whose pods are deleted by hand": {
			"DaemonSet", `{spec: {updateStrategy: {type: OnDelete}}, status: {observedGeneration: 2, desiredNumberScheduled: 1}}`,
			meant, "nobody has",
		},
		"no workload": {"ReplicaSet", `{}`, done, "nothing is known of its pods"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := &unstructured.Unstructured{Object: parse(t, tc.object)}
			u.SetAPIVersion("apps/v1")
			u.SetKind(tc.kind)
			u.SetGeneration(2)
			got := rolloutOf(u)
			if got.meant != (tc.want == meant) || !got.meant && got.until != tc.want {
				t.Errorf("got %+v, want %q: %s", got, tc.want, tc.reason)
			}
		})
	}
}

// web returns a Deployment whose pods read one ConfigMap.
func web(t *testing.T, reads string, annotations map[string]string) desired.Object {
	t.Helper()
	o := object("Deployment shop/web", annotations)
	o.Content.Object["spec"] = parse(t, `{template: {spec: {containers: [{envFrom: [{configMapRef: {name: `+reads+`}}]}]}}}`)
	return o
}

func TestWhatOlderPodsNameOutlivesItsManifest(t *testing.T) {
	t.Parallel()
	old, now := web(t, "one", nil), web(t, "two", nil)
	one := object("ConfigMap shop/one", nil).ID
	digest := func(o desired.Object) string {
		d, err := contentDigest(o)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	tests := map[string]struct {
		reason   string
		declared desired.Object
		digest   string // of what is live
		earlier  string
		live     Live
		want     string
	}{
		"a write is to come": {
			"the prune of the same pass comes before anybody saw the roll-out begin", now, digest(old), "",
			Live{named: []string{"ConfigMap one"}},
			"Deployment shop/web to roll out",
		},
		"it rolls out": {
			"the older pods may restart", now, digest(now), "ConfigMap one",
			Live{named: []string{"ConfigMap two"}, rollout: rollout{until: toRollOut}},
			"Deployment shop/web to roll out",
		},
		"it has rolled out": {"no older pod is left", now, digest(now), "ConfigMap one", Live{named: []string{"ConfigMap two"}}, ""},
		"it is named still": {
			"that the manifest goes while the template names it is what the commit says", old, digest(old), "ConfigMap one",
			Live{named: []string{"ConfigMap one"}, rollout: rollout{until: toRollOut}},
			"",
		},
		"it is left alone": {
			"what is live was never written over", web(t, "two", map[string]string{"tidelock.dev/reconcile": "disabled"}), digest(old), "",
			Live{named: []string{"ConfigMap one"}},
			"Deployment shop/web to be reconciled: tidelock.dev/reconcile is disabled",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := Declare([]desired.Object{tc.declared}, Declared{})
			if err != nil {
				t.Fatal(err)
			}
			id := tc.declared.ID
			tc.live.ID, tc.live.UID, tc.live.Fields, tc.live.Digest = id, "u", "f", tc.digest
			inv := Inventory{Entries: map[desired.ID]Entry{
				id:  {Version: "v1", UID: "u", Digest: tc.digest, Live: "f", Earlier: tc.earlier},
				one: {Version: "v1", UID: "c", Digest: "d", Live: "f"},
			}}
			plan := NewPlan(d, inv, View{Objects: map[desired.ID]Live{id: tc.live, one: {ID: one, UID: "c", Fields: "f"}}})
			var got []string
			for _, ch := range plan.Prunes {
				for _, h := range ch.holds {
					got = append(got, h.String())
				}
			}
			if strings.Join(got, "; ") != tc.want {
				t.Errorf("held by %q, want %q: %s", got, tc.want, tc.reason)
			}
			if done := tc.earlier != "" && tc.live.rollout.done(); done != (len(plan.rolledOut) == 1) {
				t.Errorf("rolled out: %v", plan.rolledOut)
			}
		})
	}
}
