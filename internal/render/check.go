package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// check returns the items that can be applied, as they will be applied, sorted by ID. What is wrong with the rest is noted.
// With a namespace in only, all must be there.
func (r *run) check(items []item, only string) []item {
	s, removed := newScopes(items), newRemoved()
	out := make([]item, 0, len(items))
	for _, it := range items {
		c := checked{item: it}
		c.shape(s, removed)
		c.namespace(s)
		c.confine(only)
		c.strip()
		c.secret()
		c.configMap()
		if len(c.problems) == 0 {
			out = append(out, c.item)
			c.annotations() // wrong ones keep nothing else from being checked
		}
		r.problems = append(r.problems, c.problems...)
		r.warnings = append(r.warnings, c.warnings...)
	}
	out = r.unique(out)
	if !r.lost {
		r.checkReferences(out)
	}
	r.checkWeights(out)
	return out
}

// checked is one item while it is checked and brought into the form in which it is applied.
type checked struct {
	item
	problems desired.Problems
	warnings []desired.Problem
}

func (c *checked) refuse(f fieldPath, format string, args ...any) {
	c.problems = append(c.problems, c.problem(f, format, args...))
}

func (c *checked) warn(f fieldPath, format string, args ...any) {
	c.warnings = append(c.warnings, c.problem(f, format, args...))
}

// problem says what is wrong with a field: at its line where the document is as it stands in the file, else at the
// document's first line.
func (it item) problem(f fieldPath, format string, args ...any) desired.Problem {
	p := desired.Problem{Origin: it.origin, Object: it.String(), Field: f.String(), Text: fmt.Sprintf(format, args...)}
	if it.node != nil || it.source != nil {
		p.Origin = placeOf(it.manifest).at(f)
	}
	return p
}

// metadata returns the item's metadata for a change; what the cache holds stays as it is.
func (c *checked) metadata() map[string]any {
	top := maps.Clone(c.content.Object)
	old, _ := top["metadata"].(map[string]any)
	metadata := maps.Clone(old)
	top["metadata"] = metadata
	c.content = &unstructured.Unstructured{Object: top}
	return metadata
}

// strip takes off what only the daemon, the API server, kubectl or kustomize writes: a manifest copied from a cluster.
func (c *checked) strip() {
	metadata, _ := c.content.Object["metadata"].(map[string]any)
	var gone []fieldPath
	for _, name := range []string{"managedFields", "resourceVersion", "uid", "generation", "selfLink", "creationTimestamp"} {
		if _, set := metadata[name]; set {
			gone = append(gone, field("metadata", name))
		}
	}
	for _, in := range []string{"labels", "annotations"} {
		m, _ := metadata[in].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if notFromGit(key) {
				gone = append(gone, field("metadata", in, key))
			}
		}
	}
	if len(gone) == 0 {
		return
	}
	for _, f := range gone {
		if valueAt(c.content.Object, keys(f)...) != nil && !isKustomizeInternal(fmt.Sprint(f[len(f)-1])) {
			c.warn(f, "is not for manifests: it is written in the cluster; left out")
		}
	}
	mine := c.metadata()
	for _, f := range gone {
		const inMap = 3
		if len(f) < inMap {
			delete(mine, keys(f)[1])
			continue
		}
		in := keys(f)[1]
		m, _ := mine[in].(map[string]any)
		if m = maps.Clone(m); len(m) == 1 {
			delete(mine, in)
			continue
		}
		delete(m, keys(f)[2])
		mine[in] = m
	}
}

func keys(f fieldPath) []string {
	out := make([]string, len(f))
	for i, step := range f {
		out[i] = fmt.Sprint(step)
	}
	return out
}

// notFromGit reports whether a label or annotation is only ever written in the cluster, or by kustomize for itself.
func notFromGit(key string) bool {
	switch key {
	case v1alpha1.LabelOwner, v1alpha1.AnnotationDigest, "kubectl.kubernetes.io/last-applied-configuration":
		return true
	}
	return isKustomizeInternal(key)
}

func isKustomizeInternal(key string) bool {
	return strings.HasPrefix(key, "internal.config.kubernetes.io/") || key == "config.kubernetes.io/origin" ||
		key == "alpha.config.kubernetes.io/transformations"
}

// unique sorts items by ID and refuses the second of two of one identity.
func (r *run) unique(items []item) []item {
	slices.SortStableFunc(items, func(a, b item) int { return a.Compare(b.ID) })
	out := items[:0]
	for _, it := range items {
		if len(out) == 0 || out[len(out)-1].ID != it.ID {
			out = append(out, it)
			continue
		}
		r.problems = append(r.problems, duplicate(out[len(out)-1], it))
	}
	return out
}

func duplicate(first, second item) desired.Problem {
	if strings.Compare(first.origin.String(), second.origin.String()) > 0 {
		first, second = second, first
	}
	p := second.problem(nil, "is declared twice, first at %s: remove one", first.origin)
	if first.from != nil && second.from != nil && first.from != second.from {
		p.Text = fmt.Sprintf("the kustomizations %s and %s both make it (%s): choose one with --path, or name those to render "+
			"under units in %s", first.from.dir, second.from.dir, first.origin, v1alpha1.ConfigFile)
	}
	return p
}
