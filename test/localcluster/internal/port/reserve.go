// Package port reserves TCP ports on 127.0.0.1: a number goes in (0 for any), a port comes out that nobody gets
// but those who ask for it with SO_REUSEPORT.
package port

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reservation is a port that is bound and does not listen: connections to it are refused, the kernel gives it to
// nobody, and a server of the same user that sets SO_REUSEPORT can listen on it, again and again.
type Reservation struct {
	Port int
	fd   int
}

// Reserve reserves the port, or any free one where it is 0.
func Reserve(port int) (*Reservation, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make a socket: %w", err)
	}
	bound, err := bind(fd, port)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("reserve port %d: %w", port, err)
	}
	return &Reservation{Port: bound, fd: fd}, nil
}

func bind(fd, port int) (int, error) {
	// First without SO_REUSEPORT: with it the bind would succeed on a port that somebody else shares.
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	addr, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return 0, syscall.EAFNOSUPPORT
	}
	return addr.Port, nil
}

// Close gives the port back.
func (r *Reservation) Close() error {
	return unix.Close(r.fd)
}
