package render

import (
	"bufio"
	"bytes"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
)

// checkGenerators checks the files of generators, and keeps the names and values that they make.
func (s *site) checkGenerators() {
	for i := range s.k.ConfigMapGenerator {
		g := &s.k.ConfigMapGenerator[i]
		s.generated["ConfigMap"] = append(s.generated["ConfigMap"], g.Name)
		s.checkSources(field("configMapGenerator", i), &g.KvPairSources, false)
	}
	for i := range s.k.SecretGenerator {
		g := &s.k.SecretGenerator[i]
		s.generated["Secret"] = append(s.generated["Secret"], g.Name)
		s.checkSources(field("secretGenerator", i), &g.KvPairSources, true)
	}
}

func (s *site) checkSources(f fieldPath, src *types.KvPairSources, secret bool) {
	if secret {
		for _, l := range src.LiteralSources {
			_, v, ok := strings.Cut(l, "=")
			if !ok {
				v = l // kustomize repeats a literal that it cannot read
			}
			s.secrets.Add(v, strings.Trim(v, `"'`))
		}
	}
	for i, source := range src.FileSources {
		key, p, named := strings.Cut(source, "=")
		if !named {
			key, p = "", source
		}
		target, safe, ok := s.file(f.child("files", i), p)
		if !ok {
			continue
		}
		src.FileSources[i] = safe
		if named {
			src.FileSources[i] = key + "=" + safe
		}
		s.hideFile(target, secret)
	}
	for i, p := range src.EnvSources {
		at := f.child("envs", i)
		if nodeAt(s.lines, at) == nil {
			at = f.child("env")
		}
		target, safe, ok := s.file(at, p)
		if !ok {
			continue
		}
		src.EnvSources[i] = safe
		s.checkEnv(at, target)
		s.hideFile(target, secret)
	}
}

// checkEnv refuses a line that is longer than kustomize reads: it would leave it out, and all behind it, in silence.
func (s *site) checkEnv(f fieldPath, target string) {
	data, err := s.tree.ReadFile(target)
	if err != nil {
		s.broken(f, target, err)
		return
	}
	for line := range bytes.Lines(data) {
		if len(line) >= bufio.MaxScanTokenSize {
			s.refuse(f, "%s has a line of %d KiB, and lines of env files may have %d: name it under files",
				target, len(line)>>10, bufio.MaxScanTokenSize>>10)
		}
	}
}

// checkFiles checks the files that only kustomize itself reads: schemas and its own configuration.
func (s *site) checkFiles() {
	for i, p := range s.k.Crds {
		s.k.Crds[i] = s.yamlFile(field("crds", i), p)
	}
	for i, p := range s.k.Configurations {
		s.k.Configurations[i] = s.yamlFile(field("configurations", i), p)
	}
	s.schema = s.schema || len(s.k.OpenAPI) > 0
	if p, ok := s.k.OpenAPI["path"]; ok {
		s.k.OpenAPI["path"] = s.yamlFile(field("openapi", "path"), p)
	}
}

// yamlFile checks one file and returns its path as kustomize may read it.
func (s *site) yamlFile(f fieldPath, p string) string {
	target, safe, ok := s.file(f, p)
	if ok {
		s.checkYAML(f, target)
	}
	return safe
}

// hideFile keeps the content of a secret file out of messages.
func (s *site) hideFile(target string, secret bool) {
	if !secret {
		return
	}
	data, err := s.tree.ReadFile(target)
	if err != nil {
		s.broken(nil, target, err)
		return
	}
	s.secrets.Add(string(data))
	for line := range strings.SplitSeq(string(data), "\n") {
		if _, v, ok := strings.Cut(line, "="); ok {
			s.secrets.Add(v)
		}
	}
}

// hideAll notes a patch, and keeps the values out of messages that it may bring into a Secret; kind is that of its target, if it says.
func (s *site) hideAll(p parsed, kind string) {
	s.patches = append(s.patches, p)
	for _, doc := range p.docs {
		s.hide(doc.value, kind)
	}
	if kind != "" && !strings.Contains("Secret", kind) && !strings.ContainsAny(kind, `.*[|^$(`) {
		return
	}
	for _, l := range p.lists {
		ops, _ := l.value.([]any)
		for _, op := range ops {
			m, _ := op.(map[string]any)
			s.secrets.Add(texts(m["value"], nil)...)
		}
	}
}

// hide keeps the values of a Secret out of messages.
func (s *site) hide(m map[string]any, kind string) {
	if textAt(m, "kind") != "Secret" && kind != "Secret" {
		return
	}
	for _, name := range []string{"data", "stringData"} {
		s.secrets.Add(texts(m[name], nil)...)
	}
}

// texts returns every string in v.
func texts(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		out = append(out, v)
	case []any:
		for _, item := range v {
			out = texts(item, out)
		}
	case map[string]any:
		for _, item := range v {
			out = texts(item, out)
		}
	}
	return out
}
