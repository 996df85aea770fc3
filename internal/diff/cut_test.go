package diff

import (
	"strings"
	"testing"
)

func TestLongValuesShowWhereTheyDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	f := Field{Before: new(long + "1" + long), After: new(long + "2" + long)}
	got := change(f)
	want := "…" + strings.Repeat("é", 10) + "1"
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "é2é") || len(got) > 3*shortValue {
		t.Errorf("got %s", got)
	}
	if *f.Before != long+"1"+long {
		t.Error("the field itself was cut")
	}
}
