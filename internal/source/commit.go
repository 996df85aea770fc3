package source

import (
	"context"
	"io/fs"
	"log/slog"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/tidelock/tidelock/internal/desired"
)

// maxSubject bounds what is shown of a commit's message and its author's name, in bytes.
const maxSubject = 200

// state is one revision and its tree.
type state struct {
	rev  desired.Revision
	tree fs.FS
	// tip is what the ref pointed at: the commit, or a tag of it.
	tip plumbing.Hash
	// full is the ref's full name; empty where it is not known.
	full string
}

// stateOf returns the state of a commit that is in o.
func stateOf(o *objects, c *object.Commit, tip plumbing.Hash, ref, repository string) *state {
	subject, _, _ := strings.Cut(strings.TrimSpace(c.Message), "\n")
	o.age()
	return &state{
		rev: desired.Revision{
			Commit:     c.Hash.String(),
			Ref:        ref,
			Repository: repository,
			Subject:    clean(subject),
			Author:     clean(c.Author.Name),
			Time:       c.Committer.When,
		},
		tree: &tree{
			content: o,
			root:    node{name: ".", mode: fs.ModeDir | 0o755, key: c.TreeHash.String(), hash: c.TreeHash.String()},
			time:    c.Committer.When,
		},
		tip: tip,
	}
}

// warnSubmodules says that submodules are not followed, in a repository that has some.
func warnSubmodules(ctx context.Context, log *slog.Logger, st *state) {
	if _, err := fs.Lstat(st.tree, ".gitmodules"); err == nil {
		log.WarnContext(ctx, "submodules are read as empty folders", slog.String("repository", st.rev.Repository),
			slog.String("commit", st.rev.Commit))
	}
}

// clean makes a line that someone else wrote fit for a status and a terminal.
func clean(s string) string {
	s = strings.TrimSpace(strings.Map(printable, strings.ToValidUTF8(s, "?")))
	if len(s) <= maxSubject {
		return s
	}
	s = s[:maxSubject]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
