package source

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// maxEvent bounds the body of a push event, in bytes. GitHub's own limit is 25 MB, which only events with thousands of
// commits come near; those are seen at the next poll.
const maxEvent = 1 << 20

// Webhook returns a handler that takes push events of GitHub, Gitea, Forgejo, GitLab and Bitbucket, and makes Run look when
// the ref that is followed was pushed. An event must be signed with the secret (X-Hub-Signature-256, over the bytes as sent),
// or carry it, as GitLab does (X-Gitlab-Token); without a secret there is no handler. It answers 202 to every such event, 401
// to others, 413 to a body over 1 MiB.
func (s *Source) Webhook(secret []byte) (http.Handler, error) {
	if len(secret) == 0 {
		return nil, errors.New("webhook: a secret is needed, else anyone could make this machine work")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "push events are posted", http.StatusMethodNotAllowed)
			return
		}
		if r.ContentLength > maxEvent {
			http.Error(w, "the event is too large", http.StatusRequestEntityTooLarge)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
		if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
			http.Error(w, "the event is too large", http.StatusRequestEntityTooLarge)
			return
		}
		if err != nil || !authentic(secret, body, r.Header) {
			http.Error(w, "the event is not signed with this webhook's secret", http.StatusUnauthorized)
			return
		}
		s.event(w, r.Header, body)
	}), nil
}

// authentic tells whether an event comes from who knows the secret. Bitbucket writes SHA-256 where GitHub wrote SHA-1 once.
func authentic(secret, body []byte, header http.Header) bool {
	if token := header.Get("X-Gitlab-Token"); token != "" {
		got, want := sha256.Sum256([]byte(token)), sha256.Sum256(secret) // of one length, whatever was sent
		return hmac.Equal(got[:], want[:])
	}
	return signed(secret, body, header.Get("X-Hub-Signature-256")) || signed(secret, body, header.Get("X-Hub-Signature"))
}

// signed compares in constant time.
func signed(secret, body []byte, header string) bool {
	sum, err := hex.DecodeString(strings.TrimPrefix(header, "sha256="))
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write(body)
	return err == nil && strings.HasPrefix(header, "sha256=") && hmac.Equal(sum, mac.Sum(nil))
}

func (s *Source) event(w http.ResponseWriter, header http.Header, body []byte) {
	if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err == nil {
			body = []byte(form.Get("payload")) // GitHub's default
		}
	}
	refs, err := pushed(body)
	if err != nil {
		http.Error(w, "the event is no JSON object", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if kind := header.Get("X-GitHub-Event"); kind != "" && kind != "push" {
		return
	}
	if slices.ContainsFunc(refs, s.follows) {
		s.Notify()
	}
}

// pushed returns the full names of the refs that an event is about. Of events that are none of a push there may be none.
func pushed(body []byte) ([]string, error) {
	var event struct {
		Ref     json.RawMessage `json:"ref"`
		Changes json.RawMessage `json:"changes"` // Bitbucket's server
		Push    json.RawMessage `json:"push"`    // Bitbucket's cloud
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return nil, err
	}
	var ref string
	var changes []struct {
		Ref string `json:"refId"`
	}
	type name struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	var push struct {
		Changes []struct {
			New name `json:"new"`
			Old name `json:"old"`
		} `json:"changes"`
	}
	// What has another shape is an event of another kind.
	_ = json.Unmarshal(event.Ref, &ref)
	_ = json.Unmarshal(event.Changes, &changes)
	_ = json.Unmarshal(event.Push, &push)
	refs := []string{ref}
	for _, c := range changes {
		refs = append(refs, c.Ref)
	}
	for _, c := range push.Changes {
		for _, n := range []name{c.New, c.Old} {
			switch n.Type {
			case "branch", "named_branch":
				refs = append(refs, "refs/heads/"+n.Name)
			case "tag", "annotated_tag":
				refs = append(refs, "refs/tags/"+n.Name)
			}
		}
	}
	return refs, nil
}

// follows tells whether a ref by its full name is the one that is followed; where it is not known yet which of several
// that is, whether it may be.
func (s *Source) follows(ref string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isCommit(s.cfg.Ref):
		return false
	case s.err == nil && s.state != nil && s.state.full != "":
		return ref == s.state.full
	case s.cfg.Ref == "" || s.cfg.Ref == head:
		return strings.HasPrefix(ref, "refs/heads/")
	}
	return slices.Contains(candidates(s.cfg.Ref), ref)
}
