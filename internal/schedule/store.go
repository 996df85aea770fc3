package schedule

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// load reads the ledger; it tries until that works.
func (t *tenure) load(ctx context.Context) error {
	for try := 1; ; try++ {
		pages, err := t.runner.cfg.Ledger.Load(ctx)
		if err == nil {
			return t.read(pages)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t.log().WarnContext(ctx, "the ledger of schedules cannot be read; trying again", slog.Any("error", err))
		timer := time.NewTimer(backOff(try))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (t *tenure) read(pages []Page) error {
	slices.SortFunc(pages, func(a, b Page) int { return a.Number - b.Number })
	for _, p := range pages {
		if err := t.book.read(p); err != nil {
			return err
		}
	}
	return nil
}

// store saves the pages that changed. A page is saved by one request at a time.
func (t *tenure) store(ctx context.Context) {
	for p := range t.book.dirty {
		if !p.saving {
			delete(t.book.dirty, p)
			t.save(ctx, p)
		}
	}
}

func (t *tenure) save(ctx context.Context, p *page) {
	data, err := p.data()
	if err != nil {
		t.cancel(fmt.Errorf("encode the ledger of schedules: %w", err))
		return
	}
	state, version := p.state, p.version
	p.saving = true
	p.sent[sha256.Sum256(data)] = true
	t.beside(ctx, func(limited context.Context) func() {
		version, err := t.runner.cfg.Ledger.Save(limited, Page{Number: p.number, Version: version, Data: data})
		return func() { t.saved(ctx, p, state, version, err) }
	})
}

// saved goes on from the answer to a save.
func (t *tenure) saved(ctx context.Context, p *page, state int, version string, err error) {
	switch {
	case err == nil:
		p.version, p.stored, p.tries, p.saving = version, state, 0, false
		clear(p.sent)
		for _, r := range p.records {
			t.pursue(ctx, r)
			t.tell(ctx, r)
		}
	case errors.Is(err, ErrConflict):
		t.reread(ctx, p)
	default:
		t.again(ctx, p, err)
	}
}

// again saves a page later.
func (t *tenure) again(ctx context.Context, p *page, err error) {
	if p.tries++; p.tries == 1 {
		t.log().WarnContext(ctx, "the ledger of schedules is not written; trying again", slog.Any("error", err))
	}
	t.later(ctx, backOff(p.tries), func() {
		p.saving = false
		t.book.dirty[p] = true
	})
}

// reread finds out who wrote a page: a request of ours whose answer was lost, or somebody else.
func (t *tenure) reread(ctx context.Context, p *page) {
	t.beside(ctx, func(limited context.Context) func() {
		pages, err := t.runner.cfg.Ledger.Load(limited)
		return func() {
			if err != nil {
				t.again(ctx, p, err)
				return
			}
			i := slices.IndexFunc(pages, func(stored Page) bool { return stored.Number == p.number })
			switch {
			case i < 0: // somebody removed it
				p.version = ""
			case p.sent[sha256.Sum256(pages[i].Data)]:
				p.version = pages[i].Version
			default:
				t.cancel(ErrConflict)
				return
			}
			p.saving = false
			t.book.dirty[p] = true
		}
	})
}
