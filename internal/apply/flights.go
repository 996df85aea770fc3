package apply

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tidelock/tidelock/internal/desired"
)

// begin holds back events of an object while we write it, so that the echo of the write is known from others' changes.
func (b *book) begin(id desired.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.flights[id] == nil {
		b.flights[id] = []event{}
	}
}

// end takes in what a write has left; live is nil where that is not known.
func (b *book) end(gvk schema.GroupVersionKind, id desired.ID, live *Live) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.flights[id]
	delete(b.flights, id)
	if w := b.kinds[gvk]; w != nil && live != nil {
		if old, had := w.objects[id]; !had || !older(live.ResourceVersion, old.ResourceVersion) {
			w.objects[id] = *live
			b.current = nil
		}
		if !w.known {
			signal(w.kick)
		}
	}
	for _, e := range held {
		b.take(e)
	}
}

// ended takes in that a delete of ours is done.
func (b *book) ended(id desired.ID, uid types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	held := b.flights[id]
	delete(b.flights, id)
	shown := slices.ContainsFunc(held, func(e event) bool { return e.deleted && e.live.UID == uid })
	for _, w := range b.kinds {
		if live, had := w.objects[id]; had && live.UID == uid {
			delete(w.objects, id)
			b.current = nil
			if w.listed && !shown {
				b.gone[uid] = true
			}
		}
	}
	for _, e := range held {
		if e.live.UID != uid {
			b.take(e)
		}
	}
}
