package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// demo holds what the steps hand to each other: folders, ports and running processes.
type demo struct {
	out  *os.File
	root string // the checkout of Tidelock
	dir  string // everything that the demonstration writes
	tty  bool

	kubeconfig string
	// noNode says why mocks do not run in pods; empty where they do.
	noNode    string
	cluster   client.Client
	overlay   string // folder of the checkout that is edited
	envoyPort int    // where shop.example.com answers
	webPort   int
	xdsPort   int
	adminPort int
	procs     []*process
}

const (
	host   = "shop.example.com"
	path   = "/catalog/products"
	marker = "Tide clock, now with moon phase"
)

func newDemo(ctx context.Context, out *os.File) (*demo, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	d := &demo{out: out, root: root, dir: filepath.Join(root, ".cache", "demo"), tty: isTerminal(out)}
	if _, err := os.Stat(filepath.Join(root, "examples", "repo")); err != nil {
		return nil, errors.New("run it from the root of the checkout, by: make demo")
	}
	// An earlier demonstration that was killed may have left its files; its processes ended with it.
	if err := os.RemoveAll(d.dir); err != nil {
		return nil, fmt.Errorf("clear %s: %w", d.dir, err)
	}
	if err := os.MkdirAll(d.dir, 0o750); err != nil {
		return nil, fmt.Errorf("make %s: %w", d.dir, err)
	}
	if err := d.pickPorts(ctx); err != nil {
		return nil, err
	}
	return d, nil
}

// pickPorts takes the listener's own port where it is free, and free ones for all the rest.
func (d *demo) pickPorts(ctx context.Context) (err error) {
	d.envoyPort, err = preferPort(ctx, 10000)
	for _, p := range []*int{&d.webPort, &d.xdsPort, &d.adminPort} {
		if err == nil {
			*p, err = preferPort(ctx, 0)
		}
	}
	return err
}

// step runs one step and prints its title and how long it took.
func (d *demo) step(ctx context.Context, title string, do func(context.Context) error) error {
	begin := time.Now()
	if d.tty {
		d.printf("   %s …", title)
	}
	err := do(ctx)
	mark := d.green("✓")
	if err != nil {
		mark = d.red("✗")
	}
	if d.tty {
		d.printf("\r")
	}
	d.printf(" %s %-40s %8s\n", mark, title, round(time.Since(begin)))
	if err != nil {
		return fmt.Errorf("%s: %w%s", title, err, d.tails())
	}
	return nil
}

// stay keeps everything up until ctx ends, where a person is there to look.
func (d *demo) stay(ctx context.Context) error {
	if !d.tty || os.Getenv("ONCE") != "" {
		return nil
	}
	d.printf("\nEverything stays up. Look further from another terminal, for example:\n\n%s\nCtrl-C ends it.\n", d.hints())
	select {
	case <-ctx.Done():
		d.printf("\n")
		return nil
	case err := <-d.died():
		return fmt.Errorf("%w%s", err, d.tails())
	}
}

// hints are commands that work while the demonstration is up.
func (d *demo) hints() string {
	rel := func(p string) string {
		if r, err := filepath.Rel(d.root, p); err == nil {
			return r
		}
		return p
	}
	lines := []string{
		fmt.Sprintf("%s get tidelock,deployments -n shop", d.kubectl()),
		fmt.Sprintf("%s get syncs -A", d.kubectl()),
		fmt.Sprintf("curl -H 'Host: %s' http://127.0.0.1:%d%s", host, d.envoyPort, path),
		fmt.Sprintf("%s xds show --address http://127.0.0.1:%d", rel(tool("TIDELOCK_BIN", "bin/tidelock")), d.webPort),
		fmt.Sprintf("curl http://127.0.0.1:%d/clusters    # Envoy's own view", d.adminPort),
		fmt.Sprintf("cd %s && edit base/catalog.yaml && git commit -a -m 'more to v2' && git push", rel(d.work())),
	}
	if d.noNode == "" {
		lines = append(lines, fmt.Sprintf("%s logs -n shop deployment/catalog-v2    # a mock's requests", d.kubectl()))
	}
	return "  " + strings.Join(lines, "\n  ") + "\n"
}

func (d *demo) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, format, args...)
}

func (d *demo) colour(code, s string) string {
	if !d.tty {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (d *demo) green(s string) string { return d.colour("32", s) }
func (d *demo) red(s string) string   { return d.colour("31", s) }
func (d *demo) bold(s string) string  { return d.colour("1", s) }

// round shows a duration with as many digits as a reader cares for.
func round(t time.Duration) string {
	if t < time.Second {
		return t.Round(time.Millisecond).String()
	}
	return t.Round(100 * time.Millisecond).String()
}
