package render

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
)

var update = flag.Bool("update", false, "rewrite the golden files from what render says now")

// A golden is a txtar: "-- repo/… --" is the repository ("-- repo/a -> ../b --" a link), then "-- state.yaml --" or
// "-- error --". A line "path: …" of the comment renders that folder, "confined to: …" allows that
// namespace alone; the rest of the comment says why.
func TestEveryGoldenRendersAsItSays(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/core/*.txtar")
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
			repo, opts := repository(a)
			got := txtar.File{Name: "state.yaml"}
			state, err := Render(t.Context(), desired.Revision{}, repo, opts)
			if err != nil {
				if _, ok := errors.AsType[desired.Problems](err); !ok {
					t.Fatalf("not a problem of the content: %v", err)
				}
				got = txtar.File{Name: "error", Data: []byte(err.Error() + "\n")}
			} else {
				got.Data = dump(t, state)
			}
			compare(t, file, a, got)
		})
	}
}

// repository returns the files of a golden.
func repository(a *txtar.Archive) (fstest.MapFS, Options) {
	repo, opts := fstest.MapFS{}, Options{}
	for line := range strings.Lines(string(a.Comment)) {
		if p, ok := strings.CutPrefix(line, "path: "); ok {
			opts.Path = strings.TrimSpace(p)
		}
		if n, ok := strings.CutPrefix(line, "confined to: "); ok {
			opts.Namespace = strings.TrimSpace(n)
		}
	}
	for _, f := range a.Files {
		name, ok := strings.CutPrefix(f.Name, "repo/")
		if !ok {
			continue
		}
		if link, target, ok := strings.Cut(name, " -> "); ok {
			repo[link] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
			continue
		}
		repo[name] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	return repo, opts
}

func compare(t *testing.T, file string, a *txtar.Archive, got txtar.File) {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment}
	var want []byte
	for _, f := range a.Files {
		if strings.HasPrefix(f.Name, "repo/") {
			out.Files = append(out.Files, f)
			continue
		}
		want = fmt.Appendf(want, "-- %s --\n%s", f.Name, f.Data)
	}
	if *update {
		out.Files = append(out.Files, got)
		if err := os.WriteFile(file, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), fmt.Sprintf("-- %s --\n%s", got.Name, got.Data)); diff != "" {
		t.Errorf("%s\n%s (-want +got):\n%s", a.Comment, file, diff)
	}
}

// dump writes a state as people read it.
func dump(t *testing.T, s desired.State) []byte {
	t.Helper()
	type object struct {
		Origin  string         `json:"origin"`
		Made    string         `json:"made,omitempty"` // generated: the goldens of its kind show its content
		Content map[string]any `json:"content,omitempty"`
	}
	var out struct {
		Objects   []object `json:"objects"`
		Routes    []string `json:"routes,omitempty"`
		Schedules []string `json:"schedules,omitempty"`
		Warnings  []string `json:"warnings,omitempty"`
		Brakes    any      `json:"brakes,omitempty"`
	}
	for _, o := range s.Objects {
		shown := object{Origin: o.Origin.String(), Content: o.Content.Object}
		if o.Source.Kind != "" {
			shown.Content, shown.Made = nil, o.Kind+" from "+o.Source.String()
		}
		out.Objects = append(out.Objects, shown)
	}
	for _, r := range s.Routes {
		out.Routes = append(out.Routes, fmt.Sprintf("%s %s %s: %s", r.Listener.Name, r.Hosts, r.Match, r.Source))
	}
	for _, sch := range s.Schedules {
		out.Schedules = append(out.Schedules, sch.String()+" "+sch.Schedule)
	}
	for _, w := range s.Warnings {
		out.Warnings = append(out.Warnings, w.Error())
	}
	if s.Brakes != desired.DefaultBrakes() {
		out.Brakes = s.Brakes
	}
	b, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimLeft(b, "\n")
}
