package render

import (
	"cmp"
	"strings"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/desired"
)

// longestCookie bounds how long a cookie lasts; browsers keep none for longer than about 400 days.
const longestCookie = 400 * 24 * time.Hour

// sticky reads what tells one client of a split from another.
func (c *commit) sticky(s *split) {
	in, at := s.spec.Stickiness, field("spec", "stickiness")
	if in == nil {
		return
	}
	if s.writes(v1alpha1.OutputGatewayAPI) {
		c.refuse(s.problem(at, "cannot be said in Gateway API's standard channel (sessionPersistence is experimental): leave it "+
			"out, or GatewayAPI from the outputs"))
	}
	if (in.Cookie == nil) == (in.Header == nil) {
		c.refuse(s.problem(at, "set one of cookie and header"))
		return
	}
	s.sticky = &desired.Sticky{}
	if in.Header != nil {
		s.sticky.Header = strings.ToLower(in.Header.Name)
		if !isToken(in.Header.Name) {
			c.refuse(s.problem(at.child("header", "name"), "no name of a header"))
		}
	}
	if in.Cookie != nil {
		c.stickyCookie(s, *in.Cookie, at.child("cookie"))
	}
	balancer := desired.RingHash
	if in.Algorithm == v1alpha1.Maglev {
		balancer = desired.Maglev
	}
	for i := range s.targets {
		s.targets[i].upstream.Balancer = balancer
	}
}

func (c *commit) stickyCookie(s *split, in v1alpha1.StickyCookie, at fieldPath) {
	s.sticky.Cookie, s.sticky.Path = in.Name, cmp.Or(in.Path, "/")
	if !isToken(in.Name) {
		c.refuse(s.problem(at.child("name"), "no name of a cookie: want letters, digits and !#$%%&'*+-.^_`|~"))
	}
	printable := func(r rune) bool { return ' ' < r && r < 0x7f && r != ';' }
	if !strings.HasPrefix(s.sticky.Path, "/") || strings.ContainsFunc(s.sticky.Path, func(r rune) bool { return !printable(r) }) {
		c.refuse(s.problem(at.child("path"), `want a path that begins with "/", without spaces and semicolons`))
	}
	if in.TTL == nil {
		return
	}
	s.sticky.TTL = in.TTL.Duration
	if d := in.TTL.Duration; d < 0 || d > longestCookie || d%time.Second != 0 {
		c.refuse(s.problem(at.child("ttl"), "want whole seconds from 0s to %s, got %s", longestCookie, d))
	}
}

// mirror resolves where copies of the requests of a split go.
func (c *commit) mirror(s *split) {
	in, at := s.spec.Mirror, field("spec", "mirror")
	if in == nil {
		return
	}
	if (in.Service == "") == (in.Mock == "") {
		c.refuse(s.problem(at, "set one of service and mock"))
		return
	}
	ref := backendRef{
		Key:  desired.Key{Namespace: cmp.Or(in.Namespace, s.Namespace), Name: cmp.Or(in.Service, in.Mock)},
		mock: in.Mock != "", port: in.Port, name: at.child("service"), portField: at.child("port"),
	}
	if ref.mock {
		ref.name = at.child("mock")
	}
	const all = 100
	up, _ := c.upstream(s.place, ref)
	s.mirror = &mirrorTarget{
		service: ref.Key, upstream: up, percent: uint32(cmp.Or(in.Percent, all)), //nolint:gosec // 1 to 100 by the schema
	}
}
