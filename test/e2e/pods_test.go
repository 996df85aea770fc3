//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// mockRoute is a listener that leads to one mock.
func mockRoute(ns, mock string, port int) string {
	return fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: who, namespace: %s}
spec:
  listener: {name: http, address: 127.0.0.1, port: %d}
  hosts: [%s]
  rules:
  - backend: {mock: %s}
`, ns, port, whoHost, mock)
}

// A mock answers from a real pod, and each change of its definition reaches those who ask by a rolling update in which no
// request is lost.
func TestChangedMockRollsWithoutALostRequest(t *testing.T) {
	t.Parallel()
	node := env.Node(t)
	r := env.NewRepo(t)
	d := daemonOn(t, node.ControlPlane, node.Namespace(t), r.Bare)
	port := env.FreePort(t)
	commit := r.Push(t, files{"mock.yaml": answering(d.namespace, "who", "first"), "route.yaml": mockRoute(d.namespace, "who", port)})
	d.start(t)
	d.settled(t, commit)
	proxy := d.envoy(t)
	url := fmt.Sprintf("http://127.0.0.1:%d/who", port)
	d.answers(t, url, "first")
	pod := d.onlyPod(t, "who")
	if clusters := string(proxy.Get(t, "/clusters")); !strings.Contains(clusters, pod.Status.PodIP+":") {
		t.Errorf("Envoy does not know the pod's address %s:\n%s", pod.Status.PodIP, clusters)
	}

	load := startLoad(t, url)
	last := pod.Name
	for _, answer := range []string{"second", "third"} {
		commit := r.Push(t, files{"mock.yaml": answering(d.namespace, "who", answer)})
		d.settled(t, commit)
		d.answers(t, url, answer)
		// Until the old pod has gone: the requests that it drops on its way out count too.
		next := d.onlyPod(t, "who")
		if next.Name == last {
			t.Errorf("the pod %s answers %s: it did not roll", next.Name, answer)
		}
		last = next.Name
	}
	asked, failures := load.stop()
	t.Logf("%d requests, %d failures", asked, len(failures))
	if len(failures) > 0 {
		t.Errorf("%d of %d requests were lost in two rolling updates, the first: %v", len(failures), asked, failures[0])
	}
	if asked < 100 {
		t.Errorf("only %d requests were made: that shows nothing", asked)
	}
}

// answers waits until an answer contains a text.
func (d *daemon) answers(t *testing.T, url, want string) {
	t.Helper()
	d.Eventually(t, fmt.Sprintf("the answer %q", want), func(ctx context.Context) error {
		body, err := get(ctx, url, whoHost)
		if err == nil && !strings.Contains(body, want) {
			err = errors.New("the answer is " + body)
		}
		return err
	})
}

// onlyPod waits until a mock has one pod and returns it.
func (d *daemon) onlyPod(t *testing.T, mock string) corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	d.Eventually(t, "one pod of "+mock, func(ctx context.Context) error {
		err := d.client.List(ctx, &pods, client.InNamespace(d.namespace), client.MatchingLabels{"app.kubernetes.io/name": mock})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("there are %d pods", len(pods.Items))
		}
		return err
	})
	return pods.Items[0]
}

// load asks for a page all the time, a few at once.
type load struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	asked  atomic.Int64

	mu       sync.Mutex
	failures []error
}

func startLoad(t *testing.T, url string) *load {
	t.Helper()
	const workers = 4
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{cancel: cancel}
	t.Cleanup(func() { l.stop() })
	c := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: workers}}
	for range workers {
		l.wg.Go(func() {
			for ctx.Err() == nil {
				// A request that has begun is finished: cancelled ones would look lost.
				if err := askOnce(context.WithoutCancel(ctx), c, url); err != nil {
					l.mu.Lock()
					l.failures = append(l.failures, fmt.Errorf("%s: %w", time.Now().Format(time.RFC3339Nano), err))
					l.mu.Unlock()
				}
				l.asked.Add(1)
			}
		})
	}
	return l
}

func askOnce(ctx context.Context, c *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	req.Host = whoHost
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", res.Status, body)
	}
	return err
}

// stop ends the load and returns how many requests there were, and what went wrong.
func (l *load) stop() (asked int64, failures []error) {
	l.cancel()
	l.wg.Wait()
	return l.asked.Load(), l.failures
}
