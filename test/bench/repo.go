package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// repo is a bare repository that a daemon follows, and the checkout of somebody who pushes to it.
type repo struct {
	bare string
	work string
}

func newRepo(ctx context.Context, dir string) (*repo, error) {
	r := &repo{bare: filepath.Join(dir, "origin.git"), work: filepath.Join(dir, "work")}
	if err := os.MkdirAll(r.work, 0o750); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	for _, args := range [][]string{
		{"init", "-q", "--bare", "-b", "main", r.bare},
		{"init", "-q", "-b", "main"},
		{"remote", "add", "origin", r.bare},
	} {
		if _, err := r.git(ctx, args...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// push writes files, commits and pushes; it returns the commit and the moment before the push.
func (r *repo) push(ctx context.Context, files map[string]string) (string, time.Time, error) {
	for name, text := range files {
		path := filepath.Join(r.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return "", time.Time{}, fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", time.Time{}, fmt.Errorf("write %s: %w", name, err)
		}
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-q", "--allow-empty", "-m", "change"}} {
		if _, err := r.git(ctx, args...); err != nil {
			return "", time.Time{}, err
		}
	}
	commit, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", time.Time{}, err
	}
	begin := time.Now()
	_, err = r.git(ctx, "push", "-q", "origin", "HEAD:main")
	return commit, begin, err
}

// git runs git in the checkout, free of anybody's configuration.
func (r *repo) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // arguments of our own
	cmd.Dir = r.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=b", "GIT_AUTHOR_EMAIL=b@example.test", "GIT_COMMITTER_NAME=b", "GIT_COMMITTER_EMAIL=b@example.test")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// perFile is how many objects stand in one file.
const perFile = 100

// configMaps returns files with n ConfigMaps; the value of the first one is given.
func configMaps(prefix string, n int, value string) map[string]string {
	files := map[string]string{}
	for from := 0; from < n; from += perFile {
		var b strings.Builder
		for i := from; i < min(from+perFile, n); i++ {
			v := "1"
			if i == 0 {
				v = value
			}
			fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s-%d, namespace: %s}\ndata: {value: %q, text: %q}\n",
				prefix, i, namespace, v, strings.Repeat("x", 400))
		}
		files[fmt.Sprintf("%s-%05d.yaml", prefix, from)] = b.String()
	}
	return files
}

// routes returns files with n ProxyRoutes, each for a host of its own; the address that the first one leads to is given.
func routes(n int, first string) map[string]string {
	files := map[string]string{}
	for from := 0; from < n; from += perFile {
		var b strings.Builder
		for i := from; i < min(from+perFile, n); i++ {
			to := "192.0.2.1"
			if i == 0 {
				to = first
			}
			fmt.Fprintf(&b, "---\napiVersion: tidelock.dev/v1alpha1\nkind: ProxyRoute\nmetadata: {name: r-%d, namespace: %s}\n"+
				"spec:\n  hosts: [h%d.example.com]\n  rules: [{backend: {address: \"%s:%d\"}}]\n", i, namespace, i, to, 1024+i%50_000)
		}
		files[fmt.Sprintf("routes-%05d.yaml", from)] = b.String()
	}
	return files
}
