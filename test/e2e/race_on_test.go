//go:build e2e && race

package e2e

// raceFlags has the daemon under test built with the race detector, as the tests are.
func raceFlags() []string { return []string{"-race"} }
