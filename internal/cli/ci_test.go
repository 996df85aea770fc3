package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/diff"
)

// ciRun is one pull request on one forge.
type ciRun struct {
	forge  *forge
	repo   string
	base   string
	head   string
	fork   bool
	output string // what people see without the forge's API
}

// The snippets for GitHub and GitLab, run by a shell against a real repository and a forge of ours.
func TestASnippetCommentsOnAPullRequest(t *testing.T) {
	t.Parallel()
	for forgeName, run := range map[string]func(*testing.T, *ciRun) int{"github": runGitHub, "gitlab": runGitLab} {
		t.Run(forgeName, func(t *testing.T) {
			t.Parallel()
			for name, c := range map[string]struct {
				reason  string
				head    string
				before  []comment
				base    string
				fork    bool
				code    int
				comment string // what ours says, none for ""
				output  string
			}{
				"changes are commented": {
					reason: "exit code 1 of diff says that there are changes, which is what pull requests are for",
					head:   "changed", comment: "### Tidelock: 1 changed",
				},
				"a comment of ours is updated in place": {
					reason: "a comment a push would bury what people say",
					head:   "changed", comment: "### Tidelock: 1 changed",
					before: []comment{
						{id: 1, author: "ann", body: "a"},
						{id: 2, author: "bob", body: "b"},
						{id: 3, author: "github-actions[bot]", body: diff.Marker + "\nold"},
					},
				},
				"a comment that only looks like ours stays": {
					reason: "its author could change it after us",
					head:   "changed", comment: "### Tidelock: 1 changed",
					before: []comment{{id: 1, author: "mallory", body: diff.Marker + "\nall is well"}},
				},
				"no changes need no comment": {
					reason: "most pull requests change code alone", head: "main", output: "no changes",
				},
				"no changes any more are said": {
					reason: "the comment of before is wrong now",
					head:   "main", comment: "no changes",
					before: []comment{{id: 3, author: "github-actions[bot]", body: diff.Marker + "\nold"}},
				},
				"a refused commit fails after it is commented": {
					reason: "the daemon would refuse it, and the comment says why",
					head:   "refused", code: 2, comment: "refused with 1 error",
				},
				"a comparison that cannot be made fails": {
					reason: "silence would read as no changes",
					head:   "changed", base: "0123456789012345678901234567890123456789", code: 2, comment: "the comparison failed",
				},
				"a fork's pull request has no comment": {
					reason: "its token may not write; the text is in the log",
					head:   "changed", fork: true, output: "1 changed",
				},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					r := newCIRun(t, c.head)
					r.forge.begin(c.before)
					r.fork = c.fork
					if c.base != "" {
						r.base = c.base
					}
					if code := run(t, r); code != c.code {
						t.Errorf("%s: exit code %d, want %d", c.reason, code, c.code)
					}
					checkComments(t, r, c.before, c.comment)
					if !strings.Contains(r.output, c.output) || strings.Contains(r.output, forgeToken) {
						t.Errorf("%s: the log says %q", c.reason, r.output)
					}
				})
			}
		})
	}
}

// checkComments looks for one comment of ours that says want, and at those of others.
func checkComments(t *testing.T, r *ciRun, before []comment, want string) {
	t.Helper()
	var ours []string
	others := 0
	comments, requests := r.forge.seen()
	for _, c := range comments {
		if c.author == "github-actions[bot]" {
			ours = append(ours, c.body)
			continue
		}
		if c != before[others] {
			t.Errorf("a comment of %s is now %q", c.author, c.body)
		}
		others++
	}
	switch {
	case want == "" && len(ours) > 0:
		t.Errorf("comments %q, want none", ours)
	case want != "" && (len(ours) != 1 || !strings.HasPrefix(ours[0], diff.Marker+"\n") || !strings.Contains(ours[0], want)):
		t.Errorf("comments %q, want one with %q (requests: %q)", ours, want, requests)
	}
}

// newCIRun makes a repository whose branch head is one commit on top of main.
func newCIRun(t *testing.T, head string) *ciRun {
	t.Helper()
	r := &ciRun{forge: newForge(t), repo: t.TempDir()}
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b.test"}, args...)...)
		cmd.Dir = r.repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(value string) {
		text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {v: " + value + "}\n"
		if err := os.WriteFile(filepath.Join(r.repo, "a.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "-b", "main")
	write(`"1"`)
	git("add", ".")
	git("commit", "-q", "-m", "One")
	r.base = git("rev-parse", "HEAD")
	if value := map[string]string{"changed": `"2"`, "refused": "2"}[head]; value != "" {
		git("checkout", "-q", "-b", head)
		write(value)
		git("commit", "-q", "-a", "-m", "Two")
	}
	r.head = git("rev-parse", "HEAD")
	return r
}

// runGitHub runs the steps of the workflow as GitHub's runner does.
func runGitHub(t *testing.T, r *ciRun) int {
	t.Helper()
	var flow struct {
		Jobs map[string]struct {
			Env   map[string]string
			Steps []struct {
				Name, Run string
				Env       map[string]string
			}
		}
	}
	readSnippet(t, "github.yaml", &flow)
	temp, from := t.TempDir(), "tide/shop"
	if r.fork {
		from = "mallory/shop"
	}
	values := map[string]string{
		"github.event.pull_request.base.sha": r.base, "github.event.pull_request.head.sha": r.head,
		"github.event.pull_request.number": "7", "github.event.pull_request.head.repo.full_name": from, "github.token": forgeToken,
	}
	summary, output := filepath.Join(temp, "summary"), filepath.Join(temp, "output")
	code := 0
	for _, step := range flow.Jobs["diff"].Steps {
		if step.Run == "" || step.Name == "Install" || code != 0 {
			continue
		}
		env := []string{
			"GITHUB_REPOSITORY=tide/shop", "GITHUB_SERVER_URL=https://github.test", "GITHUB_RUN_ID=1", "FORGE=" + r.forge.url,
			"RUNNER_TEMP=" + temp, "GITHUB_STEP_SUMMARY=" + summary, "GITHUB_OUTPUT=" + output,
			"FOLDER=" + flow.Jobs["diff"].Env["FOLDER"],
		}
		for k, v := range step.Env {
			env = append(env, k+"="+expand(t, v, values))
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %s: an expression in a script is code of whoever opened the pull request", step.Name)
		}
		code = shell(t, r, step.Run, env)
		b, _ := os.ReadFile(output)
		values["steps.diff.outputs.code"] = strings.TrimSpace(strings.TrimPrefix(string(b), "code="))
	}
	b, err := os.ReadFile(summary)
	if err != nil {
		t.Fatal(err)
	}
	r.output += string(b)
	return code
}

// expand puts values in place of ${{ expressions }}.
func expand(t *testing.T, text string, values map[string]string) string {
	t.Helper()
	return regexp.MustCompile(`\$\{\{ (.*?) \}\}`).ReplaceAllStringFunc(text, func(s string) string {
		v, ok := values[strings.TrimSuffix(strings.TrimPrefix(s, "${{ "), " }}")]
		if !ok {
			t.Errorf("%s is not known", s)
		}
		return v
	})
}

// runGitLab runs the script of the job as GitLab's runner does: all lines in one shell.
func runGitLab(t *testing.T, r *ciRun) int {
	t.Helper()
	var flow map[string]struct {
		Script    []string
		Variables map[string]string
	}
	readSnippet(t, "gitlab.yaml", &flow)
	job := flow["tidelock diff"]
	env := []string{
		"CI_MERGE_REQUEST_DIFF_BASE_SHA=" + r.base, "CI_COMMIT_SHA=" + r.head, "CI_JOB_URL=https://gitlab.test/1",
		"CI_API_V4_URL=" + r.forge.url, "CI_PROJECT_ID=3", "CI_MERGE_REQUEST_IID=7", "FOLDER=" + job.Variables["FOLDER"],
	}
	if !r.fork {
		env = append(env, "TIDELOCK_TOKEN="+forgeToken)
	}
	return shell(t, r, strings.Join(job.Script, "\n"), env)
}

func readSnippet(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../../deploy/ci", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// shell runs a script as both forges do, and returns its exit code.
func shell(t *testing.T, r *ciRun, script string, env []string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = r.repo
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "NO_PROXY=*"}, env...)
	out, err := cmd.CombinedOutput()
	r.output += string(out)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}
