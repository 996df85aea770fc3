package render

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
)

// site reads the kustomization file of dir, as kustomize itself decodes it.
func (g *guard) site(dir string, refuse func(format string, args ...any)) (*site, bool) {
	var names []string
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		// Every name is looked at, so that the cache sees one that appears.
		_, err := g.tree.Stat(path.Join(dir, name))
		if _, refused := errors.AsType[*badPath](err); refused || err == nil || !errors.Is(err, fs.ErrNotExist) {
			names = append(names, path.Join(dir, name))
		}
	}
	switch len(names) {
	case 0:
		if g.tree.inSubmodule(dir) {
			refuse("%s %s", dir, readNoSubmodule)
			return nil, false
		}
		refuse("no kustomization.yaml in folder %s", dir)
		return nil, false
	case 1:
	default:
		refuse("folder %s has more than one kustomization file: %s", dir, strings.Join(names, ", "))
		return nil, false
	}
	s := &site{guard: g, dir: dir, place: place{start: desired.Origin{Path: names[0]}}}
	data, err := g.tree.ReadFile(names[0])
	if err != nil {
		s.broken(nil, names[0], err)
		return nil, false
	}
	p, ok := s.checkYAML(nil, names[0])
	if !ok {
		return nil, false
	}
	if len(p.docs) != 1 || len(p.lists) > 0 {
		s.refuse(nil, "want one kustomization, in one YAML document")
		return nil, false
	}
	s.lines, s.start.Line = p.docs[0].node, p.docs[0].line
	return s, s.decode(data)
}

func (s *site) decode(data []byte) bool {
	const flux = "kustomize.toolkit.fluxcd.io/"
	if n := nodeAt(s.lines, field("apiVersion")); n != nil && strings.HasPrefix(n.Value, flux) {
		s.refuse(field("apiVersion"), "this is an object of Flux, not a kustomization: give its file another name")
		return false
	}
	if err := s.k.Unmarshal(data); err != nil {
		if m := regexp.MustCompile(`unknown field "([^"]+)"`).FindStringSubmatch(err.Error()); m != nil {
			s.unknown(m[1])
			return false
		}
		s.refuse(mistyped(s.lines, err), "%s", typeError(err))
		return false
	}
	if deprecated := s.k.CheckDeprecatedFields(); deprecated != nil {
		for _, text := range *deprecated {
			text = strings.TrimPrefix(text, "# Warning: ")
			var f fieldPath
			if m := regexp.MustCompile(`^'(\w+)'`).FindStringSubmatch(text); m != nil && nodeAt(s.lines, field(m[1])) != nil {
				f = field(m[1])
			}
			s.warnings = append(s.warnings, s.problem(f, "%s", text))
		}
	}
	s.k.FixKustomization()
	if err := s.k.CheckEmpty(); err != nil {
		s.refuse(nil, "the kustomization is empty")
		return false
	}
	for _, text := range s.k.EnforceFields() {
		s.refuse(nil, "%s", text)
		return false
	}
	return true
}

// unknown refuses a field, at its own line where the file has it once.
func (s *site) unknown(name string) {
	known := append(jsonNames(reflect.TypeFor[types.Kustomization]()), "apiVersion", "kind")
	known = slices.DeleteFunc(known, func(k string) bool { return k == "" })
	f := findKey(s.lines, name, nil, 0)
	if f == nil {
		f = field(name)
	}
	s.refuse(f, "unknown field %q%s", name, didYouMean(name, known))
}

// findKey returns the path of the first key of this name below n, or nil.
func findKey(n *yaml.Node, name string, at fieldPath, depth int) fieldPath {
	n = resolved(n)
	if n == nil || depth > maxDepth {
		return nil
	}
	for i, c := range n.Content {
		step := any(i)
		if n.Kind == yaml.MappingNode {
			if i%2 == 0 {
				if c.Value == name {
					return at.child(name)
				}
				continue
			}
			step = n.Content[i-1].Value
		}
		if f := findKey(c, name, at.child(step), depth+1); f != nil {
			return f
		}
	}
	return nil
}

// write keeps the file as kustomize will read it.
func (g *guard) write(s *site) {
	// Where an object comes from is asked of kustomize itself, whatever the file asks for; it is taken off again.
	s.k.BuildMetadata = []string{types.OriginAnnotations}
	s.k.Configurations = append(s.k.Configurations, ourConfiguration)
	data, err := kyaml.Marshal(s.k)
	if err != nil {
		s.refuse(nil, "not a kustomization that can be written again")
		return
	}
	g.files[s.start.Path] = bytes.Clone(data)
	g.places[s.start.Path] = s.place
	g.order = append(g.order, s.start.Path)
}

const noCharts = "Helm charts are not rendered here: render them to files (helm template)"

// checkBuiltins refuses what would need another program.
func (s *site) checkBuiltins() {
	if len(s.k.HelmCharts) > 0 || s.k.HelmGlobals != nil {
		f := field("helmCharts")
		for _, name := range []string{"helmCharts", "helmChartInflationGenerator", "helmGlobals"} {
			if nodeAt(s.lines, field(name)) != nil {
				f = field(name)
				break
			}
		}
		s.refuse(f, noCharts+" and list those under resources")
	}
}

// checkResources walks resources, bases and components. A file with nothing but comments is left out: kustomize refuses it.
func (s *site) checkResources() {
	kept := make([]string, 0, len(s.k.Resources))
	for i, p := range s.k.Resources {
		f := field("resources", i)
		if n := nodeAt(s.lines, field("resources")); nodeAt(s.lines, f) == nil {
			offset := 0
			if n != nil {
				offset = len(n.Content)
			}
			f = field("bases", i-offset)
		}
		target, info, ok := s.local(f, p)
		switch {
		case !ok:
			continue
		case info.IsDir():
			s.folder(f, target)
		case !s.resourceFile(f, target):
			continue
		}
		kept = append(kept, safePath(p))
		s.listed[s.start.Path] = append(s.listed[s.start.Path], f)
	}
	s.k.Resources = kept
	for i, p := range s.k.Components {
		f := field("components", i)
		target, info, ok := s.local(f, p)
		if !ok {
			continue
		}
		if !info.IsDir() {
			s.refuse(f, "%s is a file: a component is a folder", target)
			continue
		}
		s.folder(f, target)
		s.k.Components[i] = safePath(p)
	}
}

// folder checks the kustomization of a folder that f names.
func (s *site) folder(f fieldPath, target string) {
	canon, err := s.tree.resolve(target)
	if err != nil {
		s.broken(f, target, err)
		return
	}
	s.kustomization(canon, func(format string, args ...any) { s.refuse(f, format, args...) })
}

// resourceFile reads the documents of a resource and reports whether there are any.
func (s *site) resourceFile(f fieldPath, target string) bool {
	if isKustomization(target) {
		s.refuse(f, "%s is a kustomization: name the folder that it stands in", target)
		return false
	}
	p, ok := s.checkYAML(f, target)
	if !ok {
		return false
	}
	canon, err := s.tree.resolve(target)
	if err != nil {
		s.broken(f, target, err)
		return false
	}
	for _, x := range p.objects() {
		s.problems = append(s.problems, desired.Problem{Origin: desired.Origin{Path: canon, Line: x.line}, Text: x.text})
	}
	for _, doc := range p.docs {
		at := desired.Origin{Path: canon, Line: doc.line}
		if _, wrong := newManifest(at, doc.value); wrong != "" {
			s.problems = append(s.problems, desired.Problem{Origin: at, Text: wrong})
		}
		s.hide(doc.value, "")
	}
	s.docs[canon] = p
	return len(p.docs) > 0
}
