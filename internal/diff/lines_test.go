package diff

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinesLeadFromOneTextToTheOther(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		text := func() []string {
			out := make([]string, random.IntN(40))
			for i := range out {
				out[i] = string(rune('a' + random.IntN(1+int(seed%12))))
			}
			return out
		}
		a, b := text(), text()
		if seed%3 == 0 {
			b = slices.Delete(slices.Clone(a), 0, min(2, len(a)))
		}
		var was, is []string
		edited := 0
		for _, l := range edits(a, b) {
			if l.Op != "+" {
				was = append(was, l.Text)
			}
			if l.Op != "-" {
				is = append(is, l.Text)
			}
			if l.Op != " " {
				edited++
			}
		}
		if !slices.Equal(was, a) || !slices.Equal(is, b) {
			t.Fatalf("seed %d: the lines lead from %q to %q, want from %q to %q", seed, was, is, a, b)
		}
		if want := len(a) + len(b) - 2*longestCommon(a, b); edited != want {
			t.Errorf("seed %d: %d lines differ, and %d are enough: %q, %q", seed, edited, want, a, b)
		}
	}
}

// longestCommon is the length of the longest common subsequence, by the book.
func longestCommon(a, b []string) int {
	best := make([]int, len(b)+1)
	for i := range a {
		diagonal := 0
		for j := range b {
			above := best[j+1]
			if a[i] == b[j] {
				best[j+1] = diagonal + 1
			} else {
				best[j+1] = max(best[j+1], best[j])
			}
			diagonal = above
		}
	}
	return best[len(b)]
}

func TestLinesOfTexts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason        string
		before, after string
		want          []string
	}{
		"context is short": {
			reason: "two lines before and after, the rest is left out",
			before: "1\n2\n3\n4\n5\n6\n7\n8\n9\n", after: "1\n2\n3\n4\nfive\n6\n7\n8\n9\n",
			want: []string{"@", " 3", " 4", "-5", "+five", " 6", " 7", "@"},
		},
		"the end of the last line": {
			reason: "a file that lost its last newline differs, and one sees where",
			before: "a\nb\n", after: "a\nb",
			want: []string{" a", "-b", "+b (no newline at the end)"},
		},
		"no end on either side": {
			reason: "what is the same on both sides is not told",
			before: "a\nb", after: "a\nc",
			want: []string{" a", "-b", "+c"},
		},
		"all new": {reason: "a file that came", before: "", after: "a\nb\n", want: []string{"+a", "+b"}},
		"other line ends": {
			reason: "a carriage return is a difference, and is shown by what prints the line",
			before: "a\nb\n", after: "a\r\nb\n", want: []string{"-a", "+a\r", " b"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range lines(tt.before, tt.after) {
				got = append(got, l.Op+l.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestTextsWithoutAnythingInCommonAreReplaced(t *testing.T) {
	t.Parallel()
	text := func(c string) string { return strings.Repeat(c+"\n", 1) + manyLines(c, 3*mostEdits) }
	got := lines(text("a"), text("b"))
	if len(got) != 2*(3*mostEdits+1) {
		t.Errorf("%d lines, want all of both", len(got))
	}
}

func manyLines(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(prefix + string(rune('0'+i%10)) + strings.Repeat("x", i%7) + "\n")
	}
	return b.String()
}
