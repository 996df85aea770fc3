package diff

import (
	"cmp"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/internal/desired"
)

const (
	// alike is the share of equal fields, in percent, from where on a new object is an old one under another name.
	alike = 60
	// common is in how many removed objects a field may stand and still tell them apart.
	common = 8
)

// partners pairs objects that come with those that go, where one is the other under another name. Indices are those of the
// changes.
type partners struct {
	changes []Change
	was     map[int]int     // of what comes: what it was
	kind    map[int]Action  // of what comes: Update where only a hash in the name changed, else Rename
	gone    map[int]bool    // what goes, and is told with its partner
	by      map[int]*Change // of what goes: what replaces it
}

func (p partners) of(i int) (*Change, Action) {
	if j, ok := p.was[i]; ok {
		return &p.changes[j], p.kind[i]
	}
	return nil, ""
}

func (p partners) pair(came, gone int, kind Action) {
	p.was[came], p.kind[came] = gone, kind
	p.gone[gone], p.by[gone] = true, &p.changes[came]
}

// partnersOf finds the pairs: first names that differ in a generated hash alone, then equal content, then nearly equal.
func partnersOf(changes []Change) partners {
	p := partners{changes: changes, was: map[int]int{}, kind: map[int]Action{}, gone: map[int]bool{}, by: map[int]*Change{}}
	hashed := map[desired.ID]int{}
	byKind := map[string][]int{} // what goes
	for i, c := range changes {
		if c.Action != Delete || c.Before == nil {
			continue
		}
		if stem, ok := stemOf(c); ok {
			hashed[stem] = i
		} else if c.Source == (desired.Source{}) {
			byKind[c.GroupKind().String()] = append(byKind[c.GroupKind().String()], i)
		}
	}
	came := map[string][]int{}
	for i, c := range changes {
		if c.Action != Create || c.After == nil || c.Reason != "" { // one with a reason is put back, and not new
			continue
		}
		if stem, ok := stemOf(c); ok {
			if j, ok := hashed[stem]; ok {
				p.pair(i, j, Update)
				delete(hashed, stem)
				continue
			}
		}
		if k := c.GroupKind().String(); c.Source == (desired.Source{}) && len(byKind[k]) > 0 {
			came[k] = append(came[k], i)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(came)) {
		p.resemble(byKind[k], came[k])
	}
	return p
}

// stemOf is the ID of a ConfigMap or Secret without the hash that kustomize, or a kind of ours, put at the end of its name.
func stemOf(c Change) (desired.ID, bool) {
	const digits = 10
	dash := len(c.Name) - digits - 1
	if c.Group != "" || c.Kind != "ConfigMap" && c.Kind != "Secret" || dash < 1 || c.Name[dash] != '-' {
		return desired.ID{}, false
	}
	// kustomize writes its hashes without what reads as a word; ours are hexadecimal.
	if !regexp.MustCompile(`^([bcdfghkmt2456789]{10}|[0-9a-f]{10})$`).MatchString(c.Name[dash+1:]) {
		return desired.ID{}, false
	}
	id := c.ID
	id.Name = c.Name[:dash]
	return id, true
}

// resemble pairs objects of one kind, the most alike first.
func (p partners) resemble(gone, came []int) {
	found := p.resembling(gone, came)
	slices.SortFunc(found, func(a, b likeness) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.came, b.came), cmp.Compare(a.gone, b.gone))
	})
	for _, f := range found {
		if _, taken := p.was[f.came]; !taken && !p.gone[f.gone] {
			p.pair(f.came, f.gone, Rename)
		}
	}
}

// likeness is how much of what goes, in percent, what comes holds too.
type likeness struct{ came, gone, score int }

// resembling returns the pairs that are alike. Its cost grows with what the objects hold, not with their number squared: a
// field that stands in many of them is not looked at.
func (p partners) resembling(gone, came []int) []likeness {
	features := make(map[int]map[uint64]int, len(gone))
	index := map[uint64][]int{} // what goes, by feature
	for _, j := range gone {
		features[j] = featuresOf(p.changes[j].Before.Object)
		for f := range features[j] {
			index[f] = append(index[f], j)
		}
	}
	var found []likeness
	for _, i := range came {
		mine := featuresOf(p.changes[i].After.Object)
		near := map[int]bool{}
		for f := range mine {
			if holders := index[f]; len(holders) <= common {
				for _, j := range holders {
					near[j] = true
				}
			}
		}
		for j := range near {
			if score := similarity(mine, features[j]); score >= alike {
				found = append(found, likeness{came: i, gone: j, score: score})
			}
		}
	}
	return found
}

// similarity is how many percent of the fields of the larger one the other has too.
func similarity(a, b map[uint64]int) int {
	same, all := 0, max(total(a), total(b))
	for f, n := range a {
		same += min(n, b[f])
	}
	if all == 0 {
		return 0
	}
	const percent = 100
	return same * percent / all
}

func total(m map[uint64]int) int {
	n := 0
	for _, v := range m {
		n += v
	}
	return n
}

// featuresOf counts the fields of a manifest, each as a hash of its path and value. Its names and its kind are none.
func featuresOf(object map[string]any) map[uint64]int {
	out := map[uint64]int{}
	var visit func(path string, v any)
	visit = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, item := range v {
				visit(path+"."+k, item)
			}
		case []any:
			for _, item := range v {
				visit(path+"[]", item)
			}
		case string:
			for line := range strings.SplitSeq(v, "\n") {
				out[feature(path, line)]++
			}
		default:
			out[feature(path, inline(v))]++
		}
	}
	for k, v := range object {
		switch k {
		case "apiVersion", "kind", "status":
		case "metadata":
			m, _ := v.(map[string]any)
			visit(".labels", orEmpty(m["labels"]))
			visit(".annotations", orEmpty(m["annotations"]))
		default:
			visit("."+k, v)
		}
	}
	return out
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

func feature(path, value string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(path + "\x00" + value))
	return h.Sum64()
}
