package render

// Cache keeps what renders made of files that did not change. It is for one Render at a time. What it holds is shared with
// the States that were rendered, which nobody changes.
type Cache struct {
	generation int
	files      map[string]*kept[parsed] // by hash of the content
	builds     map[string]*kept[*built] // by folder of the kustomization
	described  map[description]*kept[*described]
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
	return &Cache{
		files: map[string]*kept[parsed]{}, builds: map[string]*kept[*built]{}, described: map[description]*kept[*described]{},
	}
}

func (c *Cache) begin() { c.generation++ }

// sweep forgets what the last renders did not use.
func (c *Cache) sweep() {
	sweep(c.files, c.generation)
	sweep(c.builds, c.generation)
	sweep(c.described, c.generation)
}

func sweep[K comparable, T any](m map[K]*kept[T], generation int) {
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
	if !ok || !t.unchanged(k.value.reads) {
		return nil, false
	}
	k.used = c.generation
	return k.value, true
}

func (c *Cache) keepBuild(dir string, b *built) {
	c.builds[dir] = &kept[*built]{value: b, used: c.generation}
}

// describe returns what a description of an API is, read by read where it is not known yet, or where a file that it refers
// to is not as it was then.
func (c *Cache) describe(from description, t *tree, read func(*tree) (*described, error)) (*described, error) {
	if k, ok := c.described[from]; ok && t.unchanged(k.value.reads) {
		k.used = c.generation
		return k.value, nil
	}
	reads := map[string]string{}
	d, err := read(t.recording(reads))
	if err != nil {
		return nil, err
	}
	d.reads = reads
	c.described[from] = &kept[*described]{value: d, used: c.generation}
	return d, nil
}
