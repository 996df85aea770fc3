package render

import (
	"encoding/json"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provider"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	kyaml "sigs.k8s.io/yaml"
)

// checkPlugins checks generators, transformers and validators: only those run that are built into kustomize, and their
// own paths are held to the same rules.
func (s *site) checkPlugins() {
	lists := []struct {
		name  string
		items []string
	}{{"generators", s.k.Generators}, {"transformers", s.k.Transformers}, {"validators", s.k.Validators}}
	for _, list := range lists {
		for i, p := range list.items {
			f := field(list.name, i)
			_, inline, ok := s.inline(f, p)
			switch {
			case !ok:
			case inline:
				s.pluginText(f, []byte(p))
			default:
				list.items[i] = s.plugin(f, p)
			}
		}
	}
}

// inline reports whether kustomize takes text for YAML, not for a path: it tries, and so must we, or a text that only looks
// like YAML would be loaded as an address.
func (s *site) inline(f fieldPath, text string) (p parsed, inline, ok bool) {
	if p, ok = s.checkText(f, text); !ok {
		return p, false, false
	}
	_, err := provider.NewDefaultDepProvider().GetResourceFactory().SliceFromBytes([]byte(text))
	return p, err == nil, true
}

// plugin checks a file of plugins, or a folder whose kustomization lists such files and does nothing else with them.
func (s *site) plugin(f fieldPath, p string) string {
	target, info, ok := s.local(f, p)
	if !ok {
		return p
	}
	if !info.IsDir() {
		s.pluginFile(f, target)
		return safePath(p)
	}
	before := len(s.problems)
	canon, err := s.tree.resolve(target)
	if err != nil {
		s.broken(f, target, err)
		return p
	}
	sub, ok := s.site(canon, func(format string, args ...any) { s.refuse(f, format, args...) })
	if !ok {
		return p
	}
	only := types.Kustomization{TypeMeta: sub.k.TypeMeta, MetaData: sub.k.MetaData, Resources: sub.k.Resources}
	want, err1 := json.Marshal(only)
	have, err2 := json.Marshal(sub.k)
	if err1 != nil || err2 != nil || string(want) != string(have) {
		sub.refuse(nil, "a kustomization of generators, transformers or validators may list resources and nothing else")
		return p
	}
	for i, r := range sub.k.Resources {
		at := field("resources", i)
		if file, safe, ok := sub.file(at, r); ok {
			sub.pluginFile(at, file)
			sub.k.Resources[i] = safe
		}
	}
	if len(s.problems) == before {
		s.write(sub)
	}
	return safePath(p)
}

func (s *site) pluginFile(f fieldPath, target string) {
	if _, ok := s.checkYAML(f, target); !ok {
		return
	}
	data, err := s.tree.ReadFile(target)
	if err != nil {
		s.broken(f, target, err)
		return
	}
	s.pluginText(f, data)
}

// pluginText checks plugins as kustomize itself decodes them, so that there is no second way to read them.
func (s *site) pluginText(f fieldPath, data []byte) {
	m, err := resmap.NewFactory(provider.NewDefaultDepProvider().GetResourceFactory()).NewResMapFromBytes(data)
	if err != nil {
		s.refuse(f, "not a list of generators or transformers: each needs apiVersion, kind and metadata.name")
		return
	}
	for _, res := range m.Resources() {
		kind := res.GetKind()
		builtin := res.GetGvk().Group == "" && res.GetGvk().Version == konfig.BuiltinPluginApiVersion
		switch {
		case kind == "HelmChartInflationGenerator":
			s.refuse(f, noCharts+" and list those under resources")
			continue
		case !builtin, !slices.Contains(krusty.GetBuiltinPluginNames(), kind):
			s.refuse(f, "%s is a plugin, and no plugin runs but those built into kustomize (apiVersion: builtin)", kind)
			continue
		}
		text, err := res.AsYAML()
		if err != nil {
			s.refuse(f, "%s cannot be decoded", kind)
			continue
		}
		plugin := *s
		plugin.object = kind + " " + res.GetName()
		plugin.pluginPaths(f, kind, text)
	}
}

// pluginFiles checks a YAML file that a plugin loads, where it names one.
func (s *site) pluginFiles(f fieldPath, p string) {
	if p == "" {
		return
	}
	if target, _, ok := s.file(f, p); ok {
		s.checkYAML(f, target)
	}
}

// pluginPaths checks every path that a built-in plugin may load.
func (s *site) pluginPaths(f fieldPath, kind string, text []byte) {
	var c struct {
		types.ObjectMeta    `json:"metadata"`
		types.KvPairSources `json:",inline"`

		Path         string                   `json:"path,omitempty"`
		TargetFile   string                   `json:"targetFilePath,omitempty"`
		Paths        []string                 `json:"paths,omitempty"`
		Patch        string                   `json:"patch,omitempty"`
		JSONOp       string                   `json:"jsonOp,omitempty"`
		Patches      any                      `json:"patches,omitempty"`
		Replacements []types.ReplacementField `json:"replacements,omitempty"`
	}
	if err := kyaml.Unmarshal(text, &c); err != nil {
		s.refuse(f, "%s cannot be decoded: %s", kind, typeError(err))
		return
	}
	s.pluginFiles(f.child("path"), c.Path)
	s.pluginFiles(f.child("targetFilePath"), c.TargetFile)
	for i, p := range c.Paths {
		at := f.child("paths", i)
		if _, inline, ok := s.inline(at, p); ok && !inline {
			s.pluginFiles(at, p)
		}
	}
	for i, r := range c.Replacements {
		s.pluginFiles(f.child("replacements", i, "path"), r.Path)
	}
	for _, inline := range texts(c.Patches, []string{c.Patch, c.JSONOp}) {
		s.checkText(f, inline)
	}
	if c.EnvSource != "" {
		c.EnvSources = append(c.EnvSources, c.EnvSource)
	}
	s.checkSources(f, &c.KvPairSources, kind == "SecretGenerator")
	switch kind {
	case "ConfigMapGenerator", "SecretGenerator":
		of := kind[:len(kind)-len("Generator")]
		s.generated[of] = append(s.generated[of], c.Name)
	}
}
