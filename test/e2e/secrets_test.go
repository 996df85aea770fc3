//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/test/env"
)

// No byte of a secret leaves the daemon, whatever a commit says and whatever is wrong with it: not in the log, an event, the
// Sync, a metric, nor in what the commands show.
func TestNoSecretLeavesTheDaemon(t *testing.T) {
	t.Parallel()
	r := env.NewRepo(t)
	d := newDaemon(t, r)
	ns := d.namespace
	r.Push(t, files{"keep.yaml": configMap(ns, "keep", "1")})
	d.start(t)

	var secrets []string
	fresh := func() string {
		secrets = append(secrets, fmt.Sprintf("Hunter%d+horse/Staple", len(secrets)))
		return secrets[len(secrets)-1]
	}
	object := func(kind, rest string) string {
		version := "v1"
		if kind == "ProxyRoute" || kind == "At" || kind == "TrafficSplit" || kind == "EnvoyConfig" {
			version = "tidelock.dev/v1alpha1"
		}
		return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: a, namespace: %s}\n%s\n", version, kind, ns, rest)
	}
	const generator = "resources: [a.yaml]\nsecretGenerator: [{name: g, namespace: NS, literals: [\"k=SECRET\"]}]\n"
	for name, content := range map[string]files{
		"a good Secret":              {"s.yaml": object("Secret", "stringData: {k: SECRET}")},
		"base64 that is none":        {"s.yaml": object("Secret", "data: {k: SECRET}")},
		"a Secret of another type":   {"s.yaml": object("Secret", "type: kubernetes.io/tls\nstringData: {tls.key: SECRET}")},
		"a changed immutable Secret": {"s.yaml": object("Secret", "immutable: 5\nstringData: {k: SECRET}")},
		"an unclosed brace":          {"s.yaml": object("Secret", "stringData: {k: SECRET")},
		"a key that stands twice":    {"s.yaml": object("Secret", "stringData: {k: SECRET, k: SECRET}")},
		"a repeated host":            {"a.yaml": object("ProxyRoute", "spec: {hosts: [SECRET], rules: []}")},
		"a repeated field":           {"a.yaml": object("TrafficSplit", "spec: {SECRET: 1}")},
		"a repeated schedule":        {"a.yaml": object("At", "spec: {schedule: SECRET, command: [a]}")},
		"a repeated type":            {"a.yaml": object("EnvoyConfig", "spec: {resources: [{'@type': SECRET}]}")},
		"a repeated label":           {"a.yaml": strings.Replace(object("ConfigMap", "data: {}"), "name: a,", "name: a, labels: {k: SECRET},", 1)},
		"a repeated port":            {"a.yaml": object("Service", "spec: {ports: [{port: 80, protocol: SECRET}]}")},
		"a generator": {
			"g/kustomization.yaml": strings.Replace(generator, "NS", ns, 1), "g/a.yaml": object("ConfigMap", "data: {k: SECRET}"),
		},
		"a generator beside a fault": {
			"g/kustomization.yaml": strings.Replace(generator, "NS", ns, 1), "g/a.yaml": object("Service", "spec: {ports: [{port: SECRET}]}"),
		},
		"a patch of nothing": {"g/kustomization.yaml": "patches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: z}, " +
			"stringData: {x: SECRET}}'}]\n"},
	} {
		value, change := fresh(), files{}
		if strings.HasPrefix(name, "a repeated") {
			change["s.yaml"] = object("Secret", "stringData: {k: "+value+"}")
		}
		for file, text := range content {
			change[file] = strings.ReplaceAll(text, "SECRET", value)
		}
		commit := r.Push(t, change)
		d.looked(t, name, commit)
		scan(t, name, d, secrets)
		r.Git(t, "rm", "-q", "-r", "--ignore-unmatch", "s.yaml", "a.yaml", "g")
	}

	password := fresh()
	other := daemonOn(t, env.Cluster(t), env.Cluster(t).Namespace(t), "http://robot:"+url.QueryEscape(password)+"@127.0.0.1:1/none.git")
	other.start(t)
	other.message(t, "none.git")
	scan(t, "a password in the repository's address", other, secrets)
}

// looked waits until a commit is live or refused.
func (d *daemon) looked(t *testing.T, what, commit string) {
	t.Helper()
	d.Eventually(t, "the commit of "+what+" to be judged", func(ctx context.Context) error {
		s, err := d.sync(ctx)
		if err == nil && s.Commit != commit && (s.Rejected == nil || s.Rejected.Commit != commit) {
			err = errors.New(env.Show(s))
		}
		return err
	})
}

// scan looks for secrets in all that a daemon lets out.
func scan(t *testing.T, when string, d *daemon, secrets []string) {
	t.Helper()
	out := map[string]string{"log": d.Log.String()}
	s, err := d.sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out["sync"] = env.Show(s)
	var events eventsv1.EventList
	if err := d.client.List(t.Context(), &events, client.InNamespace(d.namespace)); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	out["events"] = string(b)
	for _, page := range []string{"/metrics", "/xds", "/healthz", "/readyz"} {
		if out[page], err = get(t.Context(), fmt.Sprintf("http://127.0.0.1:%d%s", d.webPort, page), ""); err != nil && page != "/readyz" {
			t.Error(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), binary, "status", "--name", d.name, "--namespace", d.namespace, "--kubeconfig", d.kubeconfig)
	b, _ = cmd.CombinedOutput() // it exits with 1 where the instance is not ready
	out["status"] = string(b)
	for where, text := range out {
		for _, secret := range secrets {
			quoted := strings.Trim(fmt.Sprintf("%q", secret), `"`)
			for _, form := range []string{secret, quoted, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret))} {
				if strings.Contains(text, form) {
					t.Fatalf("%s: %s shows %q:\n%s", when, where, form, text)
				}
			}
		}
	}
}
