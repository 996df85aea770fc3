package diff

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tidelock/tidelock/internal/desired"
)

// settings says what else of a route differs. A field that it does not know by name is told by its name alone.
func settings(a, b *desired.Route) []string {
	known := map[string]bool{ // told elsewhere, or no matter of traffic
		"Source": true, "Rule": true, "Origin": true, "Force": true, "Hosts": true, "Match": true, "Resources": true,
		"Redirect": true, "Direct": true, "Backends": true,
	}
	var out []string
	if target(a) == target(b) && !reflect.DeepEqual(a.Direct, b.Direct) {
		out = append(out, "another body")
	}
	x, y := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range x.NumField() {
		name := x.Type().Field(i).Name
		if known[name] || reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			continue
		}
		switch name {
		case "Timeout":
			out = append(out, "timeout "+duration(a)+" -> "+duration(b))
		case "Retries":
			out = append(out, "retries "+retries(a)+" -> "+retries(b))
		case "Proxies":
			out = append(out, "proxies "+list(a.Proxies)+" -> "+list(b.Proxies))
		default:
			out = append(out, strings.ToLower(name[:1])+name[1:]+" changed")
		}
	}
	return append(out, connections(a, b)...)
}

func duration(r *desired.Route) string {
	switch {
	case r.Timeout == nil:
		return "15s (default)"
	case *r.Timeout == 0:
		return "none"
	}
	return r.Timeout.String()
}

func retries(r *desired.Route) string {
	if r.Retries == nil {
		return "0"
	}
	return strconv.FormatUint(uint64(r.Retries.Attempts), 10)
}

func list(names []string) string {
	if len(names) == 0 {
		return "all"
	}
	return strings.Join(names, ",")
}

// connections says of which upstreams that both have the connection is made in another way.
func connections(a, b *desired.Route) []string {
	was := map[string]desired.Upstream{}
	for i := range a.Backends {
		was[place(&a.Backends[i], a)] = a.Backends[i].Upstream
	}
	changed := map[string]bool{}
	for i := range b.Backends {
		name := place(&b.Backends[i], b)
		x, ok := was[name]
		y := b.Backends[i].Upstream
		if !ok {
			continue
		}
		xv, yv := reflect.ValueOf(x), reflect.ValueOf(y)
		for f := range xv.NumField() {
			field := xv.Type().Field(f).Name
			if field != "Pending" && field != "Idle" && !reflect.DeepEqual(xv.Field(f).Interface(), yv.Field(f).Interface()) {
				changed[name+": "+lower(field)+" changed"] = true
			}
		}
		if x.Idle != y.Idle {
			changed[name+map[bool]string{true: " has no pods by intent (replicas 0)", false: " has pods again"}[y.Idle]] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// lower writes a Go name as a field: ConnectTimeout as connectTimeout, TLS as tls.
func lower(name string) string {
	if strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	return string(unicode.ToLower(rune(name[0]))) + name[1:]
}
