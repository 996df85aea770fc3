package apply

import (
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noTypedObject is how server-side apply begins to say that it could not read the content by the kind's schema.
const noTypedObject = "failed to create typed patch object"

// causesOf returns what the server has against an object, each with its field where one is to be found.
func causesOf(s metav1.Status) []metav1.StatusCause {
	causes := []metav1.StatusCause{{Message: s.Message}}
	if s.Details != nil && len(s.Details.Causes) > 0 {
		causes = s.Details.Causes
	}
	var out []metav1.StatusCause
	for _, cause := range causes {
		if list := mismatches(cause.Message); list != nil {
			out = append(out, list...)
			continue
		}
		if cause.Field == "" {
			cause.Field = fieldIn(cause.Message)
		}
		out = append(out, cause)
	}
	return out
}

// mismatches splits what server-side apply says, in one text, of all fields that do not fit a schema; nil for other texts.
func mismatches(message string) []metav1.StatusCause {
	_, list, ok := strings.Cut(message, noTypedObject)
	if !ok {
		return nil
	}
	var out []metav1.StatusCause
	place := regexp.MustCompile(`^(?: \(.*?\): | +)\.([A-Za-z].*?): (.+)$`)
	for line := range strings.Lines(list) {
		if m := place.FindStringSubmatch(strings.TrimRight(line, "\n")); m != nil {
			out = append(out, metav1.StatusCause{Field: m[1], Message: mismatch(m[2])})
		}
	}
	return out
}

// mismatch makes a sentence of structured-merge-diff one for people. The value is left out: nobody knows what it is.
func mismatch(text string) string {
	text = regexp.MustCompile(`&value\.valueUnstructured\{.*\}`).ReplaceAllString(text, "something else")
	if strings.HasPrefix(text, "expected string") {
		return text + ": put it in quotes"
	}
	if key, ok := strings.CutPrefix(text, "duplicate entries for key "); ok {
		return "more than one entry has " + strings.Trim(key, "[]") + ": server-side apply takes each once"
	}
	return text
}

// causeText returns a cause without the value that it quotes, unless that is a short text: a changed pod template would be
// pages. Dumps of what differs, in which values of environment variables stand, are left out.
func causeText(cause metav1.StatusCause) string {
	const invalid, shown = "Invalid value: ", 64
	message := cause.Message
	if at := regexp.MustCompile(`\n\s*(@@ |[\w.*&]+\{)`).FindStringIndex(message); at != nil {
		message = message[:at[0]]
	}
	rest, ok := strings.CutPrefix(message, invalid)
	if !ok {
		return bounded(message)
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil && len(quoted) <= shown {
		return bounded(message)
	}
	if i := strings.LastIndex(rest, ": "); i >= 0 {
		rest = rest[i+2:]
	}
	return bounded("invalid value: " + rest)
}

// fieldIn finds the field path in a message of the decoder.
func fieldIn(message string) string {
	if m := regexp.MustCompile(`unknown field "([^"]+)"`).FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// refuserIn names who speaks in a message: a policy, a webhook, or the API server itself. It repeats nothing but names.
func refuserIn(message string) string {
	m := regexp.MustCompile(`(ValidatingAdmissionPolicy '[\w.-]+'|admission webhook "[\w.-]+") (?:with binding '[\w.-]+' )?denied`).
		FindStringSubmatch(message)
	if m == nil {
		return "the API server"
	}
	return m[1]
}
