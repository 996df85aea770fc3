package xds_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/xds"
)

// socketPath is short enough for a socket, whatever the test is called.
func socketPath(t *testing.T) string {
	t.Helper()
	//nolint:usetesting // the path of a socket has at most 107 bytes, and TempDir has the name of the test
	dir, err := os.MkdirTemp("", "xds-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// leaveSocket leaves a socket behind, as a process does that was killed.
func leaveSocket(t *testing.T, path string) {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	lis.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := lis.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestASocketIsOursAloneAndGoesWithUs(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(*testing.T, string){
		"nothing there": func(*testing.T, string) {},
		"a stale one":   leaveSocket,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := socketPath(t)
			before(t, path)
			lis, err := xds.Listen(t.Context(), "unix:"+path)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode() != fs.ModeSocket|0o600 {
				t.Errorf("mode %v, want a socket that nobody else may write to", info.Mode())
			}
			if err := connects(t.Context(), path); err != nil {
				t.Errorf("connect: %v", err)
			}
			if err := lis.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("after Close: %v, want no file", err)
			}
		})
	}
}

func connects(ctx context.Context, path string) error {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", path)
	if err != nil {
		return err
	}
	return conn.Close()
}

func TestASocketThatIsNotOursStays(t *testing.T) {
	t.Parallel()
	used := socketPath(t)
	lis, err := xds.Listen(t.Context(), "unix:"+used)
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	file := socketPath(t)
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		"unix:" + used:                      "another process listens at " + used,
		"unix:" + file:                      file + " is there and is no socket",
		"unix:xds.sock":                     `the socket "xds.sock" is no absolute path`,
		"unix:@tidelock":                    `the socket "@tidelock" is no absolute path`,
		"unix:/nowhere/s":                   "no such file or directory",
		"unix:/" + strings.Repeat("x", 107): "has over 107 bytes",
		"nonsense":                          "missing port",
	} {
		if _, err := xds.Listen(t.Context(), address); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", address, err, want)
		}
	}
	if err := connects(t.Context(), used); err != nil {
		t.Errorf("the socket that was there: %v", err)
	}
	if content, err := os.ReadFile(file); string(content) != "mine" {
		t.Errorf("the file that was there: %q, %v", content, err)
	}
}

func TestAnOpenPortWithoutTLSIsPointedOut(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	files := newKeyFiles(t, ca.issue(t, daemonName), ca)
	const warning = "private keys are withheld"
	for name, tc := range map[string]struct {
		address string
		tls     *xds.ServerTLS
		warned  bool
	}{
		"every interface":          {address: "0.0.0.0:0", warned: true},
		"every interface with TLS": {address: "0.0.0.0:0", tls: &files.ServerTLS},
		"loopback":                 {address: "127.0.0.1:0"},
		"loopback, IPv6":           {address: "[::1]:0"},
		"socket":                   {address: "unix:" + socketPath(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &syncBuffer{}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			s := xds.NewServer(xds.Config{Address: tc.address, TLS: tc.tls, Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if got := strings.Contains(log.String(), warning); got != tc.warned {
				t.Errorf("warned: %v, want %v:\n%s", got, tc.warned, log)
			}
		})
	}
}
