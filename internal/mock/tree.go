package mock

import (
	"slices"
	"strings"
)

// segment is one step of the tree of paths: what may follow, most concrete first.
type segment struct {
	concrete map[string]*segment
	partial  []*partial // {id}.json, {from}-{to}: more literal characters first
	any      *segment   // {id}
	ops      *operations
}

// partial is a segment that is a template in part.
type partial struct {
	literals []string // around the parameters: one more than there are parameters
	weight   int      // literal characters
	next     *segment
}

// find returns the operations of the path whose segments follow in rest. It compares segment by segment from the left,
// concrete before templated, and goes back where that leads nowhere.
func (s *segment) find(rest string) *operations {
	part, tail, more := strings.Cut(rest, "/")
	if next := s.concrete[part]; next != nil {
		if ops := next.follow(tail, more); ops != nil {
			return ops
		}
	}
	for _, p := range s.partial {
		if p.matches(part) {
			if ops := p.next.follow(tail, more); ops != nil {
				return ops
			}
		}
	}
	if s.any != nil && part != "" {
		return s.any.follow(tail, more)
	}
	return nil
}

func (s *segment) follow(tail string, more bool) *operations {
	if more {
		return s.find(tail)
	}
	return s.ops
}

// matches reports whether part is the literals with something between each two.
func (p *partial) matches(part string) bool {
	rest, ok := strings.CutPrefix(part, p.literals[0])
	if !ok {
		return false
	}
	last := p.literals[len(p.literals)-1]
	for _, literal := range p.literals[1 : len(p.literals)-1] {
		if rest == "" {
			return false
		}
		i := strings.Index(rest[1:], literal)
		if i < 0 {
			return false
		}
		rest = rest[1+i+len(literal):]
	}
	return len(rest) > len(last) && strings.HasSuffix(rest, last)
}

// at returns the place of a path template, made where it is not there yet.
func (s *segment) at(template string) *segment {
	for part := range strings.SplitSeq(strings.TrimPrefix(template, "/"), "/") {
		s = s.child(part)
	}
	return s
}

func (s *segment) child(part string) *segment {
	literals := split(part)
	if len(literals) == 1 {
		name := normalize(part)
		if s.concrete == nil {
			s.concrete = map[string]*segment{}
		}
		if s.concrete[name] == nil {
			s.concrete[name] = &segment{}
		}
		return s.concrete[name]
	}
	if len(literals) == 2 && literals[0] == "" && literals[1] == "" {
		if s.any == nil {
			s.any = &segment{}
		}
		return s.any
	}
	return s.partly(literals)
}

func (s *segment) partly(literals []string) *segment {
	for _, p := range s.partial {
		if slices.Equal(p.literals, literals) {
			return p.next
		}
	}
	p := &partial{literals: literals, next: &segment{}}
	for _, l := range literals {
		p.weight += len(l)
	}
	s.partial = append(s.partial, p)
	slices.SortStableFunc(s.partial, func(a, b *partial) int { return b.weight - a.weight })
	return p.next
}

// split returns the literals around the parameters of a segment: "{a}.json" is "", ".json".
func split(part string) []string {
	var literals []string
	for {
		open := strings.IndexByte(part, '{')
		if open < 0 {
			break
		}
		length := strings.IndexByte(part[open:], '}')
		if length < 0 {
			break
		}
		literals = append(literals, normalize(part[:open]))
		part = part[open+length+1:]
	}
	return append(literals, normalize(part))
}

// normalize decodes a path, except for what would then read as another path: %2F, which is no separator, and %25.
func normalize(path string) string {
	if strings.IndexByte(path, '%') < 0 {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if path[i] != '%' || i+2 >= len(path) {
			out = append(out, path[i])
			continue
		}
		hi, lo := unhex(path[i+1]), unhex(path[i+2])
		switch c := hi<<4 | lo; {
		case hi > 0xf || lo > 0xf:
			out = append(out, '%')
		case c == '/':
			out, i = append(out, "%2F"...), i+2
		case c == '%':
			out, i = append(out, "%25"...), i+2
		default:
			out, i = append(out, c), i+2
		}
	}
	return string(out)
}

// unhex returns the value of a hexadecimal digit, 255 for anything else.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
