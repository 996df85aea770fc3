package mock

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// noPath answers a request whose path is not in the document, with what was most likely meant.
func (c *call) noPath() {
	p := problem{
		status: http.StatusNotFound, detail: "no path of the document is " + c.r.URL.EscapedPath(),
		nearest: c.api.nearest(c.r.URL.Path),
	}
	if len(p.nearest) > 0 {
		p.detail += ": the nearest is " + p.nearest[0]
	}
	for _, b := range c.api.bases {
		p.basePaths = append(p.basePaths, cmp.Or(b.prefix, "/"))
	}
	c.problem(p)
}

// likeness is how much a path of the document is like one that was asked for: the lower, the more.
type likeness struct {
	path string
	cost int
}

// nearest returns the paths of the document that are most like path, the most alike first. Its work is bounded.
func (a *api) nearest(path string) []string {
	const longest, mostSegments = 1000, 32
	if len(path) > longest || strings.Count(path, "/") > mostSegments {
		return nil
	}
	asked := strings.Split(strings.Trim(path, "/"), "/")
	var found []likeness
	for _, full := range a.paths {
		if cost, ok := unlike(strings.Split(strings.Trim(full, "/"), "/"), asked); ok {
			found = append(found, likeness{full, cost})
		}
	}
	slices.SortStableFunc(found, func(x, y likeness) int { return cmp.Compare(x.cost, y.cost) })
	const most = 3
	var out []string
	for _, f := range found[:min(most, len(found))] {
		out = append(out, f.path)
	}
	return out
}

// unlike compares two paths by segments, from the end, since what is most often missing is the base path. It says false
// where they have too little in common.
func unlike(have, asked []string) (int, bool) {
	const segment = 4 // what a segment costs that only one of them has
	cost, common := 0, 0
	for i := range min(len(have), len(asked)) {
		h, a := have[len(have)-1-i], asked[len(asked)-1-i]
		switch {
		case h == a:
			common += 2
		case strings.Contains(h, "{"): // it is like anything
			cost++
		case strings.EqualFold(h, a):
			cost++
			common += 2
		case within(h, a):
			cost += 2
			common++
		default:
			cost += 2 * segment
		}
	}
	cost += segment * max(len(have)-len(asked), len(asked)-len(have))
	return cost, common > 0 && cost <= 3*segment
}

// within reports whether two words differ in at most two letters: one more, one less, another one, or two swapped.
func within(a, b string) bool {
	const longest, most = 64, 2
	if len(a) > longest || len(b) > longest || len(a)-len(b) > most || len(b)-len(a) > most || min(len(a), len(b)) <= most {
		return false
	}
	var rows [2][longest + 1]int
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := range len(a) {
		row, next := &rows[i%2], &rows[(i+1)%2]
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
		}
	}
	return rows[len(a)%2][len(b)] <= most
}
