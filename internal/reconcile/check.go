package reconcile

import (
	"errors"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/xds"
)

// Check refuses what no proxy could take of what a commit declares, as a pass would. It needs no cluster: every Service that
// a route names is taken to be there, without endpoints.
func Check(state desired.State) error {
	services, _, _ := reaches([][]desired.Route{state.Routes}, false)
	world := xds.World{Synced: true, Services: make(map[xds.ServicePort]xds.EndpointSet, len(services))}
	for _, s := range services {
		world.Services[s] = xds.EndpointSet{}
	}
	var all desired.Problems
	for _, group := range append([]string{""}, named(state.Routes)...) {
		_, err := xds.Build(xds.Input{Group: group, Desired: state.Routes, World: world}, nil)
		var problems desired.Problems
		if err != nil && !errors.As(err, &problems) {
			return err
		}
		all = append(all, problems...)
	}
	return all.Err()
}
