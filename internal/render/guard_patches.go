package render

import (
	"sigs.k8s.io/kustomize/api/types"
)

// checkPatches checks the files of patches and the YAML of inline ones.
func (s *site) checkPatches() {
	for i := range s.k.Patches {
		s.checkPatch(field("patches", i), &s.k.Patches[i])
	}
	jsonPatches := s.k.PatchesJson6902 //nolint:staticcheck // what is deprecated is still built, so it is checked
	for i := range jsonPatches {
		s.checkPatch(field("patchesJson6902", i), &jsonPatches[i])
	}
	s.checkMerges(s.k.PatchesStrategicMerge) //nolint:staticcheck // the same
	for i := range s.k.Replacements {
		r := &s.k.Replacements[i]
		if r.Path == "" {
			continue
		}
		f := field("replacements", i, "path")
		if target, safe, ok := s.file(f, r.Path); ok {
			r.Path = safe
			s.checkYAML(f, target)
		}
	}
}

// checkMerges checks strategic merge patches, each YAML or the path of a file, and puts paths that are safe in their place.
func (s *site) checkMerges(patches []types.PatchStrategicMerge) {
	for i, p := range patches {
		f := field("patchesStrategicMerge", i)
		text := string(p)
		parsed, inline, ok := s.inline(f, text)
		if !ok {
			continue
		}
		if inline {
			s.hideAll(parsed, "")
			continue
		}
		if target, safe, ok := s.file(f, text); ok {
			patches[i] = types.PatchStrategicMerge(safe)
			if parsed, ok := s.checkYAML(f, target); ok {
				s.hideAll(parsed, "")
			}
		}
	}
}

func (s *site) checkPatch(f fieldPath, p *types.Patch) {
	kind := ""
	if p.Target != nil {
		kind = p.Target.Kind
	}
	if p.Patch != "" {
		if parsed, ok := s.checkText(f.child("patch"), p.Patch); ok {
			s.hideAll(parsed, kind)
		}
	}
	if p.Path == "" {
		return
	}
	if target, safe, ok := s.file(f.child("path"), p.Path); ok {
		p.Path = safe
		if parsed, ok := s.checkYAML(f, target); ok {
			s.hideAll(parsed, kind)
		}
	}
}
