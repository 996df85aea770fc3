package render

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/tidelock/tidelock/internal/desired"
)

// aim is a field of a kustomization that names what it changes: by a selector, or the name of an image.
type aim struct {
	place
	at       fieldPath
	selector *types.Selector
	image    types.Image
}

// noteAims notes what of a kustomization kustomize leaves undone in silence where its target is not there. A component is for
// kustomizations that differ, so what it does not find is no mistake of its own.
func (s *site) noteAims() {
	if s.k.Kind == types.ComponentKind {
		return
	}
	add := func(f fieldPath, sel *types.Selector) {
		if sel != nil && regexp.MustCompile(`^[\w.-]+$`).MatchString(sel.Name) {
			s.aims = append(s.aims, aim{place: s.place, at: f, selector: sel})
		}
	}
	for i, p := range s.k.Patches {
		add(field("patches", i, "target"), p.Target)
	}
	for i, r := range s.k.Replacements {
		for j, t := range r.Targets {
			if t.Select != nil {
				add(field("replacements", i, "targets", j, "select"), t.Select)
			}
		}
	}
	for i, img := range s.k.Images {
		s.aims = append(s.aims, aim{place: s.place, at: field("images", i), image: img})
	}
}

// idle warns of patches, replacements and images that changed nothing, for want of a target.
func (p *plan) idle(made resmap.ResMap) []desired.Problem {
	var out []desired.Problem
	for _, a := range p.aims {
		switch {
		case a.selector != nil && !p.selects(*a.selector, made):
			out = append(out, a.problem(a.at, "nothing here is its target: it changes nothing; correct kind, name and namespace"))
		case a.selector == nil && !p.hasImage(a.image.Name):
			out = append(out, a.problem(a.at, "no image here has the name %q: it changes nothing; correct the name", a.image.Name))
		}
	}
	return out
}

// selects reports whether an object has, or had at any stage of the build, what a selector asks for. Its labels are not
// looked at: they may have changed since.
func (p *plan) selects(sel types.Selector, made resmap.ResMap) bool {
	want, err := types.NewSelectorRegex(&sel)
	if err != nil {
		return true
	}
	fits := func(id resid.ResId) bool {
		return want.MatchGvk(id.Gvk) && want.MatchName(id.Name) &&
			(want.MatchNamespace(id.Namespace) || want.MatchNamespace(id.EffectiveNamespace()))
	}
	for _, res := range made.Resources() {
		if fits(res.CurId()) || fits(res.OrgId()) || slices.ContainsFunc(res.PrevIds(), fits) {
			return true
		}
	}
	for _, file := range p.docs { // a patch may have deleted it
		for _, doc := range file.docs {
			gv, err := schema.ParseGroupVersion(doc.text("apiVersion"))
			if err == nil && want.MatchGvk(resid.NewGvk(gv.Group, gv.Version, doc.text("kind"))) &&
				want.MatchName(doc.text("metadata", "name")) {
				return true
			}
		}
	}
	return false
}

// hasImage reports whether a string of an object or patch is an image of this name, or another entry makes one of it.
func (p *plan) hasImage(name string) bool {
	is := func(text string) bool {
		rest, ok := strings.CutPrefix(text, name)
		return ok && (rest == "" || rest[0] == ':' || rest[0] == '@')
	}
	if slices.ContainsFunc(p.aims, func(a aim) bool { return a.image.NewName == name }) {
		return true
	}
	for _, file := range slices.AppendSeq(slices.Clone(p.patches), maps.Values(p.docs)) {
		for _, doc := range file.docs {
			if slices.ContainsFunc(texts(doc.value, nil), is) {
				return true
			}
		}
		for _, l := range file.lists {
			if slices.ContainsFunc(texts(l.value, nil), is) {
				return true
			}
		}
	}
	return false
}
