package apply

import (
	"sync"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// How often an object may be corrected within a time before we stop to fight for it: it gets one correction back each
// fightWindow/fightLimit.
const (
	fightLimit  = 5
	fightWindow = 10 * time.Minute
)

// PutsBack reports whether a change undoes what somebody did in the cluster.
func (ch *Change) PutsBack() bool {
	return ch.owned.UID != "" && (ch.Action == Correct || ch.Action == Create && ch.owned.Digest == ch.digest)
}

// fights is a bucket of tokens for every object that was corrected lately.
type fights struct {
	now     func() time.Time
	mu      sync.Mutex
	buckets map[desired.ID]bucket
	// unsure are objects of which a write of ours failed last: what it left is not somebody else's doing.
	unsure map[desired.ID]bool
}

type bucket struct {
	tokens float64
	at     time.Time
}

// wrote notes how the last write of an object ended.
func (f *fights) wrote(id desired.ID, failed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case !failed:
		delete(f.unsure, id)
	case f.unsure == nil:
		f.unsure = map[desired.ID]bool{id: true}
	default:
		f.unsure[id] = true
	}
}

// take takes a token for a correction; false where none is left. To end what a failed write of ours began takes none.
func (f *fights) take(id desired.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unsure[id] {
		return true
	}
	now := f.now()
	if f.buckets == nil {
		f.buckets = map[desired.ID]bucket{}
	}
	b, ok := f.buckets[id]
	if !ok {
		b = bucket{tokens: fightLimit, at: now}
	}
	b.tokens = min(fightLimit, b.tokens+fightLimit*now.Sub(b.at).Seconds()/fightWindow.Seconds())
	b.at = now
	taken := b.tokens >= 1
	if taken {
		b.tokens--
	}
	f.buckets[id] = b
	for other, old := range f.buckets {
		if now.Sub(old.at) > fightWindow {
			delete(f.buckets, other)
		}
	}
	return taken
}
