package apply

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/test/env"
)

// sleeper runs a process that does nothing; end kills it with SIGKILL, and reap asks for it.
func sleeper(t *testing.T) (pid int, end, reap func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	return cmd.Process.Pid, end, func() { _ = cmd.Wait() }
}

func TestAKilledProcessIsGoneAndOneThatLivesIsNot(t *testing.T) {
	t.Parallel()
	proc := os.DirFS("/proc")
	isGone := func(identity string) bool { return gone(identity, proc, absent) }
	pid, end, reap := sleeper(t)
	identity := identityOf(proc, pid)
	if isGone(identity) || isGone(Identity()) {
		t.Error("a process that lives is gone")
	}
	reused := strings.Split(identity, "-")
	reused[len(reused)-2] += "0" // when it began
	if !isGone(strings.Join(reused, "-")) {
		t.Error("a process whose pid another one has now is not gone")
	}
	end()
	if isGone(identity) {
		t.Error("gone before its parent has asked for it")
	}
	reap()
	if !isGone(identity) {
		t.Error("a process that was killed is not gone")
	}
}

func TestWhatProvesNoEndIsNone(t *testing.T) {
	t.Parallel()
	stat := func(start string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("7 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " + start + " 1 1")}
	}
	link := func(to string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(to), Mode: fs.ModeSymlink} }
	machine := func(more fstest.MapFS) fstest.MapFS {
		proc := fstest.MapFS{
			"sys/kernel/random/boot_id": {Data: []byte("a boot\n")},
			"self/ns/pid":               link("pid:[1]"),
			"self/ns/time":              link("time:[1]"),
			"self/status":               {Data: []byte("Name:\tx\nNSpid:\t9\nVmPeak:\t1\n")},
			"7/stat":                    stat("1234"),
		}
		for name, file := range more {
			if proc[name] = file; file == nil {
				delete(proc, name)
			}
		}
		return proc
	}
	holder := identityOf(machine(nil), 7)
	tests := map[string]struct {
		reason string
		proc   fstest.MapFS
		holder string
		exists bool
		want   bool
	}{
		"ended":                      {reason: "no such process here", proc: machine(fstest.MapFS{"7/stat": nil}), want: true},
		"its pid is another's":       {reason: "began later", proc: machine(fstest.MapFS{"7/stat": stat("99")}), exists: true, want: true},
		"lives":                      {reason: "the process itself", proc: machine(nil), exists: true},
		"hidden":                     {reason: "/proc is mounted with hidepid", proc: machine(fstest.MapFS{"7/stat": nil}), exists: true},
		"another boot":               {reason: "or another machine", proc: machine(fstest.MapFS{"sys/kernel/random/boot_id": {Data: []byte("b\n")}})},
		"another namespace of pids":  {reason: "its pid means nothing here", proc: machine(fstest.MapFS{"self/ns/pid": link("pid:[2]")})},
		"another namespace of time":  {reason: "starts differ", proc: machine(fstest.MapFS{"self/ns/time": link("time:[2]")})},
		"no namespace of time":       {reason: "an old kernel", proc: machine(fstest.MapFS{"self/ns/time": nil})},
		"proc of an outer one":       {reason: "other pids", proc: machine(fstest.MapFS{"self/status": {Data: []byte("\nNSpid:\t70\t9\n")}})},
		"no proc":                    {reason: "not Linux", proc: fstest.MapFS{}},
		"a torn stat":                {reason: "no start", proc: machine(fstest.MapFS{"7/stat": {Data: []byte("7 (x")}}), exists: true},
		"nobody":                     {reason: "a Lease that was given back", proc: machine(nil), holder: "-"},
		"of an earlier version":      {reason: "no place in it", proc: machine(nil), holder: "host-7-ABCDE"},
		"made where there is no way": {reason: "no place in it", proc: machine(nil), holder: identityOf(fstest.MapFS{}, 7)},
		"a pid that is no number":    {reason: "not of ours", proc: machine(nil), holder: strings.Replace(holder, "-7-", "-x-", 1)},
		"a group of processes":       {reason: "0 is ourselves", proc: machine(nil), holder: strings.Replace(holder, "-7-", "-0-", 1)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.holder == "" {
				tc.holder = holder
			}
			if got := gone(tc.holder, tc.proc, func(int) bool { return !tc.exists }); got != tc.want {
				t.Errorf("%s: gone is %v", tc.reason, got)
			}
		})
	}
}

// The Lease would last an hour: nothing but the end of its holder lets another have it.
func TestTheLeaseOfADeadProcessIsTakenAtOnce(t *testing.T) {
	t.Parallel()
	ns := env.Cluster(t).Namespace(t)
	in := open(t, ns, "estate")
	pid, end, reap := sleeper(t)
	holder, hour, now := identityOf(os.DirFS("/proc"), pid), int32(3600), metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: LeaseName("estate")}}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: &hour, RenewTime: &now, AcquireTime: &now,
	}
	if err := in.client.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	errs := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var led time.Time
	go func() {
		errs <- in.Lead(ctx, Identity(), func(holder string) { told <- holder }, func(context.Context) error {
			led = time.Now()
			return nil
		})
	}()
	select {
	case got := <-told:
		if got != holder {
			t.Errorf("told of %q, want %q", got, holder)
		}
	case err := <-errs:
		t.Fatalf("the Lease of a process that lives was taken (%v)", err)
	}
	end()
	reap()
	died := time.Now()
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	t.Logf("taken %s after its holder died, at the next look", led.Sub(died).Round(time.Millisecond))
}
