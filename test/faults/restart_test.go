//go:build e2e

package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A daemon that was killed leaves a Lease that others would wait for; the next one on the machine knows better.
func TestARestartAfterAKillDoesNotWaitForTheLease(t *testing.T) {
	t.Parallel()
	d := newDaemon(t)
	push := func(data string) string {
		return d.repo.Push(t, map[string]string{"a.yaml": fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: %s}\ndata: {of: %s}\n", d.name, data)})
	}
	d.start(t)
	d.settled(t, push("the first"), nil)
	d.kill(t)
	commit := push("the second")
	begun := time.Now()
	d.start(t)
	d.settled(t, commit, nil)
	t.Logf("from the restart until a new commit is in: %s", time.Since(begun).Round(time.Millisecond))
	if log := d.Log.String(); !strings.Contains(log, "the process that had the Lease has died") || strings.Contains(log, "another process has") {
		t.Errorf("it waited for the Lease of the dead:\n%s", log)
	}
}
