//go:build e2e && race

package e2e

// raceEnabled has the daemon under test built with the race detector, as the tests are.
const raceEnabled = true
