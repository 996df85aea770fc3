//go:build e2e

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/test/env"
)

// A proxy that vanishes, hangs, refuses or has to connect anew keeps nobody from the next commit, and serves it in the end.
func TestProxiesMayFail(t *testing.T) {
	t.Parallel()
	x := prepare(t)
	port := env.FreePort(t)
	for i := range x.text {
		x.text[i] = served(x.name, port, fmt.Sprintf("v%d", i))
	}
	x.undisturbed(t)
	e := x.envoy(t)
	x.serves(t, port, "v1")

	t.Log("it is killed")
	e.Kill(t)
	x.check(t, 0, x.push(t, x.text[0]))
	e = x.envoy(t)
	x.serves(t, port, "v0")

	t.Log("it hangs: it is waited for, and then no longer")
	e.Pause(t)
	x.check(t, 1, x.push(t, x.text[1]))
	e.Resume(t)
	x.serves(t, port, "v1")

	t.Log("it refuses")
	bad := x.push(t, x.text[0]+fmt.Sprintf(refused, x.name, env.FreePort(t)))
	x.Eventually(t, "the refusal to be told", func(ctx context.Context) error {
		s, err := env.Sync(ctx, x.client, x.name, x.name)
		if text := env.Show(s); err == nil && (s.Commit != bad || !strings.Contains(text, "no-such-folder")) {
			err = errors.New(text)
		}
		return err
	})
	x.serves(t, port, "v1")
	x.check(t, 0, x.push(t, x.text[0]))
	x.serves(t, port, "v0")

	t.Log("it hangs while the daemon is killed, and connects anew")
	e.Pause(t)
	x.kill(t)
	commit := x.push(t, x.text[1])
	x.start(t)
	e.Resume(t)
	x.check(t, 1, commit)
	x.serves(t, port, "v1")
}

// served is a commit with one route to a mock that answers its name; the other commit's mock is another one.
func served(ns string, port int, name string) string {
	return fmt.Sprintf(`apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: %[3]s, namespace: %[1]s}
spec:
  definition: |
    openapi: 3.0.3
    info: {title: %[3]s, version: "1"}
    paths:
      /who: {get: {responses: {"200": {description: ok, content: {text/plain: {example: %[3]s}}}}}}
---
apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: who, namespace: %[1]s}
spec:
  listener: {name: who, address: 127.0.0.1, port: %[2]d}
  rules:
  - backend: {mock: %[3]s}
`, ns, port, name)
}

// refused is a listener that Envoy does not take.
const refused = `---
apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: refused, namespace: %s}
spec:
  listener: {name: refused, address: 127.0.0.1, port: %d, accessLog: {path: /no-such-folder/log}}
  rules:
  - directResponse: {status: 200}
`

// serves waits until the proxy answers with a text.
func (d *daemon) serves(t *testing.T, port int, want string) {
	t.Helper()
	d.Eventually(t, want+" to be served", func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/who", port), http.NoBody)
		if err != nil {
			return err
		}
		res, err := (&http.Client{Timeout: time.Minute}).Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err == nil && string(body) != want {
			err = fmt.Errorf("%s: %q", res.Status, body)
		}
		return err
	})
}
