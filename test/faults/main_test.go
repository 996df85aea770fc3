//go:build e2e

package faults

import (
	"flag"
	"os"
	"testing"

	"github.com/tidelock/tidelock/test/env"
)

// every has the tests try each fault at each place instead of a sample.
var every = flag.Bool("every", false, "try every fault at every place")

// first is the seed of what is random; 0 takes another one each time.
var first = flag.Uint64("seed", 0, "repeat the random commits of a seed")

// binary is the tidelock that the tests run, built once a process.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(env.Main(m, &binary)) //nolint:forbidigo // the way a TestMain ends
}
