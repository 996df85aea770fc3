package reconcile

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/diff"
	"github.com/tidelock/tidelock/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files from what a review says now")

// A golden is a txtar: "-- base/… --" and "-- head/… --" are two states of a repository, "-- text --" is what a reviewer
// reads. The comment says why.
func TestAReviewSaysWhatACommitChanges(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/review/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := diff.Text(&text, reviewed(t, versionOf(a, "base"), versionOf(a, "head")), false); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, file, a, txtar.File{Name: "text", Data: text.Bytes()})
		})
	}
}

// versionOf returns the files of a golden below a folder.
func versionOf(a *txtar.Archive, folder string) Version {
	tree := fstest.MapFS{}
	for _, f := range a.Files {
		if name, ok := strings.CutPrefix(f.Name, folder+"/"); ok {
			tree[name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
		}
	}
	return Version{Name: folder, Tree: tree}
}

func reviewed(tb testing.TB, base, head Version) diff.Diff {
	tb.Helper()
	base.Revision, head.Revision = desired.Revision{Ref: base.Name}, desired.Revision{Ref: head.Name}
	d, err := Review(tb.Context(), base, head, render.Options{MockImage: "tidelock:test"}, reviewedAt())
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func compareGolden(t *testing.T, file string, a *txtar.Archive, got txtar.File) {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment}
	want := ""
	for _, f := range a.Files {
		if f.Name == got.Name {
			want = string(f.Data)
			continue
		}
		out.Files = append(out.Files, f)
	}
	if *update {
		out.Files = append(out.Files, got)
		if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(got.Data)); diff != "" {
		t.Errorf("%s\n%s (-want +got):\n%s", a.Comment, file, diff)
	}
}

// reviewedAt is the moment from which the goldens count.
func reviewedAt() time.Time { return time.Date(2026, time.December, 2, 0, 0, 0, 0, time.UTC) }
