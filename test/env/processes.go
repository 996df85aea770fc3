package env

import (
	"path/filepath"
	"testing"
)

// ProcessPlane is a control plane of one test's own, whose API server can be taken away and come back.
type ProcessPlane struct {
	*ControlPlane
}

// Processes starts a control plane whose components are processes of their own; it stops with the test. It is
// always a local one: CLUSTER does not apply.
func Processes(tb testing.TB) *ProcessPlane {
	tb.Helper()
	d, err := startDaemon(filepath.Join(tb.ArtifactDir(), "localcluster.log"), "--no-fsync", "--processes")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.stop(); err != nil {
			tb.Errorf("%v; the end of %s:\n%s", err, d.log, tail(d.log))
		}
	})
	return &ProcessPlane{ControlPlane: d.plane}
}

// StopAPIServer stops the API server in order and returns when it has gone: its port refuses connections.
func (p *ProcessPlane) StopAPIServer(tb testing.TB) {
	tb.Helper()
	p.tell(tb, "stop kube-apiserver", "stopped")
}

// KillAPIServer kills the API server as SIGKILL does and returns when it has gone.
func (p *ProcessPlane) KillAPIServer(tb testing.TB) {
	tb.Helper()
	p.tell(tb, "kill kube-apiserver", "stopped")
}

// StartAPIServer starts the API server again, on its old port and data, and returns when it is ready.
func (p *ProcessPlane) StartAPIServer(tb testing.TB) {
	tb.Helper()
	p.tell(tb, "start kube-apiserver", "started")
}

func (p *ProcessPlane) tell(tb testing.TB, command, wanted string) {
	tb.Helper()
	if err := p.daemon.tell(command, wanted); err != nil {
		tb.Fatal(err)
	}
}
