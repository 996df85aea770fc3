package render

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean returns `; did you mean "backend"?` for the known name that is nearest to a wrong one, or nothing where none
// is near. Equal distances go to the first in alphabetical order.
func didYouMean(wrong string, known []string) string {
	const share = 3 // one wrong letter in three is still the same word
	best, bestDistance := "", max(2, len(wrong)/share)+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := distance(strings.ToLower(wrong), strings.ToLower(k)); d < bestDistance && d < len(k) {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is how many letters must be put in, taken away, replaced or swapped with their neighbour to turn a into b.
func distance(a, b string) int {
	const longest = 64 // names of fields and resources are short; the rest is not worth the square of its length
	if len(a) > longest || len(b) > longest {
		return longest
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
