package cli

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the block in README.md from what the command says now")

// The block in README.md is what the command says of a real pull request on the example. Its instants move with the clock.
func TestTheReviewInTheReadmeIsWhatTheCommandSays(t *testing.T) {
	t.Parallel()
	const readme, start, end = "../../README.md", "$ tidelock diff overlays/production\n", "```\n"
	b, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(b), start)
	block, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no block that begins with %q", readme, start)
	}
	got := pullRequest(t)
	if *update {
		if err := os.WriteFile(readme, []byte(before+start+got+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	instant := regexp.MustCompile(`\w{3} \d{4}-\d\d-\d\d 0\d:\d\d( CES?T)?`)
	if diff := cmp.Diff(instant.ReplaceAllString(block, "…"), instant.ReplaceAllString(got, "…")); diff != "" {
		t.Errorf("README.md is not current; go test ./internal/cli -run Readme -update (-README +command):\n%s", diff)
	}
}

// pullRequest commits the example, makes the change of testdata/review.txtar on a branch, and returns what the command says.
func pullRequest(t *testing.T) string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/review.txtar")
	if err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	if err := os.CopyFS(repo, os.DirFS("../../examples/repo")); err != nil {
		t.Fatal(err)
	}
	in := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = repo
		for _, who := range []string{"AUTHOR", "COMMITTER"} { // so that the commit has one id
			cmd.Env = append(cmd.Env, "GIT_"+who+"_NAME=a", "GIT_"+who+"_EMAIL=a@b.test", "GIT_"+who+"_DATE=2026-12-01T00:00:00Z")
		}
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "HOME="+repo)
		out, err := cmd.Output()
		exit, _ := errors.AsType[*exec.ExitError](err)
		if err != nil && (name != "tidelock" || exit == nil || exit.ExitCode() != exitNo) {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	in("git", "init", "-q", "-b", "main")
	for _, side := range []string{"main", "search"} {
		if side != "main" {
			in("git", "checkout", "-q", "-b", side)
			in("git", "rm", "-q", "base/search.yaml")
		}
		for _, f := range a.Files {
			if name, ok := strings.CutPrefix(f.Name, side+"/"); ok {
				if err := os.WriteFile(filepath.Join(repo, name), f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		in("git", "add", ".")
		in("git", "commit", "-q", "-m", side)
	}
	return in("tidelock", "diff", "overlays/production")
}
