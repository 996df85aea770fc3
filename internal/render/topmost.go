package render

import (
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// topmost returns those folders that no other one refers to and that stand below none that is returned. Components are
// never built by themselves.
func (r *run) topmost(dirs []string) []string {
	referred := map[string]bool{}
	var out []string
	components := map[string]bool{}
	for _, dir := range dirs {
		refs, component := r.references(dir)
		components[dir] = component
		for _, ref := range refs {
			if canon, err := r.tree.resolve(ref); err == nil {
				referred[canon] = true
			}
		}
	}
	for _, dir := range dirs {
		canon, err := r.tree.resolve(dir)
		if err == nil && !referred[canon] && !components[dir] {
			out = append(out, dir)
		}
	}
	return slices.DeleteFunc(slices.Clone(out), func(dir string) bool {
		return slices.ContainsFunc(out, func(above string) bool { return strings.HasPrefix(dir, above+"/") })
	})
}

// references returns the folders that the kustomization in dir refers to. What cannot be read is refused when it is built.
func (r *run) references(dir string) (refs []string, component bool) {
	name := r.tree.kustomizationIn(dir)
	if p, err := r.tree.parsed(r.cache, name); err != nil || len(p.faults) > 0 {
		return nil, false
	}
	data, err := r.tree.ReadFile(name)
	if err != nil {
		return nil, false
	}
	var k types.Kustomization
	if err := k.Unmarshal(data); err != nil {
		return nil, false
	}
	k.FixKustomization()
	for _, p := range slices.Concat(k.Resources, k.Components, k.Generators, k.Transformers, k.Validators) {
		// Inline generators are no paths: they lead nowhere.
		if ref := path.Join(dir, p); ref != dir {
			refs = append(refs, ref)
		}
	}
	return refs, k.Kind == types.ComponentKind
}
