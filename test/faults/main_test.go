//go:build e2e

package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// every has the tests try each fault at each place instead of a sample.
var every = flag.Bool("every", false, "try every fault at every place")

// binary is the tidelock that the tests run, built once a process.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard()) // else clients ask for one, loudly
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		code = 1
	}
	os.Exit(code) //nolint:forbidigo // the way a TestMain ends
}

func runTests(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "tidelock-faults-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "tidelock")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "github.com/tidelock/tidelock/cmd/tidelock") //nolint:forbidigo // no test has begun
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build tidelock: %w", err)
	}
	return m.Run(), nil
}
