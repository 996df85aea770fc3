//go:build e2e

package e2e

import (
	"os"
	"testing"

	"github.com/tidelock/tidelock/test/env"
)

// binary is the tidelock that the tests run, built once a process.
var binary string

func TestMain(m *testing.M) {
	os.Exit(env.Main(m, &binary, raceFlags()...)) //nolint:forbidigo // the way a TestMain ends
}
