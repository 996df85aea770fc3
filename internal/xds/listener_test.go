package xds_test

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

func TestRealEnvoyMovesListenersAsBuildLetsThem(t *testing.T) {
	t.Parallel()
	e := startEnvoy(t)
	p, q, r := freePort(t), freePort(t), freePort(t)
	world := worldOf(map[string][]xds.Endpoint{"web": {echo(t, "web", nil)}})
	var live []desired.Route
	for step, ports := range []map[string]uint32{
		{"a": q, "b": p},
		{"a": r, "b": q}, // one after the other
		{"a": r, "c": q}, // another name
		{"a": q, "d": p}, // one goes, another takes its place
	} {
		var routes []desired.Route
		for _, listener := range slices.Sorted(maps.Keys(ports)) {
			routes = append(routes, routeTo("a.test", "web", onListener(listener, ports[listener])))
		}
		e.publish(t, mustBuild(t, xds.Input{Live: live, Desired: routes, World: world}))
		live = routes
		for listener, port := range ports {
			want := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))
			eventually(t, listener+" on its port", func() error {
				if got := e.address(t, listener); got != want {
					return fmt.Errorf("step %d: on %s, want %s", step, got, want)
				}
				return nil
			})
		}
	}
	if _, refusal, found := strings.Cut(e.log.String(), "rejected: "); found {
		t.Errorf("Envoy refuses %.300s", refusal)
	}
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) uint32 {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return endpointOf(t, l.Addr().String()).Port
}
