package render

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/redact"
)

// plan is what one kustomize build may read, checked before it begins.
type plan struct {
	// files is what kustomize reads in the place of each kustomization file: every path in it is local and exists, and
	// begins with "./" or "../", so that nothing in it can be taken for an address.
	files map[string][]byte
	// order are the names of files, a base before what stands on it; places are where their fields stand.
	order  []string
	places map[string]place
	// listed are the fields of the resources of each kustomization that kustomize reads.
	listed map[string][]fieldPath
	// docs are the documents of each resource file, by its path without links.
	docs map[string]parsed
	// patches are the documents of patches, aims what patches, replacements and images are for.
	patches []parsed
	aims    []aim
	// generated are the names of generated objects before their hash, by kind.
	generated map[string][]string
	// schema is set where a kustomization brings an OpenAPI schema of its own.
	schema bool
	// secrets are the values that no message may carry.
	secrets *redact.Redactor
}

// guard walks the kustomizations of a build and refuses what would fetch, run or lead out of the repository.
type guard struct {
	plan
	tree    *tree
	cache   *Cache
	visited map[string]bool
	// path leads from the top to the kustomization that is being checked.
	path     []string
	problems desired.Problems
	warnings []desired.Problem
	// err is set where the tree could not be read: nothing is known about the content.
	err error
}

// fieldOf returns the path of an entry of a list as it stands in the file.
func (p *plan) fieldOf(file, list string, at int) fieldPath {
	if listed := p.listed[file]; list == "resources" && at < len(listed) {
		return listed[at]
	}
	return field(list, at)
}

func newGuard(t *tree, c *Cache) *guard {
	return &guard{
		plan: plan{
			files: map[string][]byte{}, places: map[string]place{}, listed: map[string][]fieldPath{},
			docs: map[string]parsed{}, generated: map[string][]string{}, secrets: redact.New(),
		},
		tree: t, cache: c, visited: map[string]bool{},
	}
}

// site is one kustomization file while it is checked.
type site struct {
	*guard
	place
	// dir is the folder of the file, without links.
	dir string
	k   types.Kustomization
}

func (s *site) refuse(f fieldPath, format string, args ...any) {
	s.problems = append(s.problems, s.problem(f, format, args...))
}

// broken notes why a path cannot be read.
func (s *site) broken(f fieldPath, target string, err error) {
	r := run{}
	at := desired.Origin{Path: target}
	if err := r.refuse(at, err); err != nil {
		s.err = err
		return
	}
	for _, p := range r.problems {
		switch {
		case p.Text == noSuchFile && s.tree.inSubmodule(target):
			s.refuse(f, "%s %s", target, readNoSubmodule)
		case p.Text == noSuchFile:
			s.refuse(f, "%s %s", noSuchFile, target)
		case f == nil:
			s.refuse(nil, "%s", p.Text)
		default:
			s.refuse(f, "%s", p.Error())
		}
	}
}

// kustomization checks the kustomization in dir and all that it refers to; from is where dir is named, nil for the top.
func (g *guard) kustomization(dir string, refuse func(format string, args ...any)) {
	for i, above := range g.path {
		if above == dir || dir == "." || strings.HasPrefix(above, dir+"/") {
			refuse("goes round in a circle: %s", strings.Join(append(slices.Clone(g.path[i:]), dir), " -> "))
			return
		}
	}
	if g.visited[dir] || g.err != nil {
		return
	}
	g.visited[dir] = true
	g.path = append(g.path, dir)
	defer func() { g.path = g.path[:len(g.path)-1] }()
	s, ok := g.site(dir, refuse)
	if !ok {
		return
	}
	s.checkBuiltins()
	s.checkResources()
	s.checkGenerators()
	s.checkPatches()
	s.checkFiles()
	s.checkPlugins()
	s.noteAims()
	g.write(s)
}

// local returns what a path of the kustomization leads to. It refuses what is not a relative path inside the repository.
func (s *site) local(f fieldPath, p string) (target string, info fs.FileInfo, ok bool) {
	target = path.Join(s.dir, p)
	switch {
	case strings.TrimSpace(p) == "":
		s.refuse(f, "is empty: name a path, or leave it out")
		return "", nil, false
	case isAddress(p):
		s.refuse(f, "is an address: nothing is fetched at render; copy the files into the repository and name their path")
		return "", nil, false
	case path.IsAbs(p):
		s.refuse(f, "is an absolute path: write it relative to this file")
		return "", nil, false
	case !fs.ValidPath(target):
		s.refuse(f, "leads out of the repository")
		return "", nil, false
	}
	info, err := s.tree.Stat(target)
	if err != nil {
		if looksLikeHost(p) {
			s.refuse(f, "no such file or folder %s; nothing is fetched at render: copy the files into the repository", target)
			return "", nil, false
		}
		s.broken(f, target, err)
		return "", nil, false
	}
	return target, info, true
}

// file is local for what must be a file. It returns the path as kustomize may read it.
func (s *site) file(f fieldPath, p string) (target, safe string, ok bool) {
	target, info, ok := s.local(f, p)
	if !ok {
		return "", "", false
	}
	if info.IsDir() {
		s.refuse(f, "%s is a folder: name a file", target)
		return "", "", false
	}
	if isKustomization(target) {
		s.refuse(f, "%s is a kustomization: name the folder that it stands in", target)
		return "", "", false
	}
	if info.Size() < maxPointer {
		if _, err := s.tree.ReadFile(target); err != nil { // a pointer of Git LFS
			s.broken(f, target, err)
			return "", "", false
		}
	}
	return target, safePath(p), true
}

// safePath returns a relative path that cannot be taken for an address, whatever its first element looks like.
func safePath(p string) string {
	p = path.Clean(p)
	if p == ".." || strings.HasPrefix(p, "../") {
		return p
	}
	return "./" + p
}

// isAddress reports whether kustomize could take p for something to fetch, whatever the repository holds.
func isAddress(p string) bool {
	return regexp.MustCompile(`(?i)^(https?|ssh|git|file|oci|s3):|://|^[a-z][a-z0-9-]*@[^/]*:|^github\.com:`).MatchString(p)
}

// looksLikeHost reports whether p begins as addresses without a scheme do ("github.com/a/b").
func looksLikeHost(p string) bool {
	host, _, ok := strings.Cut(p, "/")
	return ok && strings.Contains(strings.Trim(host, "."), ".") && !strings.HasPrefix(host, ".")
}

// checkYAML notes what is wrong with a file that kustomize reads as YAML: it expands aliases without a bound.
func (s *site) checkYAML(f fieldPath, target string) (parsed, bool) {
	p, err := s.tree.parsed(s.cache, target)
	if err != nil {
		s.broken(f, target, err)
		return parsed{}, false
	}
	for _, x := range p.faults {
		at := desired.Origin{Path: target, Line: x.line}
		s.problems = append(s.problems, desired.Problem{Origin: at, Text: x.text})
	}
	return p, len(p.faults) == 0
}

// checkText does the same for YAML inside the kustomization.
func (s *site) checkText(f fieldPath, text string) (parsed, bool) {
	p := parseYAML([]byte(text))
	for _, x := range p.faults {
		s.refuse(f, "line %d of it: %s", x.line, x.text)
	}
	return p, len(p.faults) == 0
}
