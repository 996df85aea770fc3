//go:build e2e && !race

package e2e

func raceFlags() []string { return nil }
