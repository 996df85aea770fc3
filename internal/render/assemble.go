package render

import (
	"cmp"
	"slices"

	"github.com/tidelock/tidelock/internal/desired"
)

// assemble sorts all that was made into a State, and refuses generated objects that a manifest declares too.
func (r *run) assemble(items []item, low lowered, b desired.Brakes) desired.State {
	s := desired.State{Routes: low.routes, Schedules: low.schedules, Splits: low.splits, Brakes: b}
	seen := make(map[desired.ID]desired.Object, len(items)+len(low.objects))
	for _, it := range items {
		o := desired.Object{ID: it.ID, Version: it.version, Origin: it.origin, Content: it.content}
		seen[it.ID] = o
		s.Objects = append(s.Objects, o)
	}
	for _, o := range low.objects {
		if other, ok := seen[o.ID]; ok {
			r.problems = append(r.problems, clash(o, other))
			continue
		}
		seen[o.ID] = o
		s.Objects = append(s.Objects, o)
	}
	slices.SortFunc(s.Objects, func(a, b desired.Object) int { return a.Compare(b.ID) })
	slices.SortFunc(s.Routes, compareRoutes)
	slices.SortFunc(s.Schedules, func(a, b desired.Schedule) int { return a.Compare(b.Key) })
	slices.SortFunc(s.Splits, func(a, b desired.Split) int { return a.Compare(b.Key) })
	s.Warnings = desired.Problems(append(r.warnings, low.warnings...)).Sorted()
	return s
}

// clash says that a generated object stands in the way of another.
func clash(o, other desired.Object) desired.Problem {
	text := "makes " + o.String() + ", which " + other.Origin.String() + " declares too: rename one of the two"
	if other.Source.Kind != "" {
		text = "makes " + o.String() + ", which " + other.Source.String() + " (" + other.Origin.String() +
			") makes too: rename one of the two"
	}
	return desired.Problem{Origin: o.Origin, Object: o.Source.String(), Text: text}
}

func compareRoutes(a, b desired.Route) int {
	return cmp.Or(
		cmp.Compare(a.Listener.Name, b.Listener.Name),
		slices.Compare(a.Hosts, b.Hosts),
		a.Match.Compare(b.Match),
		cmp.Compare(a.Source.Kind, b.Source.Kind),
		a.Source.Compare(b.Source.Key),
		cmp.Compare(a.Rule, b.Rule),
	)
}
