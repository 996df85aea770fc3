//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the tidelock that the tests run, built once a process.
var binary string

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // the way a TestMain ends
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "tidelock-e2e-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "tidelock")
	build := exec.CommandContext(context.Background(), "go", buildArgs(binary)...) //nolint:forbidigo // no test has begun
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build tidelock: %w", err)
	}
	return m.Run(), nil
}

func buildArgs(out string) []string {
	args := []string{"build", "-o", out}
	if raceEnabled {
		args = append(args, "-race")
	}
	return append(args, "github.com/tidelock/tidelock/cmd/tidelock")
}
