package source

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// head is the ref that is followed where none is named.
const head = "HEAD"

// candidates returns the full names that ref may stand for, the one that wins first.
func candidates(ref string) []string {
	switch {
	case ref == "" || ref == head:
		return []string{head}
	case strings.HasPrefix(ref, "refs/"):
		return []string{ref}
	}
	return []string{"refs/heads/" + ref, "refs/tags/" + ref, "refs/" + ref}
}

// isCommit tells whether ref is a full hash.
func isCommit(ref string) bool {
	const digits = 40
	_, err := hex.DecodeString(ref)
	return len(ref) == digits && err == nil
}

// shortRef returns main for refs/heads/main, as people write it.
func shortRef(name string) string {
	name = strings.TrimPrefix(name, "refs/heads/")
	return strings.TrimPrefix(name, "refs/tags/")
}

// noSuchRef says that none of the refs of a repository is ref.
func noSuchRef(ref string, all iter.Seq[string]) error {
	_, notHex := hex.DecodeString(ref[:len(ref)&^1])
	switch {
	case ref == "":
		return errors.New("it leads to a branch that does not exist: name a ref" + nearby(all))
	case len(ref) >= leastHash && notHex == nil:
		return errors.New("there is no such branch or tag, and a commit is named by all of its 40 digits" + nearby(all))
	}
	return errors.New("there is no such branch or tag" + nearby(all))
}

// nearby lists a few branches for a message.
func nearby(refs iter.Seq[string]) string {
	const few = 5
	var names []string
	for name := range refs {
		if branch, ok := strings.CutPrefix(name, "refs/heads/"); ok {
			names = append(names, branch)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	more := ""
	if len(names) > few {
		names, more = names[:few], ", ..."
	}
	return " (branches: " + strings.Join(names, ", ") + more + ")"
}

// LocalRefs lists the branches and tags of a repository on this machine, sorted, as people write them. A URL of a remote is
// not asked.
func LocalRefs(repository string) ([]string, error) {
	loc, err := locate(repository, &Auth{})
	if err != nil {
		return nil, err
	}
	if loc.path == "" {
		return nil, errors.New("the repository is not on this machine")
	}
	dir, common, err := gitDir(loc.path)
	if err != nil || dir == "" {
		return nil, err
	}
	refs, err := newObjects(dir, common).sto.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("list the refs of %s: %w", loc.shown, err)
	}
	var out []string
	err = refs.ForEach(func(r *plumbing.Reference) error {
		if name := r.Name(); name.IsBranch() || name.IsTag() {
			out = append(out, shortRef(name.String()))
		}
		return nil
	})
	slices.Sort(out)
	return slices.Compact(out), err
}
