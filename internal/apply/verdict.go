package apply

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tidelock/tidelock/internal/desired"
)

// isDefinite says that the server's answer is about the content: the same request will get the same answer.
func isDefinite(err error) bool {
	switch {
	case meta.IsNoMatchError(err), isTypeMismatch(err):
		return true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), strings.Contains(words(err), "exceeded quota"):
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || apierrors.IsUnsupportedMediaType(err)
}

// answer is an error of the server in words that may be shown.
type answer struct {
	text string
	err  error
}

// Error returns the words that may be shown.
func (a answer) Error() string { return a.text }

// Unwrap returns the server's own error, to decide by.
func (a answer) Unwrap() error { return a.err }

// guard makes the server's answer fit to be shown: what it says of a Secret may quote a value and is withheld, and a
// refused pod template would be pages.
func guard(gk schema.GroupKind, err error) error {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err
	}
	s := status.Status()
	if isSecret(gk) {
		return answer{err: err, text: fmt.Sprintf("the API server refuses it (%s); its words are withheld, as they may quote a "+
			"secret value", cmp.Or(string(s.Reason), "Unknown"))}
	}
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return answer{err: err, text: bounded(s.Message)}
	}
	var texts []string
	for _, cause := range s.Details.Causes {
		text := causeText(cause)
		if cause.Field != "" {
			text = cause.Field + ": " + text
		}
		texts = append(texts, text)
	}
	return answer{err: err, text: bounded(strings.Join(texts, "; "))}
}

// words returns what the server said, to decide by. They are not to be shown.
func words(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return ""
}

// isTypeMismatch says that server-side apply could not read the content by the kind's schema. The server calls that an
// internal error.
func isTypeMismatch(err error) bool {
	return apierrors.IsInternalError(err) && (strings.Contains(words(err), "failed to create typed patch object") ||
		strings.Contains(words(err), "unable to convert unstructured object"))
}

// isNoDryRun says that a webhook cannot be asked without effects.
func isNoDryRun(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(words(err), "does not support dry run")
}

// isConflict says that the object is not the one that was seen any more, or that another manager has its fields.
func isConflict(err error) bool { return apierrors.IsConflict(err) }

// isImmutable says that the server refuses the change, and not the content as such. It has no code for that; the words
// are those of Kubernetes' own validation.
func isImmutable(err error) bool {
	if !apierrors.IsInvalid(err) {
		return false
	}
	said := words(err)
	return slices.ContainsFunc([]string{
		"immutable", "may not change", "may not be changed", "cannot be changed", "cannot change",
		"may not be updated", "updates to ", "pod updates ",
	}, func(w string) bool { return strings.Contains(said, w) })
}

// problemsOf turns an answer of the server into problems with field paths. What the server says of a Secret is not
// repeated: it may quote a value.
func problemsOf(ch Change, err error) []desired.Problem {
	base := desired.Problem{Origin: ch.Object.Origin, Object: ch.String(), Text: short(err)}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return []desired.Problem{base}
	}
	secret := isSecret(ch.GroupKind())
	details := status.Status().Details
	if details == nil || len(details.Causes) == 0 {
		base.Field = fieldIn(status.Status().Message)
		return []desired.Problem{base}
	}
	var out []desired.Problem
	for _, cause := range details.Causes {
		p := base
		p.Field = cause.Field
		if p.Field == "" {
			p.Field = fieldIn(cause.Message)
		}
		if !secret {
			p.Text = causeText(cause)
		}
		out = append(out, p)
	}
	return out
}

// causeText returns a cause without the value that it quotes, unless that is a short text: a changed pod template would
// be pages.
func causeText(cause metav1.StatusCause) string {
	const invalid, shown = "Invalid value: ", 64
	rest, ok := strings.CutPrefix(cause.Message, invalid)
	if !ok {
		return bounded(cause.Message)
	}
	if quoted, err := strconv.QuotedPrefix(rest); err == nil && len(quoted) <= shown {
		return bounded(cause.Message)
	}
	if i := strings.LastIndex(rest, ": "); i >= 0 {
		rest = rest[i+2:]
	}
	return bounded("invalid value: " + rest)
}

// fieldIn finds the field path in a message of the decoder or of server-side apply.
func fieldIn(message string) string {
	for _, pattern := range []string{`unknown field "([^"]+)"`, `\): \.([A-Za-z][^:\s]*): `} {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(message); m != nil {
			return m[1]
		}
	}
	return ""
}

// short returns an error's message, bounded.
func short(err error) string { return bounded(err.Error()) }

func bounded(s string) string {
	const most = 400
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
