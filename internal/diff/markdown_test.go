package diff

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A comment fits GitHub's limit whatever the size of the change, and says how much it leaves out.
func TestACommentFitsAndCountsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	const many = 3000
	d := Diff{Base: Revision{Name: "main"}, Head: Revision{Name: "head"}, Changed: true, Counts: map[Action]int{Update: many}}
	long := strings.Repeat("ü", 300)
	for i := range many {
		d.Objects = append(d.Objects, Object{
			Action: Update, Object: fmt.Sprintf("ConfigMap a/c%d", i), Fields: []Field{{Path: "data.k", Before: new("1"), After: &long}},
		})
		d.Warnings = append(d.Warnings, Problem{File: "a.yaml", Line: 1, Text: long})
		d.Traffic = append(d.Traffic, Traffic{Subject: fmt.Sprintf("h%d.test /", i), Text: long})
		d.Time = append(d.Time, Timing{Subject: fmt.Sprintf("At a/c%d", i), Change: "removed", Text: long})
		d.Prunes = append(d.Prunes, Prune{Action: Delete, Object: fmt.Sprintf("ConfigMap a/d%d", i)})
	}
	text := markdown(t, d)
	if n := utf8.RuneCountInString(text); n > 65536 || n < 60000 {
		t.Errorf("%d characters, want nearly 65536", n)
	}
	for noun, item := range map[string]string{
		"warning": `(?m)^~ a\.yaml:1$`, "change": `(?m)^~ h\d+\.test`, "schedule": `(?m)^- At a/c`, "object": `(?m)^~ ConfigMap a/c`,
	} {
		shown := len(regexp.MustCompile(item).FindAllString(text, -1))
		if shown == 0 || !strings.Contains(text, fmt.Sprintf("… and %d more %ss, left out here.", many-shown, noun)) {
			t.Errorf("%d of %d %ss are shown, and the rest is not counted", shown, many, noun)
		}
	}
}

// Nothing that a repository says is markup: no HTML, link, mention or reference to an issue, and no fence is ended.
func TestARepositoryBringsNoMarkupIntoAComment(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{
		"```\n@everyone", "``````", "~~~\n# big", "</details><script>alert(1)</script>", "![x](https://evil.test/x.png)", "@octocat",
		"#1", "GH-1", "owner/repo#1", "[a](javascript:b)", "`@octocat`", "<!-- tidelock diff -->", "--> @octocat", "\r\n@octocat",
		"\u2028@octocat", "$(id)", "[ ] task", "| a | b |", ":tada:", "/approve", "\x1b[31m", "\u202eevil",
	} {
		d := Diff{
			Base: Revision{Name: evil, Subject: evil}, Head: Revision{Name: evil, Subject: evil}, Path: evil, Changed: true,
			BaseRefused: []Problem{{File: evil, Text: evil, Object: evil, Field: evil}}, Refused: []Problem{{File: evil, Text: evil}},
			Unknown: []string{evil}, Warnings: []Problem{{Text: evil}},
			Traffic: []Traffic{{Subject: evil, Text: evil, Where: []string{evil}, Proxies: []string{evil}}},
			Time:    []Timing{{Subject: evil, Text: evil, Change: "added"}},
			Prunes:  []Prune{{Action: Recreate, Object: evil, Reason: evil, ReplacedBy: evil}},
			Brake:   &Brake{Held: true, Text: evil, Digest: evil},
			Objects: []Object{{Action: Update, Object: evil, Was: evil, Reason: evil, Fields: []Field{
				{Path: evil, Before: new(evil), After: new(evil)}, {Path: evil, Lines: []Line{{Op: "+", Text: evil}}},
			}}},
			Reach: Reach{Namespaces: []string{evil}, Hosts: []HostReach{{Host: evil}}, Proxies: []string{evil}},
		}
		text := markdown(t, d)
		rest := outsideCode(t, text)
		rest = strings.Replace(rest, Marker, "", 1)
		for _, tag := range []string{"<details>", "</details>", "<summary>", "</summary>", "<b>", "</b>"} {
			rest = strings.ReplaceAll(rest, tag, "")
		}
		if bad := regexp.MustCompile(`[<>@#!\[\]|\x60\x1b~]|GH-|:tada:|/approve|\$\(|octocat|evil`).FindString(strings.ReplaceAll(rest, "### ", "")); bad != "" {
			t.Errorf("%q brings %q outside of code:\n%s", evil, bad, rest)
		}
		if strings.ContainsAny(text, "\x1b\r\u2028\u202e") {
			t.Errorf("%q: a character that controls the reader's screen is left", evil)
		}
	}
}

func markdown(t *testing.T, d Diff) string {
	t.Helper()
	var b strings.Builder
	if err := Markdown(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outsideCode returns what CommonMark does not read as code. A fence ends with a line of as many backquotes at least.
// https://spec.commonmark.org/0.31.2/#fenced-code-blocks
func outsideCode(t *testing.T, text string) string {
	t.Helper()
	var out []string
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		run := strings.TrimLeft(line, " ")
		ticks := run[:len(run)-len(strings.TrimLeft(run, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && strings.Trim(run, "`") == "" && len(ticks) >= len(fence) && len(line)-len(run) < 4:
			fence = ""
		case fence == "":
			out = append(out, regexp.MustCompile("`[^`]*`").ReplaceAllString(line, ""))
		}
	}
	if fence != "" {
		t.Errorf("a fence is not ended:\n%s", text)
	}
	return strings.Join(out, "\n")
}
