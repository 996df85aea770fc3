package xds_test

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/xds"
)

func TestFilesThatCannotBeUsedAreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good := ca.issue(t, daemonName)
	for name, tc := range map[string]struct {
		reason string
		change func(*keyFiles)
		want   string
	}{
		"good": {reason: "nothing is wrong", change: func(*keyFiles) {}},
		"no client CA": {
			reason: "TLS is mutual", change: func(f *keyFiles) { f.ClientCAFile = "" },
			want: "mutual TLS needs a certificate, its key and the CA of the clients",
		},
		"absent": {
			reason: "a name mistyped", change: func(f *keyFiles) { f.KeyFile += ".nowhere" },
			want: "tls.key.nowhere: no such file",
		},
		"another key": {
			reason: "every handshake would fail", change: func(f *keyFiles) { f.write(f.KeyFile, ca.issue(f.t, "a").Key) },
			want: "private key does not match public key",
		},
		"swapped": {
			reason: "a key is no certificate", change: func(f *keyFiles) { f.CertFile, f.KeyFile = f.KeyFile, f.CertFile },
			want: "tls.key: no PEM certificate in it",
		},
		"a CA cut off": {
			reason: "its proxies would be turned away", want: "ca.crt: a PEM block is cut off or malformed",
			change: func(f *keyFiles) { f.write(f.ClientCAFile, append(slices.Clone(ca.pem), ca.pem[:99]...)) },
		},
		"no CA": {
			reason: "nobody could connect", change: func(f *keyFiles) { f.write(f.ClientCAFile, []byte("{}")) },
			want: "ca.crt: no PEM certificate in it",
		},
		"too large": {
			reason: "input is bounded", change: func(f *keyFiles) { f.write(f.ClientCAFile, make([]byte, 2<<20)) },
			want: "ca.crt has over 1048576 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := newKeyFiles(t, good, ca)
			tc.change(&files)
			err := files.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q: %s", err, tc.want, tc.reason)
			}
			if err == nil {
				return
			}
			if strings.Contains(err.Error(), "-----BEGIN") {
				t.Errorf("the error has the content of a file: %v", err)
			}
			lis, failed := xds.Listen(t.Context(), "127.0.0.1:0")
			if failed != nil {
				t.Fatal(failed)
			}
			if err := xds.NewServer(xds.Config{Listener: lis, TLS: &files.ServerTLS}).Run(t.Context()); err == nil {
				t.Error("the server runs")
			}
			if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String()); err == nil {
				t.Error("the listener is still open")
			}
		})
	}
}
