package xds

import (
	"maps"
	"sync"
)

// item is what is kept of one object: its name, the name that it is looked up by, and the few values that matter.
type item[T any] struct {
	name  string
	owner string
	value T
}

// mirror is the target of one watch: what is needed of the objects that the watch sees, and nothing else of them.
type mirror[T any] struct {
	read func(obj any) (item[T], bool)
	// touched is told which owner changed; empty after a list, when any may have.
	touched func(owner string)

	mu     sync.Mutex
	synced bool
	items  map[string]item[T]            // by name
	owned  map[string]map[string]item[T] // by owner and name
}

func newMirror[T any](read func(any) (item[T], bool), touched func(string)) *mirror[T] {
	return &mirror[T]{read: read, touched: touched, items: map[string]item[T]{}, owned: map[string]map[string]item[T]{}}
}

// Add takes an object that appeared.
func (m *mirror[T]) Add(obj any) error { return m.Update(obj) }

// Update takes an object that changed.
func (m *mirror[T]) Update(obj any) error {
	it, ok := m.read(obj)
	if !ok {
		return nil
	}
	m.mu.Lock()
	old := m.drop(it.name)
	m.put(it)
	m.mu.Unlock()
	if old != "" && old != it.owner {
		m.touched(old)
	}
	m.touched(it.owner)
	return nil
}

// Delete takes an object that is gone.
func (m *mirror[T]) Delete(obj any) error {
	it, ok := m.read(obj)
	if !ok {
		return nil
	}
	m.mu.Lock()
	m.drop(it.name)
	m.mu.Unlock()
	m.touched(it.owner)
	return nil
}

// Replace takes the whole list.
func (m *mirror[T]) Replace(list []any, _ string) error {
	m.mu.Lock()
	clear(m.items)
	clear(m.owned)
	for _, obj := range list {
		if it, ok := m.read(obj); ok {
			m.put(it)
		}
	}
	m.synced = true
	m.mu.Unlock()
	m.touched("")
	return nil
}

// Resync does nothing: nothing of what is kept expires.
func (*mirror[T]) Resync() error { return nil }

func (m *mirror[T]) put(it item[T]) {
	m.items[it.name] = it
	if m.owned[it.owner] == nil {
		m.owned[it.owner] = map[string]item[T]{}
	}
	m.owned[it.owner][it.name] = it
}

// drop forgets an object and returns its owner, or "" where it was not known.
func (m *mirror[T]) drop(name string) string {
	it, found := m.items[name]
	if !found {
		return ""
	}
	delete(m.items, name)
	delete(m.owned[it.owner], name)
	if len(m.owned[it.owner]) == 0 {
		delete(m.owned, it.owner)
	}
	return it.owner
}

// isSynced reports whether the first list is in.
func (m *mirror[T]) isSynced() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.synced
}

// of returns the values of an owner, by object name.
func (m *mirror[T]) of(owner string) map[string]item[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.owned[owner])
}
