package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// lastApplied is kubectl's copy of a whole manifest, Secrets among them.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// compared is what became of the changes.
type compared struct {
	all     []Object
	prunes  []Prune
	changes []Change // with the actions as they will be
	refused []Problem
	warned  []Problem
}

// objects compares each object that changes. checked says that the API server was asked: then what it takes is known.
func objects(changes []Change, checked bool) compared {
	var out compared
	partners := partnersOf(changes)
	var flat []described
	for i := range changes {
		c := changes[i]
		if partners.gone[i] {
			continue // told with what replaces it
		}
		was, kind := partners.of(i)
		o := describe(c, was)
		if was == nil && c.Action == Update && !checked {
			c = out.immutable(c, &o)
		}
		changes[i] = c
		if kind != "" {
			o.Action = kind
		}
		flat = append(flat, described{Object: o, change: c, was: was})
	}
	out.changes = changes
	out.prunes = prunes(changes, partners)
	out.all = gather(flat)
	return out
}

// described is one object and what it was described from.
type described struct {
	Object
	change Change
	was    *Change
}

// describe compares one object with what it was, under this name or the one before.
func describe(c Change, was *Change) Object {
	o := Object{Action: c.Action, Object: c.ID.String(), Reason: reason(c), File: c.Origin.Path, Line: c.Origin.Line, id: c.ID}
	before := c.Before
	if was != nil {
		before, o.Was = was.Before, was.ID.String()
	}
	if before == nil || c.After == nil {
		return o
	}
	o.Fields = fieldsOf(before, c.After, isKindSecret(c.ID))
	if len(o.Fields) == 0 && was == nil && c.Action == Update {
		o.Reason = "written otherwise: no field changes"
	}
	if n := len(o.Fields) - mostFields; n > 0 {
		o.Fields, o.Omitted = o.Fields[:mostFields], n
	}
	return o
}

func isKindSecret(id desired.ID) bool { return id.Group == "" && id.Kind == "Secret" }

// reason is why the object is touched, where its own fields do not say it.
func reason(c Change) string {
	switch c.Action {
	case Create, Adopt, Correct, Recreate, Refuse, Release:
		return c.Reason
	case Update, Delete, Rename:
	}
	return ""
}

// fieldsOf compares two manifests of one object.
func fieldsOf(before, after *unstructured.Unstructured, secret bool) []Field {
	a, b := cleaned(before), cleaned(after)
	var out []Field
	if secret {
		for _, part := range []string{"data", "stringData"} {
			out = append(out, secretFields(part, a[part], b[part])...)
			delete(a, part)
			delete(b, part)
		}
	}
	return append(out, fields(a, b)...)
}

// cleaned is a manifest without its name, and without what servers and we ourselves write on objects.
func cleaned(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	delete(out, "status")
	meta, _ := out["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	for _, k := range []string{
		"name", "namespace", "managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink",
	} {
		delete(meta, k)
	}
	without(meta, "annotations", v1alpha1.AnnotationDigest, lastApplied)
	without(meta, "labels", v1alpha1.LabelManagedBy, v1alpha1.LabelOwner)
	out["metadata"] = meta
	return out
}

// without takes keys out of a map of meta.
func without(meta map[string]any, in string, keys ...string) {
	m, ok := meta[in].(map[string]any)
	if !ok {
		return
	}
	m = maps.Clone(m)
	for _, k := range keys {
		delete(m, k)
	}
	meta[in] = m
	if len(m) == 0 {
		delete(meta, in)
	}
}

// gather puts what is generated under what it is generated from, and sorts.
func gather(flat []described) []Object {
	sources := map[desired.ID]int{}
	var out []Object
	for _, d := range flat {
		if d.change.Source == (desired.Source{}) {
			sources[d.id] = len(out)
			if d.was != nil {
				sources[d.was.ID] = len(out)
			}
			out = append(out, d.Object)
		}
	}
	for _, d := range flat {
		s := d.change.Source
		if s == (desired.Source{}) {
			continue
		}
		id := desired.ID{Group: v1alpha1.Group, Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
		at, ok := sources[id]
		if !ok {
			at = len(out)
			sources[id] = at
			out = append(out, Object{Action: Update, Object: id.String(), File: d.File, Line: d.Line, id: id})
		}
		o := &out[at]
		if api := definitions(d); len(api) > 0 && !tellsDefinition(o.Fields) {
			o.Fields = append(o.Fields, api...)
		}
		o.Generated = append(o.Generated, d.Object)
	}
	byID := func(a, b Object) int { return a.id.Compare(b.id) }
	slices.SortFunc(out, byID)
	for i := range out {
		slices.SortFunc(out[i].Generated, byID)
	}
	return out
}

// prunes lists what is deleted, made anew or let go.
func prunes(changes []Change, p partners) []Prune {
	var out []Prune
	for i, c := range changes {
		switch c.Action { //nolint:exhaustive // the others delete nothing
		case Delete, Release, Recreate:
			prune := Prune{
				Action: c.Action, Object: c.ID.String(), Reason: reason(c), WaitsFor: c.WaitsFor, File: c.Origin.Path, Line: c.Origin.Line, id: c.ID,
			}
			if to := p.by[i]; to != nil {
				prune.ReplacedBy = to.ID.String()
			}
			out = append(out, prune)
		}
	}
	slices.SortFunc(out, func(a, b Prune) int { return a.id.Compare(b.id) })
	return out
}
