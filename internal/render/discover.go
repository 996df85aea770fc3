package render

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// found is what a folder without a kustomization holds.
type found struct {
	// kustomizations are the folders below it that hold one.
	kustomizations []string
	// files are its YAML and JSON files that stand in no kustomization's folder.
	files []string
	// seen counts entries; real are the folders that were walked, without links, so that a link to a parent ends.
	seen int
	real map[string]bool
}

// unit returns the manifests of one unit: its kustomization, or what discover finds in a plain folder.
func (r *run) unit(ctx context.Context, root, dir string) ([]item, error) {
	info, err := r.tree.Stat(dir)
	if err != nil {
		return nil, r.refuse(desired.Origin{Path: dir}, err)
	}
	if !info.IsDir() {
		return nil, r.refuse(desired.Origin{Path: dir}, &badPath{path: dir, why: "is not a folder"})
	}
	if r.tree.kustomizationIn(dir) != "" {
		return r.build(ctx, dir)
	}
	f := found{real: map[string]bool{}}
	above, err := r.ignoredAbove(root, dir)
	if err != nil {
		return nil, err
	}
	if err := r.discover(dir, above, false, &f); err != nil {
		return nil, err
	}
	if len(f.kustomizations) == 0 && len(f.files) == 0 {
		r.problem(desired.Origin{Path: dir}, "no kustomization.yaml and no YAML file here or below")
		return nil, nil
	}
	return r.folder(ctx, f)
}

// folder renders a plain folder: its topmost kustomizations, and all other files as manifests.
func (r *run) folder(ctx context.Context, f found) ([]item, error) {
	var items []item
	used := map[string]bool{}
	for _, k := range r.topmost(f.kustomizations) {
		got, err := r.build(ctx, k)
		if err != nil {
			return nil, err
		}
		items = append(items, got...)
		if b, ok := r.cache.builds[k]; ok {
			r.markReads(b.value, used)
		}
	}
	plain, err := r.plain(ctx, slices.DeleteFunc(f.files, func(name string) bool {
		return used[name] || used[r.tree.real[name]]
	}), items)
	return append(items, plain...), err
}

// markReads notes every file that a build read: it belongs to the kustomization and is no manifest of its own.
func (r *run) markReads(b *built, used map[string]bool) {
	for name, state := range b.reads {
		if state == stateMissing || state == stateFolder {
			continue
		}
		used[name] = true
		if canon, err := r.tree.resolve(name); err == nil {
			used[canon] = true
		}
	}
}

// kustomizationIn returns the path of the kustomization file in dir, or "".
func (t *tree) kustomizationIn(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		info, err := t.Stat(path.Join(dir, name))
		_, refused := errors.AsType[*badPath](err)
		// One that cannot be read is there all the same: the build says what is wrong with it.
		if err == nil && !info.IsDir() || refused || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return path.Join(dir, name)
		}
	}
	return ""
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), path.Base(name))
}

// discover walks dir. Entries that begin with a dot and those that .tidelockignore names are left out.
func (r *run) discover(dir string, ignored ignore, inside bool, f *found) error {
	canon, err := r.tree.resolve(dir)
	if err != nil {
		return r.refuse(desired.Origin{Path: dir}, err)
	}
	if f.real[canon] {
		return nil
	}
	f.real[canon] = true
	entries, err := r.tree.ReadDir(dir)
	if err != nil {
		return r.refuse(desired.Origin{Path: dir}, err)
	}
	if strings.Count(dir, "/") >= maxFolders {
		return r.refuse(desired.Origin{Path: dir}, tooDeep(dir))
	}
	ignored, err = r.ignoredIn(dir, ignored)
	if err != nil {
		return err
	}
	chart := path.Join(dir, "Chart.yaml")
	isChart := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "Chart.yaml" })
	switch {
	case r.tree.kustomizationIn(dir) != "":
		f.kustomizations = append(f.kustomizations, dir)
		inside = true
	case !inside && !ignored.match(chart, false) && isChart:
		r.problem(desired.Origin{Path: chart}, noCharts+", and name this folder in "+ignoreFile)
		return nil
	}
	for _, e := range entries {
		if f.seen++; f.seen > maxFiles {
			return r.refuse(desired.Origin{Path: dir}, &badPath{
				path: dir, why: fmt.Sprintf("is one too many: more than %d files to look at", maxFiles),
			})
		}
		if err := r.entry(path.Join(dir, e.Name()), e, ignored, inside, f); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) entry(name string, e fs.DirEntry, ignored ignore, inside bool, f *found) error {
	if strings.HasPrefix(e.Name(), ".") {
		return nil
	}
	isDir := e.IsDir()
	if e.Type()&fs.ModeSymlink != 0 {
		info, err := r.tree.Stat(name)
		if err != nil {
			return r.badLink(name, ignored, err)
		}
		isDir = info.IsDir()
	}
	switch {
	case ignored.match(name, isDir):
		return nil
	case isDir:
		return r.discover(name, ignored, inside, f)
	case inside, isKustomization(name), e.Name() == v1alpha1.ConfigFile:
		return nil
	case isYAML(name), isJSON(name):
		f.files = append(f.files, name)
	}
	return nil
}

// badLink refuses a link that cannot be followed where it stands for a manifest; any other is left out, and said so.
func (r *run) badLink(name string, ignored ignore, err error) error {
	if ignored.match(name, false) {
		return nil
	}
	if isYAML(name) || isJSON(name) {
		return r.refuse(desired.Origin{Path: name}, err)
	}
	if _, ok := errors.AsType[*badPath](err); !ok && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look at %s: %w", name, err)
	}
	r.warn(desired.Origin{Path: name}, "left out: it is a link that cannot be followed inside the repository")
	return nil
}
