package xds_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidelock/tidelock/internal/xds"
)

func TestEnvoyTakesEveryBootstrapWithoutAWarning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := newAuthority(t).issue(t, "daemon.test")
	files := map[string][]byte{"ca.pem": secret.CA, "cert.pem": secret.Certificate, "key.pem": secret.Key}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mutual := &xds.BootstrapTLS{
		CAFile: filepath.Join(dir, "ca.pem"), CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"),
	}
	for name, config := range map[string]xds.BootstrapConfig{
		"plain":          {NodeID: "edge-1", Group: "edge", XDSHost: "127.0.0.1"},
		"a host name":    {NodeID: "edge-1", Group: "edge", XDSHost: "tidelock.tidelock.svc", XDSPort: 18001},
		"a socket":       {NodeID: "edge-1", Group: "edge", XDSHost: "unix:/run/tidelock/xds.sock"},
		"mutual TLS":     {NodeID: "edge-1", Group: "edge", XDSHost: "daemon.test", TLS: mutual},
		"TLS on address": {NodeID: "edge-1", Group: "edge", XDSHost: "::1", TLS: &xds.BootstrapTLS{CAFile: mutual.CAFile}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := xds.Bootstrap(config)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "envoy.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), envoyBinary, "--mode", "validate", "-c", file, "--log-level", "warning").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, text)
			}
			if strings.Contains(strings.ToLower(string(out)), "deprecated") {
				t.Errorf("Envoy warns:\n%s", out)
			}
		})
	}
}

func TestBootstrapIsReadable(t *testing.T) {
	t.Parallel()
	got, err := xds.Bootstrap(xds.BootstrapConfig{NodeID: "edge-1", Group: "edge", XDSHost: "127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/bootstrap.yaml"
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("bootstrap (-golden +got):\n%s", diff)
	}
}

func TestBootstrapRefusesSettingsThatCannotWork(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		config xds.BootstrapConfig
		want   string
	}{
		"no group": {
			reason: "the daemon would not know what to send",
			config: xds.BootstrapConfig{XDSHost: "127.0.0.1"},
			want:   "bootstrap needs a group and the host of the daemon",
		},
		"a relative socket": {
			reason: "Envoy's working directory is anyone's guess",
			config: xds.BootstrapConfig{Group: "edge", XDSHost: "unix:xds.sock"},
			want:   `bootstrap: the socket "xds.sock" is no absolute path`,
		},
		"a certificate without its key": {
			reason: "it would fail at the first handshake only",
			config: xds.BootstrapConfig{Group: "edge", XDSHost: "::1", TLS: &xds.BootstrapTLS{CAFile: "ca.pem", CertFile: "c.pem"}},
			want:   "bootstrap: TLS needs a CA file, and a certificate and its key together",
		},
		"TLS over a socket without a name": {
			reason: "no certificate is for the path of a socket",
			config: xds.BootstrapConfig{Group: "edge", XDSHost: "unix:/run/xds.sock", TLS: &xds.BootstrapTLS{CAFile: "ca.pem"}},
			want:   "bootstrap: TLS over a socket needs the server name that the daemon's certificate is for",
		},
		"a port that is none": {
			reason: "it would never connect",
			config: xds.BootstrapConfig{Group: "edge", XDSHost: "::1", XDSPort: 70000},
			want:   "value must be less than or equal to 65535",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := xds.Bootstrap(tc.config)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s: %s", err, tc.want, tc.reason)
			}
		})
	}
}
