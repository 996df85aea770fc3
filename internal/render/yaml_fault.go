package render

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// syntaxFault makes a fault of the library's syntax error: its line, and a hint where a usual cause is found.
func syntaxFault(err error, data []byte) fault {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "read YAML: "), "yaml: ")
	line := 0
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	if at := conflictMarker(data); at > 0 {
		return fault{line: at, text: "a merge conflict stands here (<<<<<<<): resolve it"}
	}
	if line == 0 {
		if f, found := badByte(data); found {
			return f
		}
	}
	if at := tabIndented(data, line); at > 0 {
		return fault{line: at, text: "a tab indents this line: YAML wants spaces"}
	}
	if strings.HasPrefix(text, "unknown anchor") {
		text = "unknown anchor: put a value that begins with * in quotes" // the library repeats the value
	}
	return fault{line: line, text: "YAML: " + text}
}

// tabIndented returns the first line at or next to line whose indentation holds a tab, or 0. The library may be off by one.
func tabIndented(data []byte, line int) int {
	lines := bytes.Split(data, []byte("\n"))
	for _, at := range []int{line, line + 1, line - 1} {
		if at < 1 || at > len(lines) {
			continue
		}
		text := lines[at-1]
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if bytes.ContainsRune(indent, '\t') {
			return at
		}
	}
	return 0
}

// conflictMarker returns the line at which git left a conflict, or 0.
func conflictMarker(data []byte) int {
	if !regexp.MustCompile(`(?m)^(=======|>>>>>>> .*)\r?$`).Match(data) {
		return 0
	}
	at := regexp.MustCompile(`(?m)^<<<<<<< `).FindIndex(data)
	if at == nil {
		return 0
	}
	return lineAt(data, at[0])
}

// badByte finds the first byte that YAML allows nowhere; the library does not say where it stands.
func badByte(data []byte) (fault, bool) {
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			return fault{line: lineAt(data, at), text: "not UTF-8: save the file in that encoding"}, true
		case unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r):
			return fault{line: lineAt(data, at), text: "a control character stands here: remove it, " +
				`or write it in double quotes ("\x1b")`}, true
		}
		at += size
	}
	return fault{}, false
}

func lineAt(data []byte, at int) int { return 1 + bytes.Count(data[:at], []byte("\n")) }
