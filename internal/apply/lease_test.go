package apply

import (
	"context"
	"errors"
	"testing"
)

// Whichever of the two ends first, the election or what it ran: a lost Lease is told from an order to stop.
func TestALostLeaseIsToldFromAnEnd(t *testing.T) {
	t.Parallel()
	obedient := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	tests := map[string]struct {
		reason  string
		loses   bool
		stopped bool
	}{
		"lost":    {reason: "the election ended while it ran", loses: true},
		"stopped": {reason: "the caller's context ended", stopped: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			leading, lose := context.WithCancel(t.Context())
			defer cancel()
			defer lose()
			if tc.loses {
				lose()
			}
			if tc.stopped {
				cancel()
			}
			held := &tenure{stop: func() {}, progress: func(string) {}}
			held.serve(ctx, leading, obedient)
			if err := held.end(ctx); errors.Is(err, ErrLeaseLost) != tc.loses {
				t.Errorf("%s: the end is %v", tc.reason, err)
			}
		})
	}
}
