//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// What a real Envoy refuses is told on the Sync and on the route with the proxy's own words; what it had goes on, and the
// next good commit heals it.
func TestWhatAProxyRefusesIsTold(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	port, other := env.FreePort(t), env.FreePort(t)
	route := func(name string, port int, accessLog, body string) string {
		return fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: %s, namespace: %s}
spec:
  listener: {name: %s, address: 127.0.0.1, port: %d%s}
  rules:
  - directResponse: {status: 200, body: %s}
`, name, d.namespace, name, port, accessLog, body)
	}
	d.settledAfterStart(t, r.Push(t, files{"good.yaml": route("good", port, "", "fine")}))
	d.envoy(t)
	answers := func(ctx context.Context) error {
		_, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/", port), "any.example.com")
		return err
	}
	d.Eventually(t, "the good route", answers)

	r.Push(t, files{"bad.yaml": route("bad", other, ", accessLog: {path: /no-such-folder/log}", "never")})
	d.message(t, "no-such-folder")
	var bad v1alpha1.ProxyRoute
	d.Eventually(t, "the refused route's status", func(ctx context.Context) error {
		err := d.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: "bad"}, &bad)
		if err == nil && (bad.Status.Phase != v1alpha1.PhaseFailed || !strings.Contains(bad.Status.Message, "no-such-folder") ||
			!strings.Contains(bad.Status.Message, "bad.yaml:1")) {
			err = errors.New(bad.Status.Phase + ": " + bad.Status.Message)
		}
		return err
	})
	if err := answers(t.Context()); err != nil {
		t.Errorf("the good route during the refusal: %v", err)
	}

	d.settled(t, r.Push(t, files{"bad.yaml": route("bad", other, "", "mended")}))
	d.Eventually(t, "the mended route", func(ctx context.Context) error {
		_, err := get(ctx, fmt.Sprintf("http://127.0.0.1:%d/", other), "any.example.com")
		return err
	})
}
