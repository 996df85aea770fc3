package render

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// resolvePlain returns what kubectl takes a plain scalar for: string, bool, int64, float64 or nil. The rules are those of
// go-yaml v2, which sigs.k8s.io/yaml reads with: YAML 1.1 booleans (yes, on, y), octal 0123, no base 60; what looks like a
// timestamp is a string.
func resolvePlain(s string) any {
	if v, ok := resolveWord(s); ok {
		return v
	}
	switch {
	case s[0] == '.':
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	case s[0] == '+' || s[0] == '-' || s[0] >= '0' && s[0] <= '9':
		if !isTimestamp(s) {
			return resolveNumber(s)
		}
	}
	return s
}

func resolveWord(s string) (any, bool) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, true
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return true, true
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return false, true
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), true
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1), true
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1), true
	}
	return nil, false
}

func resolveNumber(s string) any {
	plain := strings.ReplaceAll(s, "_", "")
	if i, err := strconv.ParseInt(plain, 0, 64); err == nil {
		return i
	}
	// What is beyond int64 is a float in Kubernetes' JSON.
	if u, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return float64(u)
	}
	if isFloat(plain) {
		if f, err := strconv.ParseFloat(plain, 64); err == nil {
			return f
		}
	}
	return s
}

// isFloat reports whether s is [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isFloat(s string) bool {
	s = strings.TrimLeft(s[:1], "+-") + s[1:]
	whole := digits(s)
	s = s[whole:]
	fraction := 0
	if strings.HasPrefix(s, ".") {
		fraction = digits(s[1:])
		s = s[1+fraction:]
	}
	if whole == 0 && fraction == 0 {
		return false
	}
	if s == "" {
		return true
	}
	if s[0] != 'e' && s[0] != 'E' {
		return false
	}
	s = s[1:]
	if s != "" && (s[0] == '+' || s[0] == '-') {
		s = s[1:]
	}
	return s != "" && digits(s) == len(s)
}

// digits returns how many digits s begins with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// isTimestamp reports whether YAML 1.1 would read s as a timestamp.
func isTimestamp(s string) bool {
	const year = 4
	if digits(s) != year || len(s) == year || s[year] != '-' {
		return false
	}
	for _, layout := range []string{
		"2006-1-2T15:4:5.999999999Z07:00", "2006-1-2t15:4:5.999999999Z07:00", "2006-1-2 15:4:5.999999999", "2006-1-2",
	} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}
