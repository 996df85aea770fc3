package render

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	quantity "k8s.io/apimachinery/pkg/api/resource"
)

func (ck checker) text(at fieldPath, text string, s *schemaProps) {
	if allowed := allowedValues(s); len(allowed) > 0 && !slices.Contains(allowed, text) {
		ck.problem(at, "want one of %s; got %q", strings.Join(allowed, ", "), text)
		return
	}
	length := int64(utf8.RuneCountInString(text))
	if s.MinLength != nil && length < *s.MinLength {
		ck.problem(at, "is empty: give a value, or leave the field out")
	}
	if s.MaxLength != nil && length > *s.MaxLength {
		ck.problem(at, "want at most %d characters, got %d", *s.MaxLength, length)
	}
	if s.Format == "duration" {
		if _, err := time.ParseDuration(text); err != nil {
			ck.problem(at, `want a duration as "1.5s" or "2m30s"`)
		}
	}
	if s.Pattern != "" {
		if re, err := regexp.Compile(s.Pattern); err == nil && !re.MatchString(text) {
			ck.problem(at, "want the form %s", s.Pattern)
		}
	}
}

func allowedValues(s *schemaProps) []string {
	var values []string
	for _, e := range s.Enum {
		var v any
		if err := json.Unmarshal(e.Raw, &v); err == nil {
			values = append(values, fmt.Sprint(v))
		}
	}
	return values
}

func (ck checker) number(at fieldPath, v any, s *schemaProps) {
	want := "a number"
	if s.Type == "integer" {
		want = "a whole number"
	}
	n, ok := asNumber(v)
	if !ok {
		ck.wrongType(at, want, v)
		return
	}
	if s.Type == "integer" && n != math.Trunc(n) {
		ck.problem(at, "want a whole number, got %v", v)
		return
	}
	if allowed := allowedValues(s); len(allowed) > 0 && !slices.Contains(allowed, fmt.Sprint(n)) {
		ck.problem(at, "want one of %s; got %v", strings.Join(allowed, ", "), v)
		return
	}
	low, high := s.Minimum, s.Maximum
	if s.Format == "int32" {
		low, high = orLimit(low, math.MinInt32), orLimit(high, math.MaxInt32)
	}
	switch {
	case low != nil && n < *low && s.Maximum == nil:
		ck.problem(at, "want at least %v, got %v", *low, v)
	case low != nil && n < *low, high != nil && n > *high:
		ck.problem(at, "want %v to %v, got %v", int64(*low), int64(*high), v)
	}
}

func orLimit(limit *float64, otherwise float64) *float64 {
	if limit != nil {
		return limit
	}
	return &otherwise
}

// intOrString checks a quantity ("100m", 2) or a port ("http", 80).
func (ck checker) intOrString(at fieldPath, v any, s *schemaProps) {
	if n, ok := asNumber(v); ok && n == math.Trunc(n) {
		return
	}
	text, ok := v.(string)
	if !ok {
		ck.wrongType(at, "a string or a whole number", v)
		return
	}
	if _, err := quantity.ParseQuantity(text); err != nil && s.Pattern != "" {
		ck.problem(at, "want a quantity, such as 100m or 64Mi")
	}
}
