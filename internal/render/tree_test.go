package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tidelock/tidelock/internal/desired"
)

func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), Mode: 0o644} }

func TestALinkIsFollowedInsideTheRepositoryAndNowhereElse(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{
		"a/file.txt":     file("content"),
		"file":           link("a/file.txt"),
		"a/up":           link("../a/file.txt"),
		"dir":            link("a"),
		"through":        link("dir/up"),
		"dots":           link("a/./../a//file.txt"),
		"root":           link("."),
		"a/out":          link("../../secret"),
		"abs":            link("/etc/passwd"),
		"out-and-in":     link("../repo/a/file.txt"),
		"self":           link("self"),
		"ping":           link("pong"),
		"pong":           link("ping"),
		"nothing":        link("a/gone.txt"),
		"through-a-file": link("a/file.txt/x"),
	}
	tests := map[string]struct {
		name string
		want string // part of the error; empty where the content is read
	}{
		"to a file":                    {name: "file"},
		"up and down":                  {name: "a/up"},
		"through a linked folder":      {name: "dir/file.txt"},
		"through two links":            {name: "through"},
		"with dots":                    {name: "dots"},
		"to the root":                  {name: "root/a/file.txt"},
		"out of the repository":        {name: "a/out", want: "a/out is a link that leads out of the repository"},
		"out, named through a link":    {name: "dir/out", want: "a/out is a link that leads out of the repository"},
		"absolute":                     {name: "abs", want: "abs is a link that leads out of the repository"},
		"out and in again":             {name: "out-and-in", want: "out-and-in is a link that leads out of the repository"},
		"to itself":                    {name: "self", want: "self is a link that leads round in a circle"},
		"round in a circle":            {name: "ping", want: "is a link that leads round in a circle"},
		"to nothing":                   {name: "nothing", want: "nothing is a link that leads to nothing"},
		"through a file":               {name: "through-a-file", want: "through-a-file is a link that leads to nothing"},
		"a name that leaves":           {name: "../secret", want: "leads out of the repository"},
		"a name with a step back":      {name: "a/../a/file.txt", want: "leads out of the repository"},
		"a folder":                     {name: "a", want: "a is a folder"},
		"a name in Latin-1":            {name: "caf\xe9.yaml", want: "not UTF-8"},
		"a name of two lines":          {name: "a\nkind: Secret", want: "control character"},
		"deeper than anything sane is": {name: strings.Repeat("a/", 100) + "a", want: "is nested more than 64 deep"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := newTree(repo).ReadFile(tt.name)
			if tt.want == "" {
				if err != nil || string(data) != "content" {
					t.Errorf("got %q, %v; want the content", data, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v; want an error with %q", data, err, tt.want)
			}
		})
	}
}

func TestAChainOfLinksThatFansOutCostsWhatItIsLong(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{"l0/x": file("content")}
	for i := 1; i < 30; i++ {
		repo[fmt.Sprintf("l%d", i)] = link(fmt.Sprintf("l%d/../l%d/../l%d", i-1, i-1, i-1))
	}
	if _, err := newTree(repo).ReadFile("l29/x"); err != nil {
		t.Error(err)
	}
}

func TestTheTreeIsAWorkingFileSystem(t *testing.T) {
	t.Parallel()
	repo := fstest.MapFS{"a/b/c.yaml": file("c"), "a/d.yaml": file("d"), "e": file("")}
	if err := fstest.TestFS(newTree(repo), "a/b/c.yaml", "a/d.yaml", "e"); err != nil {
		t.Error(err)
	}
}

// big is a file that says how large it is, and fails the test when it is read.
type big struct {
	fs.FS
	fs.FileInfo
	size int64
}

func (b big) Open(name string) (fs.File, error) {
	if name == "." {
		return b.FS.Open(name)
	}
	return nil, errors.New("must not be opened")
}

func (b big) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(b.FS, name)
	if name == "." {
		return info, err
	}
	return sized{info, b.size}, err
}

type sized struct {
	fs.FileInfo
	size int64
}

func (s sized) Size() int64 { return s.size }

func TestALargeFileIsNotRead(t *testing.T) {
	t.Parallel()
	repo := big{FS: fstest.MapFS{"a.yaml": file("a: 1")}, size: maxFile + 1}
	_, err := Render(t.Context(), desired.Revision{}, repo, Options{})
	if _, ok := errors.AsType[desired.Problems](err); !ok || err.Error() != "a.yaml: is larger than 16 MiB" {
		t.Errorf("got %v", err)
	}
}

func TestWhatOneRenderReadsIsBounded(t *testing.T) {
	t.Parallel()
	tr := newTree(fstest.MapFS{"a": file("content")})
	*tr.total = maxTotal
	if _, err := tr.ReadFile("a"); err == nil || !strings.Contains(err.Error(), "more than 512 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestATreeThatCannotBeReadIsNoProblemOfTheContent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kustomization.yaml", "plain.yaml"} {
		repo := broken{fstest.MapFS{name: file("resources: [a.yaml]"), "a.yaml": file("a: 1")}}
		_, err := Render(t.Context(), desired.Revision{Ref: "main"}, repo, Options{})
		if _, ok := errors.AsType[desired.Problems](err); ok || !errors.Is(err, errDisk) {
			t.Errorf("%s: got %v, want the disk's error alone: the commit must not be rejected for it", name, err)
		}
	}
}

var errDisk = errors.New("object store is gone")

type broken struct{ fstest.MapFS }

func (b broken) ReadFile(string) ([]byte, error) { return nil, errDisk }

func TestARenderEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, repo := range []fstest.MapFS{plainRepository(3), kustomizations(2)} {
		if _, err := Render(ctx, desired.Revision{}, repo, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}
