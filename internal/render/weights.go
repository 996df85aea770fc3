package render

import (
	"fmt"
	"maps"
	"slices"
)

// checkWeights points out routes of Istio and Gateway API that lost destinations or settings to a patch: a strategic merge
// replaces lists that have no merge key, and what is left is still valid.
func (r *run) checkWeights(items []item) {
	for _, it := range items {
		switch {
		case it.Group == "networking.istio.io" && it.Kind == "VirtualService":
			for _, protocol := range []string{"http", "tls", "tcp"} {
				r.checkRoutes(it, field("spec", protocol), "route", istioHost)
			}
		case it.Group == "gateway.networking.k8s.io":
			r.checkRoutes(it, field("spec", "rules"), "backendRefs", backendName)
		}
	}
}

// checkRoutes compares each entry of the list at with the one that the file has.
func (r *run) checkRoutes(it item, at fieldPath, key string, name func(any) string) {
	before, _ := valueAt(it.doc.value, keys(at)...).([]any)
	after, _ := valueAt(it.content.Object, keys(at)...).([]any)
	for i, entry := range after {
		now, _ := entry.(map[string]any)
		destinations := listAt(now, key)
		was := sameEntry(before, now, i)
		r.warnLost(it, at.child(i), was, now, key, name)
		if len(destinations) != 1 {
			continue
		}
		lone, _ := destinations[0].(map[string]any)
		lost := len(listAt(was, key)) > 1
		if w, ok := asNumber(lone["weight"]); ok && (lost || key == "route") && w != 100 {
			r.warnings = append(r.warnings, it.problem(at.child(i, key), "1 destination with weight %v receives 100 %%", w))
		}
	}
}

// warnLost names what an entry had in the file and has no more.
func (r *run) warnLost(it item, at fieldPath, was, now map[string]any, key string, name func(any) string) {
	if it.node != nil || was == nil {
		return
	}
	left := map[string]bool{}
	for _, d := range listAt(now, key) {
		left[name(d)] = true
	}
	for _, d := range listAt(was, key) {
		if n := name(d); n != "" && !left[n] {
			r.warnings = append(r.warnings, it.problem(at.child(key), "destination %s removed by a patch", n))
		}
	}
	for _, setting := range slices.Sorted(maps.Keys(was)) {
		if _, ok := now[setting]; !ok {
			r.warnings = append(r.warnings, it.problem(at.child(setting), "%s removed by a patch", setting))
		}
	}
}

// sameEntry returns the entry of before with the name of now, or at its index where neither has a name.
func sameEntry(before []any, now map[string]any, i int) map[string]any {
	for j, e := range before {
		m, _ := e.(map[string]any)
		if name := textAt(now, "name"); name == textAt(m, "name") && (name != "" || i == j) {
			return m
		}
	}
	return nil
}

func istioHost(v any) string {
	m, _ := v.(map[string]any)
	host := textAt(m, "destination", "host")
	if subset := textAt(m, "destination", "subset"); subset != "" {
		return fmt.Sprintf("%s (subset %s)", host, subset)
	}
	return host
}

func backendName(v any) string {
	m, _ := v.(map[string]any)
	return textAt(m, "name")
}
