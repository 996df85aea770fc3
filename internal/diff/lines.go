package diff

import (
	"slices"
	"strings"
)

const (
	// context is how many equal lines are shown around what differs.
	context = 2
	// mostEdits bounds the search for the shortest difference of two texts; beyond it one is shown as replaced by the other.
	mostEdits = 1000
)

// lines returns the difference of two texts, line by line, with a little context.
func lines(before, after string) []Line {
	return withContext(edits(splitLines(before, after), splitLines(after, before)))
}

// splitLines returns the lines of s. That the last one has no end is told only where it is so on one side alone.
func splitLines(s, other string) []string {
	if s == "" {
		return nil
	}
	body, ended := strings.CutSuffix(s, "\n")
	out := strings.Split(body, "\n")
	if !ended && strings.HasSuffix(other, "\n") {
		out[len(out)-1] += " (no newline at the end)"
	}
	return out
}

// edits returns all of both lists: what is in both, only in a, only in b.
func edits(a, b []string) []Line {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	out := make([]Line, 0, len(a)+len(b))
	out = appendLines(out, " ", a[:start])
	out = append(out, shortest(a[start:len(a)-end], b[start:len(b)-end])...)
	return appendLines(out, " ", a[len(a)-end:])
}

func appendLines(out []Line, op string, text []string) []Line {
	for _, t := range text {
		out = append(out, Line{Op: op, Text: t})
	}
	return out
}

// shortest is Myers' O(ND) difference. https://doi.org/10.1007/BF01840446
func shortest(a, b []string) []Line {
	trace, ok := search(a, b)
	if !ok {
		return appendLines(appendLines(nil, "-", a), "+", b)
	}
	var back []Line
	x, y := len(a), len(b)
	for d, v := range slices.Backward(trace) {
		k := x - y
		prev := k + 1
		if k != -d && (k == d || v.at(k-1) >= v.at(k+1)) {
			prev = k - 1
		}
		fromX := v.at(prev)
		fromY := fromX - prev
		for x > fromX && y > fromY && x > 0 && y > 0 {
			x, y = x-1, y-1
			back = append(back, Line{Op: " ", Text: a[x]})
		}
		switch {
		case d == 0:
		case x == fromX:
			y--
			back = append(back, Line{Op: "+", Text: b[y]})
		default:
			x--
			back = append(back, Line{Op: "-", Text: a[x]})
		}
	}
	slices.Reverse(back)
	return back
}

// frontier holds how far each diagonal reaches, from -d to d.
type frontier struct {
	d int
	x []int
}

func (f frontier) at(k int) int {
	if k < -f.d || k > f.d {
		return -1
	}
	return f.x[k+f.d]
}

// search returns what each round started from; false where more than mostEdits edits are needed.
func search(a, b []string) ([]frontier, bool) {
	var trace []frontier
	last := frontier{d: 1, x: []int{-1, -1, 0}} // as if it came down onto diagonal 0
	for d := 0; d <= min(len(a)+len(b), mostEdits); d++ {
		trace = append(trace, last)
		next := frontier{d: d, x: make([]int, 2*d+1)}
		for k := -d; k <= d; k += 2 {
			x := last.at(k + 1)
			if k != -d && (k == d || last.at(k-1) >= last.at(k+1)) {
				x = last.at(k-1) + 1
			}
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			next.x[k+d] = x
			if x >= len(a) && x-k >= len(b) {
				return trace, true
			}
		}
		last = next
	}
	return nil, false
}

// withContext leaves out equal lines that are far from what differs.
func withContext(all []Line) []Line {
	near := make([]bool, len(all))
	for i, l := range all {
		if l.Op == " " {
			continue
		}
		for j := max(0, i-context); j <= min(len(all)-1, i+context); j++ {
			near[j] = true
		}
	}
	var out []Line
	for i, l := range all {
		switch {
		case near[i]:
			out = append(out, l)
		case i == 0 || near[i-1]:
			out = append(out, Line{Op: "@"})
		}
	}
	return out
}
