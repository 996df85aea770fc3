package render

import (
	"maps"
	"path"
	"slices"
	"sort"
	"time"

	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/yaml"
)

const (
	// searchFor bounds how long it is searched for what makes a build fail.
	searchFor = 3 * time.Second
	// searchIn bounds the files of such a build: one of more takes seconds itself.
	searchIn = 2000
)

// buildOrder is the order in which kustomize goes through the fields of a kustomization that can make it fail. The others
// (kind, generatorOptions) belong to every part of it.
func buildOrder() []string {
	return []string{
		"openapi", "resources", "configurations", "crds", "configMapGenerator", "secretGenerator", "generators", "components",
		"patchesStrategicMerge", "patches", "namespace", "namePrefix", "nameSuffix", "commonLabels", "labels",
		"commonAnnotations", "patchesJson6902", "replicas", "images", "replacements", "transformers", "validators", "vars",
	}
}

// search finds what makes a build fail, by building parts of it: kustomize itself does not say.
type search struct {
	fsys  kustFS
	plan  *plan
	until time.Time
}

// locate returns the first kustomization that fails by itself, bases before what stands on them, the field of it and the
// error; without a field where that was not found.
func locate(fsys kustFS, p *plan) (place, fieldPath, error) {
	if len(p.docs) > searchIn {
		return place{}, nil, nil
	}
	s := search{fsys: fsys, plan: p, until: time.Now().Add(searchFor)}
	for _, file := range p.order {
		var k map[string]any
		if kyaml.Unmarshal(p.files[file], &k) != nil || k["kind"] == types.ComponentKind {
			continue
		}
		err := s.build(file, k)
		if err == nil {
			continue
		}
		f, fieldErr := s.field(file, k)
		if f == nil {
			return p.places[file], nil, err
		}
		return p.places[file], f, fieldErr
	}
	return place{}, nil, nil
}

// field builds more and more of k until that fails.
func (s search) field(file string, k map[string]any) (fieldPath, error) {
	part := maps.Clone(k)
	maps.DeleteFunc(part, func(name string, _ any) bool { return slices.Contains(buildOrder(), name) })
	part["configurations"] = []any{ourConfiguration}
	for _, name := range buildOrder() {
		value, set := k[name]
		if !set {
			continue
		}
		part[name] = value
		err := s.build(file, part)
		if err == nil {
			continue
		}
		list, isList := value.([]any)
		if !isList {
			return field(name), err
		}
		at := sort.Search(len(list)-1, func(i int) bool {
			part[name] = list[:i+1]
			return s.build(file, part) != nil
		})
		part[name] = list[:at+1]
		if err := s.build(file, part); err != nil {
			return s.plan.fieldOf(file, name, at), err
		}
		return nil, nil
	}
	return nil, nil
}

// build returns what a kustomization fails on that stands in the place of file; nothing once the time is over.
func (s search) build(file string, k map[string]any) error {
	if time.Now().After(s.until) {
		return nil
	}
	data, err := kyaml.Marshal(k)
	if err != nil {
		return nil //nolint:nilerr // it was read from YAML
	}
	fsys := s.fsys
	fsys.files = maps.Clone(fsys.files)
	fsys.files[file] = data
	_, err = kustomize(fsys, path.Join("/", path.Dir(file)), s.plan.schema)
	return err
}
