package mock

import (
	"strings"
)

// offer is one media type in which an operation can answer, with the answer.
type offer struct {
	name    string // as the document has it: "application/json; charset=utf-8"
	family  string // "application"
	subtype string // "vnd.acme+json"
	suffix  string // "json"; empty where there is none
	params  string // "; version=2"; empty where there are none

	payload
	contentType []string // ready for a header
	examples    []named
	made        func(seed uint64) (payload, error) // nil where there is no schema to make a value of
}

// newOffer splits the name of a media type.
func newOffer(name string) offer {
	plain, params, _ := strings.Cut(name, ";")
	family, subtype, _ := strings.Cut(strings.ToLower(strings.TrimSpace(plain)), "/")
	o := offer{name: name, family: family, subtype: subtype, params: params}
	if i := strings.LastIndexByte(subtype, '+'); i >= 0 {
		o.suffix = subtype[i+1:]
	}
	return o
}

// How closely a media range of Accept names a media type, the closest last.
const (
	notAtAll   = iota
	bySuffix   // application/json for application/vnd.acme+json
	byAll      // */*
	byFamily   // text/*
	byFullName // text/csv
	byParams   // text/csv;header=present
)

// negotiate chooses by Accept (RFC 9110, section 12.5.1): the highest quality, then the first in the document. A parameter
// of a range counts where the document's media type has it too. What +json types have in common with application/json counts only where
// nothing else does. It returns nil where nothing is acceptable.
func negotiate(offers []offer, accept []string) *offer {
	if len(accept) == 0 || len(accept) == 1 && (accept[0] == "*/*" || accept[0] == "") {
		return &offers[0]
	}
	var best, fallback *offer
	var bestQ, fallbackQ int
	for i := range offers {
		o := &offers[i]
		q, how := o.quality(accept)
		switch {
		case how == bySuffix && q > fallbackQ:
			fallback, fallbackQ = o, q
		case how > bySuffix && q > bestQ:
			best, bestQ = o, q
		}
	}
	if best != nil {
		return best
	}
	return fallback
}

// quality returns what the closest range says about o: 0 to 1000.
func (o *offer) quality(accept []string) (q, how int) {
	for _, line := range accept {
		for line != "" {
			var item string
			item, line, _ = strings.Cut(line, ",")
			name, parameters, _ := strings.Cut(item, ";")
			h := o.matches(strings.TrimSpace(name))
			if h > notAtAll && o.params != "" && parameters != "" {
				h = o.matchesParams(h, parameters)
			}
			if h > how {
				how, q = h, weight(parameters)
			}
		}
	}
	return q, how
}

// matches says how closely a media range names o.
func (o *offer) matches(name string) int {
	family, subtype, ok := strings.Cut(name, "/")
	switch {
	case family == "*" && (subtype == "*" || !ok): // Java's own client writes * alone
		return byAll
	case !ok:
		return notAtAll
	case !strings.EqualFold(family, o.family):
		return notAtAll
	case subtype == "*":
		return byFamily
	case strings.EqualFold(subtype, o.subtype):
		return byFullName
	case o.suffix != "" && strings.EqualFold(subtype, o.suffix):
		return bySuffix
	}
	return notAtAll
}

// matchesParams says how closely a range names o whose name does so already: another value of a parameter is another type.
func (o *offer) matchesParams(how int, parameters string) int {
	for parameters != "" {
		var item string
		item, parameters, _ = strings.Cut(parameters, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if strings.EqualFold(name, "q") {
			break // what follows belongs to Accept
		}
		have, ok := valueOf(o.params, name)
		switch {
		case !ok:
		case !strings.EqualFold(have, strings.Trim(value, `"`)):
			return notAtAll
		default:
			how = byParams
		}
	}
	return how
}

// valueOf returns the value of a parameter of a media type.
func valueOf(parameters, name string) (string, bool) {
	for parameters != "" {
		var item string
		item, parameters, _ = strings.Cut(parameters, ";")
		have, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if have != "" && strings.EqualFold(have, name) {
			return strings.Trim(value, `"`), true
		}
	}
	return "", false
}

// weight reads q out of the parameters of a range, in thousandths; 1000 where it is left out or is no number.
func weight(parameters string) int {
	const full = 1000
	for parameters != "" {
		var item string
		item, parameters, _ = strings.Cut(parameters, ";")
		name, value, _ := strings.Cut(strings.TrimSpace(item), "=")
		if strings.TrimSpace(name) != "q" && strings.TrimSpace(name) != "Q" {
			continue
		}
		return thousandths(strings.TrimSpace(value))
	}
	return full
}

// thousandths reads 0.5 as 500, and .5, which Java's own client writes, too; more digits than three are cut off.
func thousandths(s string) int {
	const full = 1000
	if s == "" || s[0] != '0' && s[0] != '.' {
		return full
	}
	digits, ok := strings.CutPrefix(strings.TrimPrefix(s, "0"), ".")
	if !ok {
		return 0
	}
	q, unit := 0, 100
	for i := 0; i < len(digits) && unit > 0 && digits[i] >= '0' && digits[i] <= '9'; i++ {
		q += int(digits[i]-'0') * unit
		unit /= 10
	}
	return q
}
