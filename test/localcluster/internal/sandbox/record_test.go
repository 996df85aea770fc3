package sandbox

import (
	"maps"
	"os"
	"testing"
)

func TestOnlyRecordsWithoutAnOwnerAreOrphans(t *testing.T) {
	t.Parallel()
	r := registry(t.TempDir())
	owned, err := r.add("owned", record{Folder: "/owned"})
	if err != nil {
		t.Fatal(err)
	}
	defer owned.Close()
	dead, err := r.add("dead", record{Folder: "/dead"})
	if err != nil {
		t.Fatal(err)
	}
	// As the kernel does when a process dies.
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file("half"), []byte(`{"folder": "/half`), 0o600); err != nil {
		t.Fatal(err)
	}
	orphans, err := r.orphans()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]record{r.file("dead"): {Folder: "/dead"}, r.file("half"): {}}
	if !maps.Equal(orphans, want) {
		t.Errorf("orphans are %+v, want %+v", orphans, want)
	}
}

// Removing what a record without content names must touch nothing: its names would mean everything.
func TestHalfARecordRemovesNothing(t *testing.T) {
	t.Parallel()
	if err := (record{}).remove(t.Context()); err != nil {
		t.Error(err)
	}
}
