package env_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tidelock/tidelock/test/env"
)

// holder in the environment makes this test binary hold a control plane until it is killed.
const holder = "TIDELOCK_TEST_HOLDS_CLUSTER"

func TestHolderOfACluster(t *testing.T) {
	if os.Getenv(holder) == "" {
		return
	}
	fmt.Fprintln(os.Stdout, "kubeconfig:", env.Cluster(t).Kubeconfig)
	<-t.Context().Done()
}

func TestControlPlaneGoesWhenItsTestProcessIsKilled(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolderOfACluster$")
	cmd.Env = append(os.Environ(), holder+"=1", "CLUSTER=")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := strings.TrimSpace(strings.TrimPrefix(line, "kubeconfig: "))
	if _, err := os.Stat(kubeconfig); err != nil {
		t.Fatalf("the process printed %q: %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	// The control plane removes its folder last.
	gone := time.NewTimer(20 * time.Second)
	defer gone.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(kubeconfig); errors.Is(err, fs.ErrNotExist) {
			return
		}
		select {
		case <-gone.C:
			t.Fatal("the control plane outlives the test process that was killed")
		case <-tick.C:
		}
	}
}
