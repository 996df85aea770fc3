package env_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/tidelock/tidelock/test/env"
)

// killedNode in the environment makes this test binary hold a cluster with a running pod until it is killed.
const killedNode = "TIDELOCK_TEST_HOLDS_NODE"

func TestHolderOfANode(t *testing.T) {
	if os.Getenv(killedNode) == "" {
		return
	}
	node := env.Node(t)
	runPod(t, node, node.Namespace(t), "sleep 1000", corev1.PodRunning)
	fmt.Fprintln(os.Stdout, "host:", node.Host)
	<-t.Context().Done()
}

// However a node ends, nothing of it stays: where localcluster itself is killed, once the next one has started.
func TestNodeLeavesNothing(t *testing.T) {
	t.Parallel()
	for reason, tc := range map[string]struct {
		kill  func(t *testing.T, test *exec.Cmd, localcluster int)
		clean bool
	}{
		"the test is killed": {
			kill: func(t *testing.T, test *exec.Cmd, _ int) {
				t.Helper()
				if err := test.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			},
		},
		"localcluster is killed": {
			kill: func(t *testing.T, _ *exec.Cmd, localcluster int) {
				t.Helper()
				process, err := os.FindProcess(localcluster)
				if err == nil {
					err = process.Kill()
				}
				if err != nil {
					t.Fatal(err)
				}
			},
			clean: true,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHolderOfANode$")
			cmd.Env = append(os.Environ(), killedNode+"=1", "CLUSTER=")
			host := startHolder(t, cmd)
			node := recordOf(t, host)
			if found := node.traces(t); len(found) < 5 {
				t.Fatalf("a running node is seen by no more than %q", found)
			}
			tc.kill(t, cmd, node.PID)
			if tc.clean {
				if out, err := exec.CommandContext(t.Context(), localcluster(t), "clean").CombinedOutput(); err != nil {
					t.Fatalf("localcluster clean: %v: %s", err, out)
				}
			}
			node.awaitNothing(t)
		})
	}
}

func localcluster(t *testing.T) string {
	t.Helper()
	return filepath.Join(env.Root(t), ".cache", "bin", "localcluster")
}

// startHolder starts a test process that holds a node and returns the host's address in its network.
func startHolder(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var said bytes.Buffer
	if _, err := io.CopyN(&said, stdout, int64(len("host: "))); err == nil {
		var host string
		if _, err := fmt.Fscanln(io.TeeReader(stdout, &said), &host); err == nil {
			return host
		}
	}
	rest, _ := io.ReadAll(stdout)
	t.Fatalf("the holder of a node says:\n%s%s", &said, rest)
	return ""
}

// nodeRecord is what localcluster notes about a node.
type nodeRecord struct {
	PID     int `json:"pid"`
	Network struct {
		Link string `json:"link"`
		Host string `json:"host"`
	} `json:"network"`
	Cgroup string `json:"cgroup"`
	Folder string `json:"folder"`

	file      string
	namespace string
}

// recordOf returns the record of the node whose network holds an address of the host.
func recordOf(t *testing.T, host string) nodeRecord {
	t.Helper()
	files, err := filepath.Glob("/run/localcluster/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // another's, gone by now
		}
		r := nodeRecord{file: file}
		if err := json.Unmarshal(data, &r); err != nil {
			t.Fatal(err)
		}
		if r.Network.Host != host {
			continue
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", r.PID))
		if err == nil {
			r.namespace, err = os.Readlink("/proc/" + strings.Fields(string(children))[0] + "/ns/net")
		}
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatalf("no record in %q has host %s", files, host)
	return nodeRecord{}
}

// traces are all things on this machine that the node is the reason of.
func (r nodeRecord) traces(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, path := range []string{r.file, r.Folder} {
		if _, err := os.Lstat(path); err == nil {
			found = append(found, "file "+path)
		}
	}
	if _, err := net.InterfaceByName(r.Network.Link); err == nil {
		found = append(found, "link "+r.Network.Link)
	}
	for file, word := range map[string]string{"/proc/net/route": r.Network.Link, "/proc/self/mountinfo": r.Folder} {
		if data, err := os.ReadFile(file); err != nil || bytes.Contains(data, []byte(word)) {
			found = append(found, fmt.Sprintf("%s in %s, %v", word, file, err))
		}
	}
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, e fs.DirEntry, _ error) error {
		if e != nil && e.Name() == r.Cgroup {
			found = append(found, "cgroup "+path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range processes {
		pid, _ := strconv.Atoi(filepath.Base(process))
		ns, err := os.Readlink(filepath.Join(process, "ns", "net"))
		if err == nil && ns == r.namespace {
			found = append(found, fmt.Sprintf("process %d in its network", pid))
		}
		cgroups, err := os.ReadFile(filepath.Join(process, "cgroup"))
		// A process that has ended and that nobody has waited for yet is only a name.
		if err == nil && bytes.Contains(cgroups, []byte(r.Cgroup)) && ns != "" {
			found = append(found, fmt.Sprintf("process %d in its cgroup", pid))
		}
	}
	return found
}

func (r nodeRecord) awaitNothing(t *testing.T) {
	t.Helper()
	patience := time.NewTimer(40 * time.Second)
	defer patience.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		found := r.traces(t)
		if len(found) == 0 {
			return
		}
		select {
		case <-patience.C:
			t.Fatalf("of the killed node there is still: %s", strings.Join(found, "\n\t"))
		case <-tick.C:
		}
	}
}
