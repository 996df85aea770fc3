package port

import (
	"context"
	"net"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func reserve(t *testing.T, port int) *Reservation {
	t.Helper()
	r, err := Reserve(port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// listen listens on a port as a server does that shares it.
func listen(ctx context.Context, port int) (net.Listener, error) {
	shared := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var err error
		if controlErr := conn.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}); controlErr != nil {
			return controlErr
		}
		return err
	}}
	return shared.Listen(ctx, "tcp", address(port))
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func TestServerThatSharesGetsAReservedPortAgainAndAgain(t *testing.T) {
	t.Parallel()
	r := reserve(t, 0)
	for range 3 {
		l, err := listen(t.Context(), r.Port)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address(r.Port))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address(r.Port)); err == nil {
			t.Errorf("a port on which nobody listens accepts %v", conn.LocalAddr())
		}
	}
}

func TestReservedPortIsNobodyElses(t *testing.T) {
	t.Parallel()
	r := reserve(t, 0)
	if l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address(r.Port)); err == nil {
		t.Errorf("another server listens on %s", l.Addr())
	}
	if again, err := Reserve(r.Port); err == nil {
		t.Errorf("port %d is reserved twice", again.Port)
	}
}
