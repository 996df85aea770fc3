package source

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// leastHash is how many digits of a hash stand for it, as with git.
const leastHash = 4

// Resolve finds a commit by what git takes for one: a branch before a tag of the same name, a remote's branch
// (origin/main), a full ref, HEAD or @, a hash, also shortened; each with ~2 or ^ behind it.
func (h *History) Resolve(name string) (string, error) {
	found, err := h.resolve(name)
	switch {
	case err == nil:
		return found.String(), nil
	case errors.Is(err, plumbing.ErrObjectNotFound) || errors.Is(err, plumbing.ErrReferenceNotFound):
		if h.shallow() {
			return "", fmt.Errorf("find %q: %w", name, ErrShallow)
		}
		return "", fmt.Errorf("find %q: there is no such branch, tag or commit here; if the remote has it, git fetch it first", name)
	}
	return "", fmt.Errorf("find %q: %w", name, err)
}

func (h *History) resolve(name string) (plumbing.Hash, error) {
	const longest = 250
	if len(name) > longest {
		return plumbing.ZeroHash, fmt.Errorf("a name of a commit has at most %d characters", longest)
	}
	start, steps := name, ""
	if i := strings.IndexAny(name, "~^"); i >= 0 {
		start, steps = name[:i], name[i:]
	}
	tip, err := h.named(start)
	if err != nil {
		return tip, err
	}
	c, err := h.objects.peel(tip)
	for err == nil && steps != "" {
		steps, c, err = h.step(steps, c)
	}
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return c.Hash, nil
}

// named finds what a name without steps leads to.
func (h *History) named(name string) (plumbing.Hash, error) {
	if name == "" {
		return plumbing.ZeroHash, errors.New("want the name of a commit")
	}
	if name == "@" {
		name = head
	}
	if isCommit(name) {
		return plumbing.NewHash(name), nil
	}
	if err := checkRef(name); err != nil {
		return plumbing.ZeroHash, err
	}
	for _, ref := range append(candidates(name), "refs/remotes/"+name, "refs/remotes/"+name+"/"+head) {
		if tip, err := h.follow(ref); err == nil {
			return tip, nil
		}
	}
	return h.shortened(name)
}

// follow returns what a ref leads to, through symbolic ones.
func (h *History) follow(ref string) (plumbing.Hash, error) {
	for range maxPeel {
		r, err := h.objects.ref(ref)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		if r.Type() == plumbing.HashReference {
			return r.Hash(), nil
		}
		ref = r.Target().String()
	}
	return plumbing.ZeroHash, plumbing.ErrReferenceNotFound
}

// shortened finds the one commit whose hash begins with name.
func (h *History) shortened(name string) (plumbing.Hash, error) {
	even := name[:len(name)-len(name)%2]
	prefix, err := hex.DecodeString(even)
	if err != nil || len(name) < leastHash {
		return plumbing.ZeroHash, plumbing.ErrReferenceNotFound
	}
	h.objects.mu.Lock()
	all, err := h.objects.sto.HashesWithPrefix(prefix)
	h.objects.mu.Unlock()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	found := map[plumbing.Hash]bool{}
	for _, id := range all {
		if strings.HasPrefix(id.String(), strings.ToLower(name)) {
			if c, err := h.objects.peel(id); err == nil {
				found[c.Hash] = true
			}
		}
	}
	if len(found) > 1 {
		return plumbing.ZeroHash, fmt.Errorf("%d commits begin so: write more digits", len(found))
	}
	for id := range found {
		return id, nil
	}
	return plumbing.ZeroHash, plumbing.ErrReferenceNotFound
}

// step goes ~n generations back along first parents, or ^n to the n-th parent, and returns what is left of steps.
func (h *History) step(steps string, c *object.Commit) (rest string, _ *object.Commit, err error) {
	const most = 1_000_000
	end := 1
	for end < len(steps) && '0' <= steps[end] && steps[end] <= '9' {
		end++
	}
	n := 1
	if end > 1 {
		if n, err = strconv.Atoi(steps[1:end]); err != nil || n > most {
			return "", nil, fmt.Errorf("%q is too many steps", steps[:end])
		}
	}
	generations, parent := n, 0
	switch {
	case steps[0] == '^' && n > 0:
		generations, parent = 1, n-1
	case steps[0] == '^':
		generations = 0
	case steps[0] != '~':
		return "", nil, fmt.Errorf("%q is not supported: want ~n or ^n", steps)
	}
	for range generations {
		if parent >= len(c.ParentHashes) {
			return "", nil, fmt.Errorf("%s has no parent %d", c.Hash, parent+1)
		}
		if c, err = h.objects.peel(c.ParentHashes[parent]); err != nil {
			return "", nil, err
		}
	}
	return steps[end:], c, nil
}
