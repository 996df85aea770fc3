//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/test/env"
)

// A script and a person can ask where an instance stands, without the daemon's help.
func TestStatusSaysWhereAnInstanceStands(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	status := func(args ...string) (string, string, int) {
		t.Helper()
		return tidelock(t, append([]string{"status", "--kubeconfig", d.kubeconfig, "--namespace", d.namespace}, args...)...)
	}
	if _, stderr, code := status("--name", d.name); code != 2 || !strings.Contains(stderr, "tidelock:") {
		t.Errorf("an instance that is not there: exit code %d, %s", code, stderr)
	}
	commit := r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1"), "b.yaml": configMap(d.namespace, "b", "1")})
	d.settledAfterStart(t, commit)
	text, stderr, code := status()
	if code != 0 || stderr != "" {
		t.Errorf("a ready instance: exit code %d, %s", code, stderr)
	}
	for _, want := range []string{d.namespace + "/" + d.name + "  Ready  main@" + commit[:7], "change a.yaml b.yaml", "objects     2 created", "ConfigMap  2 "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("colours in a pipe:\n%q", text)
	}

	refused := r.Push(t, files{"bad.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad Name}\n"})
	d.rejected(t, refused)
	text, stderr, code = status()
	if code != 1 || stderr != "" || !strings.Contains(text, "rejected "+refused[:7]+" change bad.yaml\n  bad.yaml:3: ") {
		t.Errorf("a refused commit: exit code %d, %s\n%s", code, stderr, text)
	}
	out, _, code := status("--name", d.name, "-o", "json")
	var doc struct {
		Instances []struct {
			Reason  string              `json:"reason"`
			Ready   bool                `json:"ready"`
			Stalled bool                `json:"stalled"`
			Status  v1alpha1.SyncStatus `json:"status"`
			Daemon  struct {
				Expired bool `json:"expired"`
			} `json:"daemon"`
		} `json:"instances"`
	}
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&doc); err != nil || code != 1 || len(doc.Instances) != 1 {
		t.Fatalf("exit code %d, %v:\n%s", code, err, out)
	}
	if i := doc.Instances[0]; i.Ready || !i.Stalled || i.Reason != "Rejected" || i.Status.Commit != commit || i.Daemon.Expired {
		t.Errorf("%+v", i)
	}
	if table, _, code := status("--all"); code != 1 || !strings.Contains(table, "NAMESPACE") || !strings.Contains(table, d.name) {
		t.Errorf("all instances: exit code %d\n%s", code, table)
	}
}

// What Prometheus scrapes keeps to its conventions, and moves with what happens.
func TestMetricsOfADaemon(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	d.settledAfterStart(t, r.Push(t, files{"a.yaml": configMap(d.namespace, "a", "1")}))
	d.envoy(t)
	scrape := func(ctx context.Context) (string, error) {
		return get(ctx, fmt.Sprintf("http://127.0.0.1:%d/metrics", d.webPort), "")
	}
	for _, want := range []string{
		`tidelock_commits_total{verdict="accepted"} 1`, `tidelock_object_writes_total{action="create"} 1`, "tidelock_objects_owned 1",
		"tidelock_leader 1", "tidelock_ready 1", `tidelock_xds_proxies{state="current"} 1`, `tidelock_xds_acks_total{type="Cluster"} 1`,
		`tidelock_xds_nacks_total{type="Listener"} 0`, `tidelock_commit_timestamp_seconds{commit="live"} `,
		`tidelock_api_requests_total{code="201",dry_run="false",verb="apply"} `, `tidelock_pass_step_duration_seconds_count{step="apply"} `,
		"tidelock_drift_corrections_total 0", `tidelock_schedule_firings_total{outcome="succeeded"} 0`, "tidelock_schedule_misses_total 0", "go_goroutines ", "process_resident_memory_bytes ",
	} {
		d.Eventually(t, want, func(ctx context.Context) error {
			page, err := scrape(ctx)
			if err == nil && !strings.Contains(page, "\n"+want) {
				err = fmt.Errorf("not in\n%s", page)
			}
			return err
		})
	}
	page, err := scrape(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.New(bytes.NewBufferString(page)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, name := range []string{d.name, d.namespace, "edge-1", r.Bare} {
		if strings.Contains(page, name) {
			t.Errorf("%q is a label: proxies, repositories and namespaces are without number", name)
		}
	}

	r.Push(t, files{"bad.yaml": "a: ["})
	d.Eventually(t, "the refusal to be counted", func(ctx context.Context) error {
		page, err := scrape(ctx)
		if err == nil && (!strings.Contains(page, "\ntidelock_rejected_commit 1") || !strings.Contains(page, `verdict="rejected"} 1`)) {
			err = fmt.Errorf("not in\n%s", page)
		}
		return err
	})
}
