//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// overlay is what a user writes beside deploy/: the namespace, and where the repository is. The local cluster has no DNS, so
// that the proxies are told the daemon's address, too.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: %[1]s
%[2]s
patches:
- target: {kind: ConfigMap, name: tidelock}
  patch: |-
    - {op: replace, path: /data/TIDELOCK_REPO, value: %[3]q}
    - {op: add, path: /data/TIDELOCK_INTERVAL, value: 200ms}
- target: {kind: Service, name: tidelock}
  patch: |-
    - {op: add, path: /spec/clusterIP, value: %[4]s}
- target: {kind: Deployment, name: envoy}
  patch: |-
    - {op: add, path: /spec/template/spec/hostAliases, value: [{ip: %[4]s, hostnames: [tidelock]}]}
- target: {kind: ClusterRoleBinding, name: tidelock}
  patch: |-
    - {op: replace, path: /subjects/0/namespace, value: %[1]s}
`

// What deploy/ installs follows a repository: with the rights that it grants, and no more, the daemon in its pod takes in
// objects of every kind that its roles name, fires an At, and has the proxies answer; a push changes all of it.
func TestDeployFollowsARepository(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	node.Image(t, "envoyproxy/envoy:v1.40.0", env.EnvoyBinary(t))
	// The definitions are the cluster's: whoever may installs them before an instance that is confined to its namespace.
	kubectl(t, node, "apply", "--kustomize", path(env.Root(t), "deploy", "crds"))
	tests := map[string]struct {
		takes string
		// number tells the fixed addresses of the two daemons apart.
		number int
	}{
		"in the whole cluster": {takes: "resources: [../deploy]\ncomponents: [../deploy/mtls]", number: 1},
		"in one namespace":     {takes: "resources: [../deploy/namespaced, ../deploy/envoy]", number: 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := env.NewRepo(t)
			d := daemonOn(t, node.ControlPlane, node.Namespace(t), serveGit(t, node, r))
			workload, declared := d.namespace, ""
			if tt.number == 1 {
				workload = d.namespace + "-shop"
				declared = "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + workload +
					", annotations: {tidelock.dev/prune: enabled}}\n"
			}
			first := r.Push(t, files{
				"tidelock.yaml": "apiVersion: tidelock.dev/v1alpha1\nkind: Config\nprune: {maxPercent: 100}\n",
				"ns.yaml":       declared + "# a comment\n",
				"mock.yaml":     answering(workload, "who", "first"),
				"route.yaml":    openRoute(workload, "who"),
				"at.yaml":       pastAt(workload),
				"plain.yaml":    strings.ReplaceAll(oneOfEach, "NAMESPACE", workload),
			})
			d.certify(t, node)
			d.deploy(t, node, tt.takes, tt.number)
			d.settled(t, first)
			d.proxiesAnswer(t, "first")
			d.atRan(t, workload)

			d.settled(t, r.Push(t, files{"mock.yaml": answering(workload, "who", "second"), "plain.yaml": ""}))
			d.proxiesAnswer(t, "second")
			key := client.ObjectKey{Namespace: workload, Name: "each"}
			if err := d.client.Get(t.Context(), key, &corev1.Secret{}); !apierrors.IsNotFound(err) {
				t.Errorf("a Secret that left the repository: got %v, want not found", err)
			}
			if declared != "" {
				r.Push(t, files{
					"mock.yaml": "", "route.yaml": "", "at.yaml": "", "ns.yaml": "", "rest.yaml": configMap(d.namespace, "rest", "1"),
				})
				d.deleting(t, workload)
			}
			d.hasAllRights(t, node)
		})
	}
}

// deploy installs a daemon and proxies by one command, as a user does.
func (d *daemon) deploy(t *testing.T, node *env.NodeCluster, takes string, number int) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(path(dir, "deploy"), os.DirFS(path(env.Root(t), "deploy"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path(dir, "overlay"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(overlay, d.namespace, takes, d.repo, fixedAddress(t, d.client, number))
	if err := os.WriteFile(path(dir, "overlay", "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, node, "apply", "--namespace", d.namespace, "--kustomize", path(dir, "overlay"))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", kubectl(t, node, "get", "pods", "--namespace", d.namespace, "--output", "wide"))
			t.Logf("%s", kubectl(t, node, "logs", "deployment/tidelock", "--namespace", d.namespace))
		}
	})
}

// certify makes the certificates of mutual TLS, which one of the variants has.
func (d *daemon) certify(t *testing.T, node *env.NodeCluster) {
	t.Helper()
	file := path(t.TempDir(), "certificates.yaml")
	secrets, stderr, code := tidelock(t, "xds", "certificates", "--namespace", d.namespace, "--group", "edge")
	if code != 0 {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(file, []byte(secrets), 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl(t, node, "apply", "--filename", file)
}

// fixedAddress is one of those that the cluster gives to no Service that does not ask for it: the lower ones of its range.
func fixedAddress(t *testing.T, c client.Client, number int) netip.Addr {
	t.Helper()
	var first corev1.Service
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "kubernetes"}, &first); err != nil {
		t.Fatal(err)
	}
	const beyond = 20 // what a cluster keeps for its own
	address := netip.MustParseAddr(first.Spec.ClusterIP)
	for range beyond + number {
		address = address.Next()
	}
	return address
}

// serveGit serves a repository to pods and returns its URL.
func serveGit(t *testing.T, node *env.NodeCluster, r *env.Repo) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(node.Host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: gitBackend(t, filepath.Dir(r.Bare)), ReadHeaderTimeout: patience}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return fmt.Sprintf("http://%s/%s", listener.Addr(), filepath.Base(r.Bare))
}

// proxiesAnswer waits until each proxy's own pod gives an answer.
func (d *daemon) proxiesAnswer(t *testing.T, want string) {
	t.Helper()
	d.Eventually(t, fmt.Sprintf("the answer %q of each proxy", want), func(ctx context.Context) error {
		var pods corev1.PodList
		err := d.client.List(ctx, &pods, client.InNamespace(d.namespace), client.MatchingLabels{"app.kubernetes.io/component": "proxy"})
		if err == nil && len(pods.Items) != 2 {
			err = fmt.Errorf("there are %d proxies, want 2", len(pods.Items))
		}
		for i := range pods.Items {
			if err != nil {
				return err
			}
			var body string
			body, err = get(ctx, "http://"+net.JoinHostPort(pods.Items[i].Status.PodIP, "10000")+"/who", whoHost)
			if err == nil && !strings.Contains(body, want) {
				err = errors.New("the answer is " + body)
			}
		}
		return err
	})
}

// atRan waits until an At has run and its exit code is known; it must have been told of.
func (d *daemon) atRan(t *testing.T, namespace string) {
	t.Helper()
	d.Eventually(t, "the At to have run", func(ctx context.Context) error {
		var at v1alpha1.At
		err := d.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "past"}, &at)
		if err == nil && (at.Status.Phase != v1alpha1.AtDone || at.Status.LastRun == nil || at.Status.LastRun.ExitCode == nil) {
			err = fmt.Errorf("the status is %+v", at.Status)
		}
		return err
	})
	d.Eventually(t, "an event on the At", func(ctx context.Context) error {
		var events eventsv1.EventList
		err := d.client.List(ctx, &events, client.InNamespace(namespace))
		for i := range events.Items {
			if events.Items[i].Regarding.Kind == v1alpha1.KindAt {
				return nil
			}
		}
		return errors.Join(err, fmt.Errorf("none among %d", len(events.Items)))
	})
}

// deleting waits until a namespace is on its way out; its end takes as long as the last pod in it.
func (d *daemon) deleting(t *testing.T, namespace string) {
	t.Helper()
	d.Eventually(t, "the deletion of namespace "+namespace, func(ctx context.Context) error {
		var ns corev1.Namespace
		err := d.client.Get(ctx, client.ObjectKey{Name: namespace}, &ns)
		if err == nil && ns.DeletionTimestamp == nil {
			err = errors.New("it stays")
		}
		return client.IgnoreNotFound(err)
	})
}

// hasAllRights wants nothing in the daemon's log that it was refused, and no error.
func (d *daemon) hasAllRights(t *testing.T, node *env.NodeCluster) {
	t.Helper()
	log := kubectl(t, node, "logs", "deployment/tidelock", "--namespace", d.namespace)
	for line := range strings.Lines(log) {
		if strings.Contains(line, "forbidden") || strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the daemon says: %s", line)
		}
	}
}

// openRoute leads everything of a host to a mock, on the listener that all routes have by default.
func openRoute(ns, mock string) string {
	return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: who, namespace: %s}\n"+
		"spec: {hosts: [%s], rules: [{backend: {mock: %s}}]}\n", ns, whoHost, mock)
}

// pastAt runs as soon as it is seen.
func pastAt(ns string) string {
	return fmt.Sprintf("apiVersion: tidelock.dev/v1alpha1\nkind: At\nmetadata: {name: past, namespace: %s}\n"+
		"spec: {schedule: \"2020-01-01T00:00:00Z\", command: echo late}\n", ns)
}

// oneOfEach is an object of every kind that the roles of deploy/ name, beside our own; none of them starts a pod.
const oneOfEach = `apiVersion: v1
kind: ConfigMap
metadata: {name: each, namespace: NAMESPACE}
---
apiVersion: v1
kind: Secret
metadata: {name: each, namespace: NAMESPACE}
---
apiVersion: v1
kind: Service
metadata: {name: each, namespace: NAMESPACE}
spec: {selector: {app: each}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: each, namespace: NAMESPACE}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: each, namespace: NAMESPACE, annotations: {tidelock.dev/prune: enabled}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: each, namespace: NAMESPACE}
spec:
  replicas: 0
  selector: {matchLabels: {app: each}}
  template: {metadata: {labels: {app: each}}, spec: {containers: [{name: each, image: busybox}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: each, namespace: NAMESPACE}
spec:
  replicas: 0
  selector: {matchLabels: {app: each}}
  template: {metadata: {labels: {app: each}}, spec: {containers: [{name: each, image: busybox}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: each, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: each}}
  template:
    metadata: {labels: {app: each}}
    spec: {nodeSelector: {no-such: node}, containers: [{name: each, image: busybox}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: each, namespace: NAMESPACE}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: each, image: busybox}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: each, namespace: NAMESPACE}
spec:
  schedule: 0 0 1 1 *
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: each, image: busybox}]}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: each, namespace: NAMESPACE}
spec: {defaultBackend: {service: {name: each, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: each, namespace: NAMESPACE}
spec: {podSelector: {matchLabels: {app: each}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: each, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: each}
  maxReplicas: 1
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: each, namespace: NAMESPACE}
spec: {selector: {matchLabels: {app: each}}}
`
