//go:build e2e

package e2e

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/test/env"
)

// files are contents by path, as env.Repo pushes them.
type files = map[string]string

func now() time.Time { return time.Now() }

// proxyOnRecord is content once the Sync shows a proxy that is current.
func proxyOnRecord(d *daemon) func(context.Context) error {
	return func(ctx context.Context) error {
		s, err := d.sync(ctx)
		if err == nil && (len(s.Proxies) != 1 || s.Proxies[0].State != "Current") {
			err = errors.New(env.Show(s))
		}
		return err
	}
}

// updates counts the configuration updates that Envoy has received, of all types.
func updates(t *testing.T, e *env.Envoy) int {
	t.Helper()
	total := 0
	for line := range strings.Lines(string(e.Get(t, "/stats?filter=update_attempt|config_reload$"))) {
		if _, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			total += n
		}
	}
	return total
}
