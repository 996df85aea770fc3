package desired

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Precedence is that of Gateway API, whatever the order in the file.
func TestMatchesSortByPrecedence(t *testing.T) {
	t.Parallel()
	want := []Match{
		{PathType: PathExact, Path: "/foo/bar"},
		{PathType: PathExact, Path: "/foo"},
		{PathType: PathRegex, Path: "/[a-z]+"},
		{PathType: PathPrefix, Path: "/foo/bar"},
		{PathType: PathPrefix, Path: "/foo", Method: "GET"},
		{PathType: PathPrefix, Path: "/foo", Headers: []ValueMatch{{Name: "x-a", Value: "1"}, {Name: "x-b", Value: "1"}}},
		{PathType: PathPrefix, Path: "/foo", Headers: []ValueMatch{{Name: "x-a", Value: "1"}}},
		{PathType: PathPrefix, Path: "/foo", Query: []ValueMatch{{Name: "q", Type: ValuePresent}}},
		{PathType: PathPrefix, Path: "/foo"},
		{PathType: PathPrefix, Path: "/"},
	}
	for seed := range uint64(20) {
		got := slices.Clone(want)
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
		slices.SortFunc(got, Match.Compare)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

// Two matches have one text exactly where they are the same match: the text is their key across commits.
func TestTextOfAMatchIsItsKey(t *testing.T) {
	t.Parallel()
	different := []Match{
		{PathType: PathPrefix, Path: "/a"},
		{PathType: PathExact, Path: "/a"},
		{PathType: PathPrefix, Path: "/a", Method: "GET"},
		{PathType: PathPrefix, Path: "/a", Headers: []ValueMatch{{Name: "b", Type: ValueExact, Value: "c"}}},
		{PathType: PathPrefix, Path: "/a", Headers: []ValueMatch{{Name: "b", Type: ValueRegex, Value: "c"}}},
		{PathType: PathPrefix, Path: "/a", Headers: []ValueMatch{{Name: "b", Type: ValuePresent}}},
		{PathType: PathPrefix, Path: "/a", Query: []ValueMatch{{Name: "b", Type: ValueExact, Value: "c"}}},
		{PathType: PathPrefix, Path: "/a", Headers: []ValueMatch{{Name: "b", Type: ValueExact, Value: "c query d"}}},
		{
			PathType: PathPrefix, Path: "/a",
			Headers: []ValueMatch{{Name: "b", Type: ValueExact, Value: "c"}}, Query: []ValueMatch{{Name: "d", Type: ValuePresent}},
		},
	}
	seen := map[string]int{}
	for i, m := range different {
		if j, ok := seen[m.String()]; ok {
			t.Errorf("matches %d and %d have one text: %s", i, j, m)
		}
		seen[m.String()] = i
	}
}
