package render

import (
	"path"
	"slices"
	"strings"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// units returns the folders to render one by one: those that match the units of tidelock.yaml, else root alone.
func (r *run) units(root string, cfg config) ([]string, error) {
	if len(cfg.Units) == 0 {
		return []string{root}, nil
	}
	var out []string
	for i, u := range cfg.Units {
		f := field("units", i, "path")
		p := path.Clean(u.Path)
		if _, err := path.Match(p, ""); err != nil {
			r.problems = append(r.problems, cfg.problem(f, "want a path, or a pattern with *, ? and [a-z]"))
			continue
		}
		if u.Path == "" || path.IsAbs(p) || p == ".." || strings.HasPrefix(p, "../") {
			r.problems = append(r.problems, cfg.problem(f, "want a path below the folder of %s", v1alpha1.ConfigFile))
			continue
		}
		folders, err := r.match(root, strings.Split(p, "/"), nil)
		if err != nil {
			return nil, err
		}
		if len(folders) == 0 {
			r.problems = append(r.problems, cfg.problem(f, "no folder matches %q", u.Path))
		}
		out = append(out, folders...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// match returns the folders below dir that fit the parts of a pattern. Ignored folders never do, and those that begin
// with a dot only where they are written out.
func (r *run) match(dir string, parts []string, above ignore) ([]string, error) {
	if len(parts) == 0 || parts[0] == "." {
		return []string{dir}, nil
	}
	ignored, err := r.ignoredIn(dir, above)
	if err != nil {
		return nil, err
	}
	entries, err := r.tree.ReadDir(dir)
	if err != nil {
		return nil, r.refuse(desired.Origin{Path: dir}, err)
	}
	var out []string
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		ok, err := path.Match(parts[0], e.Name())
		hidden := strings.HasPrefix(e.Name(), ".") && parts[0] != e.Name()
		if err != nil || !ok || hidden || ignored.match(name, true) {
			continue
		}
		info, err := r.tree.Stat(name)
		if err != nil {
			if err := r.badLink(name, ignored, err); err != nil {
				return nil, err
			}
			continue
		}
		if !info.IsDir() {
			continue
		}
		below, err := r.match(name, parts[1:], ignored)
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
	return out, nil
}
