package render

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"reflect"
	"slices"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	kresource "sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/tidelock/tidelock/internal/desired"
)

// manyObjects in one build are pointed out: what kustomize does grows with their square.
const manyObjects = 500

// turn is held by the one build that runs. Kustomize keeps its OpenAPI schema in a global variable that a kustomization can
// replace, so the lock is as global as what it guards; a channel, so that who waits can give up.
var turn = make(chan struct{}, 1) //nolint:gochecknoglobals // it guards another module's global state

// built is what one kustomization became.
type built struct {
	dir   string
	items []item
	// reads is the state of every file that was read or missed.
	reads map[string]string
	// renamed are the names that ConfigMaps and Secrets of this build had before kustomize, by kind.
	renamed  map[string][]string
	problems desired.Problems
	warnings []desired.Problem
}

// build returns the manifests of the kustomization in dir.
func (r *run) build(ctx context.Context, dir string) ([]item, error) {
	b, ok := r.cache.build(dir, r.tree)
	if !ok {
		reads := map[string]string{}
		var err error
		if b, err = buildFolder(ctx, r.tree.recording(reads), r.cache, dir); err != nil {
			return nil, fmt.Errorf("build %s: %w", dir, err)
		}
		b.reads = reads
		r.cache.keepBuild(dir, b)
	}
	r.problems = append(r.problems, b.problems...)
	r.warnings = append(r.warnings, b.warnings...)
	r.lost = r.lost || len(b.problems) > 0
	return slices.Clone(b.items), nil
}

// buildFolder checks all that the kustomization refers to, and builds it where nothing is wrong.
func buildFolder(ctx context.Context, t *tree, c *Cache, dir string) (*built, error) {
	b := &built{dir: dir}
	canon, err := t.resolve(dir)
	if err != nil {
		return nil, err
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-turn }()
	g := newGuard(t, c)
	g.kustomization(canon, func(format string, args ...any) {
		g.problems = append(g.problems, desired.Problem{Origin: desired.Origin{Path: dir}, Text: fmt.Sprintf(format, args...)})
	})
	if g.err != nil {
		return nil, g.err
	}
	if len(g.problems) > 0 {
		b.problems = hidden(g.problems, g.secrets)
		return b, nil
	}
	fsys := kustFS{tree: t, files: g.files}
	resources, err := kustomize(fsys, path.Join("/", canon), g.schema)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	top := desired.Origin{Path: t.kustomizationIn(canon)}
	if err != nil {
		b.problems = explain(err, top, fsys, &g.plan)
		return b, nil
	}
	b.warnings = append(g.warnings, g.idle(resources)...)
	objects, err := withoutOrigins(resources)
	if err != nil {
		return nil, err
	}
	b.collect(t, canon, top, objects, &g.plan)
	if n := len(b.items); n > manyObjects {
		b.warnings = append(b.warnings, desired.Problem{Origin: top, Text: fmt.Sprintf(
			"%d objects in one kustomization: what kustomize does grows with their square; split it into units in tidelock.yaml", n)})
	}
	return b, nil
}

// kustomize runs one build; the caller holds turn. The schema that a build brings with it would stay for the next one, so
// it is taken away after such a build; and before it whatever is there, since the built-in one may be half read and would go
// over it. After every other build the schema stays: to parse the built-in one again costs 100 ms and more.
func kustomize(fsys kustFS, dir string, schema bool) (m resmap.ResMap, err error) {
	if schema {
		openapi.ResetOpenAPI()
		defer openapi.ResetOpenAPI()
	}
	defer func() {
		// Kustomize panics on some inputs; a bad commit must not end the daemon.
		if r := recover(); r != nil {
			m, err = nil, errPanic
		}
	}()
	opts := krusty.MakeDefaultOptions()
	opts.Reorder = krusty.ReorderOptionNone
	// The edge is the repository's root, which fsys keeps; within it a kustomization may read what it likes.
	opts.LoadRestrictions = types.LoadRestrictionsNone
	opts.PluginConfig = types.DisabledPluginConfig()
	defer silence()()
	return krusty.MakeKustomizer(opts).Run(fsys, dir)
}

// silence keeps kustomize from writing to the standard error of the process, and returns what ends that. It prints there
// about deprecated fields and offers no other place; our own warnings say the same with file and line. Loggers hold their
// file themselves, and builds run one at a time.
func silence() (end func()) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {} // it is but noise
	}
	stderr := os.Stderr
	os.Stderr = null
	return func() {
		os.Stderr = stderr
		_ = null.Close()
	}
}

var errPanic = errors.New("kustomize cannot build it: it stopped in the middle")

// made is one object that kustomize made, and where it says that it comes from.
type made struct {
	*kresource.Resource
	origin *kresource.Origin
}

// withoutOrigins takes kustomize's annotations off again.
func withoutOrigins(m resmap.ResMap) ([]made, error) {
	var out []made
	for _, res := range m.Resources() {
		o, err := res.GetOrigin()
		if err != nil {
			return nil, fmt.Errorf("read origin: %w", err)
		}
		out = append(out, made{Resource: res, origin: o})
	}
	m.RemoveBuildAnnotations()
	if err := m.RemoveOriginAnnotations(); err != nil {
		return nil, fmt.Errorf("remove origins: %w", err)
	}
	if err := m.RemoveTransformerAnnotations(); err != nil {
		return nil, fmt.Errorf("remove transformer annotations: %w", err)
	}
	return out, nil
}

// collect turns what kustomize made into manifests, each with its place.
func (b *built) collect(t *tree, dir string, top desired.Origin, resources []made, p *plan) {
	b.renamed = map[string][]string{"ConfigMap": p.generated["ConfigMap"], "Secret": p.generated["Secret"]}
	for _, res := range resources {
		at := originOf(dir, top, res.origin)
		if canon, err := t.resolve(at.Path); err == nil {
			at.Path = canon
		}
		it, wrong := newItem(at, res, p)
		if len(wrong) > 0 {
			b.problems = append(b.problems, wrong...)
			continue
		}
		it.from = b
		b.items = append(b.items, it)
		if old := it.doc.text("metadata", "name"); old != "" && old != it.Name && (it.Kind == "ConfigMap" || it.Kind == "Secret") {
			b.renamed[it.Kind] = append(slices.Clip(b.renamed[it.Kind]), old)
		}
	}
}

// newItem returns one object that kustomize made, with the document that it was made from.
func newItem(at desired.Origin, res made, p *plan) (item, desired.Problems) {
	c := converter{core: true}
	content, _ := c.value(res.YNode(), 0).(map[string]any)
	var problems desired.Problems
	for _, f := range c.faults {
		problems = append(problems, desired.Problem{Origin: at, Object: res.GetKind() + " " + res.GetName(), Text: f.text})
	}
	if len(problems) > 0 {
		return item{}, problems
	}
	m, wrong := newManifest(at, content)
	if wrong != "" {
		return item{}, desired.Problems{{Origin: at, Text: wrong}}
	}
	it := item{manifest: m}
	if doc, ok := pick(p.docs[at.Path].docs, m); ok {
		it.doc = doc
		it.origin.Line, it.source = doc.line, doc.node
		if reflect.DeepEqual(doc.value, content) {
			it.node = doc.node
		}
	}
	return it, nil
}

// originOf returns the file that an object comes from: its own, or the kustomization that generates it.
func originOf(dir string, top desired.Origin, o *kresource.Origin) desired.Origin {
	switch {
	case o == nil:
		return top
	case o.Path != "":
		return desired.Origin{Path: path.Join(dir, o.Path)}
	case o.ConfiguredIn != "":
		return desired.Origin{Path: path.Join(dir, o.ConfiguredIn)}
	}
	return top
}
