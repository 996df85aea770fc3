//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An image from scratch has no zone data, and the zone of the machine is nobody's business. The data is hidden here in a mount
// namespace of the process's own.
func TestZonesNeedNothingOfTheMachine(t *testing.T) {
	t.Parallel()
	const hide = `mount --make-rprivate / && { [ ! -d /usr/share/zoneinfo ] || mount -t tmpfs none /usr/share/zoneinfo; } && exec "$@"`
	dir := t.TempDir()
	at := func(name, spec string) string {
		return "apiVersion: tidelock.dev/v1alpha1\nkind: At\nmetadata: {name: " + name + ", namespace: shop}\nspec: {command: echo, " + spec + "}\n---\n"
	}
	manifests := at("tokyo", "schedule: 0 9 * * *, timeZone: Asia/Tokyo") + at("none", "schedule: 0 9 * * *") +
		at("offset", `schedule: "2026-11-05T09:00:00+09:00"`)
	if err := os.WriteFile(filepath.Join(dir, "at.yaml"), []byte(manifests), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", hide, "sh", binary, "schedule", "next", dir, "--from", "2026-11-01T00:30:00Z", "-n", "1")
	cmd.Env = append(os.Environ(), "TZ=America/New_York", "ZONEINFO=/nonexistent", "GOROOT=/nonexistent")
	own := []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: own,
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (it needs a user namespace of its own): %s", err, out)
	}
	for _, want := range []string{"2026-11-02T00:00:00Z", "2026-11-01T09:00:00Z", "2026-11-05T00:00:00Z"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in:\n%s", want, out)
		}
	}
}
