package apply

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// View returns what the cluster holds of what is declared and of what is owned. It makes no request once the kinds are
// watched; for a kind that is new it waits until that is listed, as long as ctx allows. A kind that the cluster does not
// have is empty. Run must be running.
func (c *Cluster) View(ctx context.Context, d Declared, inv Inventory) (View, error) {
	wanted := inv.kinds()
	for _, gvk := range d.kinds {
		wanted[gvk] = true
	}
	for _, w := range c.view.want(wanted) {
		select {
		case <-w.ready:
		case <-ctx.Done():
			return View{}, fmt.Errorf("list %s: %w", w.gvk, cmpErr(c.view.problem(w.gvk), context.Cause(ctx)))
		}
	}
	return c.view.snapshot(), nil
}

func cmpErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// book is what the watches and our own writes have shown. The watches write it, the loop reads it.
type book struct {
	changed chan struct{} // to the loop
	wake    chan struct{} // to Run: the wanted kinds changed

	mu         sync.Mutex
	kinds      map[schema.GroupVersionKind]*watched
	flights    map[desired.ID][]event // events that came while a write of ours is under way
	done       map[desired.ID]types.UID
	gone       map[types.UID]bool // what we deleted, until the watch has shown it
	generation uint64
	current    *View // nil where it has to be made anew
}

// watched is one kind.
type watched struct {
	gvk        schema.GroupVersionKind
	namespaced bool
	known      bool // the cluster has the kind
	listed     bool
	ready      chan struct{} // closed once the kind is listed, or known to be missing
	kick       chan struct{} // a missing kind is looked up at once
	stop       context.CancelFunc
	err        error
	objects    map[desired.ID]Live
}

type event struct {
	gvk     schema.GroupVersionKind
	live    Live
	deleted bool
}

func newBook() *book {
	return &book{
		changed: make(chan struct{}, 1),
		wake:    make(chan struct{}, 1),
		kinds:   map[schema.GroupVersionKind]*watched{},
		flights: map[desired.ID][]event{},
		gone:    map[types.UID]bool{},
	}
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// want sets the kinds that are watched, and returns those that are not listed yet.
func (b *book) want(kinds map[schema.GroupVersionKind]bool) []*watched {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := false
	var pending []*watched
	for gvk := range kinds {
		w := b.kinds[gvk]
		if w == nil {
			w = &watched{
				gvk: gvk, ready: make(chan struct{}), kick: make(chan struct{}, 1), objects: map[desired.ID]Live{},
			}
			b.kinds[gvk] = w
			changed = true
		}
		select {
		case <-w.ready:
		default:
			pending = append(pending, w)
		}
	}
	for gvk, w := range b.kinds {
		if !kinds[gvk] {
			if w.stop != nil {
				w.stop()
			}
			delete(b.kinds, gvk)
			b.current = nil
		}
	}
	if changed {
		b.current = nil
		signal(b.wake)
	}
	slices.SortFunc(pending, func(x, y *watched) int { return compareKinds(x.gvk, y.gvk) })
	return pending
}

func (b *book) problem(gvk schema.GroupVersionKind) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w := b.kinds[gvk]; w != nil {
		return w.err
	}
	return nil
}

// snapshot returns the view of this moment; the same one as before where nothing changed.
func (b *book) snapshot() View {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current == nil {
		v := View{Objects: map[desired.ID]Live{}, Namespaced: map[schema.GroupKind]bool{}}
		for _, gvk := range slices.SortedFunc(maps.Keys(b.kinds), compareKinds) {
			w := b.kinds[gvk]
			if w.known {
				v.Namespaced[gvk.GroupKind()] = w.namespaced
			}
			for id, live := range w.objects {
				// One object may be watched in two versions: field paths are written in one of them.
				if have, ok := v.Objects[id]; !ok || better(live, have) {
					v.Objects[id] = live
				}
			}
		}
		b.current = &v
	}
	b.current.Generation = b.generation
	return *b.current
}

func better(a, b Live) bool {
	if a.exact != b.exact {
		return a.exact
	}
	return older(b.ResourceVersion, a.ResourceVersion)
}

// see takes in an event of a watch.
func (b *book) see(e event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.route(e)
}

func (b *book) route(e event) {
	if _, ok := b.flights[e.live.ID]; ok {
		b.flights[e.live.ID] = append(b.flights[e.live.ID], e)
		return
	}
	b.take(e)
}

func (b *book) take(e event) {
	w := b.kinds[e.gvk]
	if w == nil {
		return
	}
	b.noteFinished(e.live)
	old, had := w.objects[e.live.ID]
	if had && older(e.live.ResourceVersion, old.ResourceVersion) {
		return
	}
	if b.gone[e.live.UID] {
		if e.deleted {
			delete(b.gone, e.live.UID)
		}
		return
	}
	if e.deleted {
		if !had {
			return
		}
		delete(w.objects, e.live.ID)
	} else {
		w.objects[e.live.ID] = e.live
	}
	b.current = nil
	if had && !e.deleted && same(old, e.live) {
		return
	}
	b.generation++
	if w.listed {
		signal(b.changed)
	}
}

// older says that resource version a is from before b; where they cannot be compared it is not.
func older(a, b string) bool {
	n, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && n < 0
}

// same says that two sights of an object differ in nothing that a plan or a status looks at.
func same(a, b Live) bool {
	a.ResourceVersion, b.ResourceVersion = "", ""
	a.rival, b.rival = "", ""
	return reflect.DeepEqual(a, b)
}

// finished returns the Jobs that were seen to end since it was asked last.
func (b *book) finished() map[desired.ID]types.UID {
	b.mu.Lock()
	defer b.mu.Unlock()
	done := b.done
	b.done = nil
	return done
}

func (b *book) noteFinished(live Live) {
	if !live.Finished {
		return
	}
	if b.done == nil {
		b.done = map[desired.ID]types.UID{}
	}
	b.done[live.ID] = live.UID
}

// ours returns a resource of ours, where it is seen.
func (b *book) ours(id desired.ID) (Live, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.kinds[id.GroupKind().WithVersion(v1alpha1.GroupVersion().Version)]
	if w == nil {
		return Live{}, false
	}
	live, ok := w.objects[id]
	return live, ok
}
