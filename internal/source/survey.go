package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxItems bounds the entries of a folder, and maxHops the links that lead to one file, as Linux does.
	maxItems = 500_000
	maxHops  = 40
	// kubelet is how names begin that the kubelet makes in a mounted ConfigMap: ..data and what it leads to.
	kubelet = ".."
)

// item is one entry of a folder.
type item struct {
	path  string
	stamp stamp
	// link is the target of a symbolic link.
	link string
	// hash of a file, once read.
	hash string
}

// survey lists what is below dir, sorted by path, without reading files; of a working tree what a commit may hold.
func survey(ctx context.Context, dir string, worktree bool) ([]item, error) {
	base, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, fmt.Errorf("open the folder: %w", err)
	}
	var ig *ignored
	if worktree {
		if ig, err = ignoredIn(base); err != nil {
			return nil, err
		}
	}
	var items []item
	err = filepath.WalkDir(base, func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Join(err, ctx.Err()) != nil:
			return errors.Join(err, ctx.Err())
		case name == base:
			return ig.enter("")
		case d.Name() == ".git" && d.IsDir():
			return fs.SkipDir
		case d.Name() == ".git":
			return nil
		case len(items) == maxItems:
			return fmt.Errorf("the folder has more than %d entries", maxItems)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		it := item{path: strings.TrimPrefix(name[len(base):], "/"), stamp: stampOf(info)}
		switch {
		case ig.has(it.path, d.IsDir()) && d.IsDir():
			return fs.SkipDir
		case ig.has(it.path, d.IsDir()):
			return nil
		case info.Mode()&fs.ModeSymlink != 0:
			if it.link, err = os.Readlink(name); err != nil {
				return err
			}
		case !info.IsDir() && !info.Mode().IsRegular():
			return nil
		}
		items = append(items, it)
		switch {
		case d.IsDir() && ig.foreign(it.path):
			return fs.SkipDir
		case d.IsDir():
			return ig.enter(it.path)
		}
		return nil
	})
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.path, b.path) })
	return items, err
}

func sameItems(a, b []item) bool {
	return slices.EqualFunc(a, b, func(a, b item) bool { return a.path == b.path && a.stamp == b.stamp && a.link == b.link })
}

// index makes the folders of the tree from the items.
func (s *snapshot) index() {
	for _, it := range s.items {
		n := node{name: path.Base(it.path), key: it.path}
		switch mode := it.stamp.mode; {
		case mode.IsDir():
			n.mode = fs.ModeDir | 0o755
		case mode&fs.ModeSymlink != 0:
			n.mode, n.hash = fs.ModeSymlink|0o777, it.link
		case mode&0o111 != 0:
			n.mode, n.hash = 0o755, it.hash
		default:
			n.mode, n.hash = 0o644, it.hash
		}
		dir := path.Dir(it.path)
		s.dirs[dir] = append(s.dirs[dir], n)
	}
	for _, nodes := range s.dirs {
		slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.name, b.name) })
	}
}

// digest is over names, executable bits, contents and links. A link that leads to a name of the kubelet's counts as what
// it leads to, and those names do not count themselves: a ConfigMap that is swapped for an equal one has not changed, and
// one that is swapped changes in one step, not in the five that the kubelet takes.
func digest(items []item) string {
	d := digester{items: map[string]item{}}
	for _, it := range items {
		d.items[it.path] = it
	}
	sum := sha256.New()
	for _, it := range items {
		if hidden(it.path) {
			continue
		}
		if to := d.resolve(it.path); it.link != "" && hidden(to) {
			d.subtree(sum, items, it.path, to)
			continue
		}
		line(sum, it.path, it)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

type digester struct {
	items map[string]item
}

// hidden tells whether a part of the path is a name of the kubelet's.
func hidden(p string) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return strings.HasPrefix(part, kubelet) })
}

func line(w io.Writer, name string, it item) {
	kind := "file"
	switch mode := it.stamp.mode; {
	case mode.IsDir():
		kind = "dir"
	case it.link != "":
		kind = "link"
	case mode&0o111 != 0:
		kind = "exec"
	}
	_, _ = fmt.Fprintf(w, "%s %q %s %q\n", kind, name, it.hash, it.link)
}

// subtree writes what is at to under the name of the link that leads there.
func (d digester) subtree(w io.Writer, items []item, name, to string) {
	line(w, name, d.items[to])
	for _, it := range items {
		if below, ok := strings.CutPrefix(it.path, to+"/"); ok {
			line(w, name+"/"+below, it)
		}
	}
}

// resolve follows the links of a path; the answer is empty where they lead out of the folder, nowhere or in circles.
func (d digester) resolve(p string) string {
	rest := strings.Split(p, "/")
	at := "."
	for hops := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if next == ".." || strings.HasPrefix(next, "../") {
			return ""
		}
		if next == "." {
			at = next
			continue
		}
		it, ok := d.items[next]
		if !ok {
			return ""
		}
		if it.link == "" {
			at = next
			continue
		}
		if hops++; hops > maxHops || path.IsAbs(it.link) {
			return ""
		}
		rest = append(strings.Split(it.link, "/"), rest...)
	}
	return at
}
