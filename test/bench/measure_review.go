package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// review measures what a reviewer waits for: the diff of one changed object among many.
func (b *bench) review(ctx context.Context) error {
	r, err := newRepo(ctx, b.dir+"/review")
	if err != nil {
		return err
	}
	for _, value := range []string{"1", "2"} {
		if _, _, err := r.push(ctx, configMaps("many", b.many, value)); err != nil {
			return err
		}
	}
	begin := time.Now()
	//nolint:gosec // the program that make build made
	cmd := exec.CommandContext(ctx, filepath.Join(b.root, "bin", "tidelock"), "diff", r.work, "--base", "HEAD~1", "--head", "HEAD")
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		return fmt.Errorf("diff exited with %d: %w\n%s", code, err, out)
	}
	b.add(row{fmt.Sprintf("tidelock diff, 1 of %d objects changed", b.many), round(time.Since(begin)), "none", "two cold renders included"})
	return nil
}
