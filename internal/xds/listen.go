package xds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// socketPrefix marks an address that is the path of a Unix socket.
	socketPrefix = "unix:"
	socketMode   = 0o600
	// maxSocketPath is what sockaddr_un holds besides the final zero (unix(7)).
	maxSocketPath = 107
	// answerWithin is how long a socket that is there already may take to be connected to.
	answerWithin = time.Second
)

// Listen listens for proxies at host:port, or at "unix:" and an absolute path. Only our own user may connect to the socket;
// one that is left over is replaced if nobody listens at it, and Close removes ours.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	path, isSocket := strings.CutPrefix(address, socketPrefix)
	if !isSocket {
		var lc net.ListenConfig
		lis, err := lc.Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen for proxies: %w", err)
		}
		return lis, nil
	}
	lis, err := listenSocket(ctx, path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err = removeStale(ctx, path); err == nil {
			lis, err = listenSocket(ctx, path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen for proxies: %w", err)
	}
	return lis, nil
}

func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the socket %q is no absolute path", path)
	}
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of the socket %s has over %d bytes", path, maxSocketPath)
	}
	lc := net.ListenConfig{Control: restrict}
	return lc.Listen(ctx, "unix", path)
}

// restrict sets the mode that the socket's file will have. Before bind, and not after: whoever connects in between stays
// connected, and the umask belongs to the whole process.
func restrict(_, _ string, conn syscall.RawConn) error {
	var err error
	if failed := conn.Control(func(fd uintptr) { err = syscall.Fchmod(int(fd), socketMode) }); failed != nil {
		return failed
	}
	return err
}

// removeStale removes the socket of a process that is gone.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s is there and is no socket", path)
	}
	dialer := net.Dialer{Timeout: answerWithin}
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("another process listens at %s", path), conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED):
		return os.Remove(path)
	default:
		return fmt.Errorf("find out whether a process listens at %s: %w", path, err)
	}
}
