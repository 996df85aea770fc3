package env

import (
	"context"
	"fmt"
	"time"
)

const pollInterval = 20 * time.Millisecond

// poll calls probe until it returns nil; at the timeout it returns what probe last said. What it waits for is
// another process, which has no channel to wait on.
func poll(ctx context.Context, timeout time.Duration, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w after %s: %w", ctx.Err(), timeout, err)
		case <-tick.C:
		}
	}
}
