package render

// Cache keeps what renders made of files that did not change. It is for one Render at a time. What it holds is shared with
// the States that were rendered, which nobody changes.
type Cache struct {
	generation int
	files      map[string]*kept[parsed] // by hash of the content
	builds     map[string]*kept[*built] // by folder of the kustomization
}

// kept is one entry, and the render that used it last.
type kept[T any] struct {
	value T
	used  int
}

// keepFor is for how many renders an entry is kept that none of them used: base and head of a review may take turns.
const keepFor = 4

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{files: map[string]*kept[parsed]{}, builds: map[string]*kept[*built]{}}
}

func (c *Cache) begin() { c.generation++ }

// sweep forgets what the last renders did not use.
func (c *Cache) sweep() {
	sweep(c.files, c.generation)
	sweep(c.builds, c.generation)
}

func sweep[T any](m map[string]*kept[T], generation int) {
	for key, k := range m {
		if k.used <= generation-keepFor {
			delete(m, key)
		}
	}
}

// file returns what the file of this hash holds, read by parse where it is not known yet.
func (c *Cache) file(hash string, parse func() (parsed, error)) (parsed, error) {
	if k, ok := c.files[hash]; ok {
		k.used = c.generation
		return k.value, nil
	}
	p, err := parse()
	if err != nil {
		return parsed{}, err
	}
	c.files[hash] = &kept[parsed]{value: p, used: c.generation}
	return p, nil
}

// build returns the last build of a folder where every file that it read or missed is as it was then.
func (c *Cache) build(dir string, t *tree) (*built, bool) {
	k, ok := c.builds[dir]
	if !ok {
		return nil, false
	}
	for name, state := range k.value.reads {
		if t.state(name) != state {
			return nil, false
		}
	}
	k.used = c.generation
	return k.value, true
}

func (c *Cache) keepBuild(dir string, b *built) {
	c.builds[dir] = &kept[*built]{value: b, used: c.generation}
}
