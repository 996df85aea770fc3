package schedule

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// pageSize is how many records a page holds: some 20 KB, whatever the number of schedules.
	pageSize = 50
	// mostGone bounds how many records are kept of schedules that left the repository; the oldest go first.
	mostGone = 1000
)

// book is the ledger in memory.
type book struct {
	records map[desired.Key]*record
	pages   []*page
	// dirty pages have a state that is not being stored.
	dirty map[*page]bool
}

// page is some of the records. Its states are counted.
type page struct {
	number  int
	version string
	records map[desired.Key]*record
	// state is that in memory, stored the one that is known to be in the cluster.
	state, stored int
	saving        bool
	tries         int
	// sent are the digests of what may be stored without our knowing.
	sent map[[sha256.Size]byte]bool
}

func newBook() *book {
	return &book{records: map[desired.Key]*record{}, dirty: map[*page]bool{}}
}

func newPage(number int) *page {
	return &page{number: number, records: map[desired.Key]*record{}, sent: map[[sha256.Size]byte]bool{}}
}

// read takes a stored page in.
func (b *book) read(stored Page) error {
	var list []*record
	if err := json.Unmarshal(stored.Data, &list); err != nil {
		return fmt.Errorf("page %d of the ledger: %w", stored.Number, err)
	}
	p := newPage(stored.Number)
	p.version = stored.Version
	for _, r := range list {
		r.page = p
		p.records[r.key()], b.records[r.key()] = r, r
	}
	b.pages = append(b.pages, p)
	return nil
}

// data encodes a page: what was touched of it, and the rest as it was encoded last.
func (p *page) data() ([]byte, error) {
	list := slices.SortedFunc(maps.Values(p.records), func(a, b *record) int { return a.key().Compare(b.key()) })
	parts := make([][]byte, len(list))
	for i, r := range list {
		if r.encoded == nil {
			var err error
			if r.encoded, err = json.Marshal(r); err != nil {
				return nil, err
			}
		}
		parts[i] = r.encoded
	}
	return slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]")), nil
}

// add makes the record of a schedule that has none.
func (b *book) add(k desired.Key) *record {
	r := &record{Namespace: k.Namespace, Name: k.Name}
	i := slices.IndexFunc(b.pages, func(p *page) bool { return len(p.records) < pageSize })
	if i < 0 {
		number := 0
		for _, p := range b.pages {
			number = max(number, p.number+1)
		}
		i = len(b.pages)
		b.pages = append(b.pages, newPage(number))
	}
	r.page = b.pages[i]
	b.records[k], r.page.records[k] = r, r
	return r
}

// touch notes that a record changed, and returns the state of its page that has the change.
func (b *book) touch(r *record) int {
	r.page.state++
	r.encoded = nil
	b.dirty[r.page] = true
	return r.page.state
}

// forget drops records of schedules that left, the oldest first, down to the bound.
func (b *book) forget() {
	var gone []*record
	for _, r := range b.records {
		if !r.Gone.IsZero() && len(r.Claims) == 0 {
			gone = append(gone, r)
		}
	}
	if len(gone) <= mostGone {
		return
	}
	slices.SortFunc(gone, func(a, b *record) int {
		if c := a.Gone.Compare(b.Gone); c != 0 {
			return c
		}
		return a.key().Compare(b.key())
	})
	for _, r := range gone[:len(gone)-mostGone] {
		b.touch(r)
		delete(b.records, r.key())
		delete(r.page.records, r.key())
	}
}

// left notes the schedules that are in the repository no longer.
func (b *book) left(in func(desired.Key) bool, now time.Time) []*record {
	var out []*record
	for k, r := range b.records {
		if r.Gone.IsZero() && !in(k) {
			r.Gone = now
			b.touch(r)
			out = append(out, r)
		}
	}
	return out
}
