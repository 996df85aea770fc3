package env

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The ports that FreePort draws from lie below those that Linux gives to outgoing connections and to listeners
// on port 0, so nothing takes one by accident between our look and its use.
const (
	firstPort = 12000
	lastPort  = 32000
	portTries = 100
)

// FreePort returns a TCP port on which nothing listens, on any address.
func FreePort(tb testing.TB) int {
	tb.Helper()
	for range portTries {
		port := firstPort + rand.IntN(lastPort-firstPort)
		listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", net.JoinHostPort("", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			tb.Fatalf("give port %d back: %v", port, err)
		}
		return port
	}
	tb.Fatalf("find a free port between %d and %d: %d tries", firstPort, lastPort, portTries)
	return 0
}
