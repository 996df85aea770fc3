package apply

import (
	"bytes"
	"encoding/json"
	"maps"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/internal/desired"
)

func TestTheHashOfOurFieldsSeesOurFieldsAlone(t *testing.T) {
	t.Parallel()
	const ours = `{"f:metadata":{"f:annotations":{"f:tidelock.dev/digest":{}}},"f:spec":{"f:replicas":{},"f:selector":{},
		"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}}},"f:set":{"v:\"x\"":{}},"f:rules":{}},
		"f:status":{"f:phase":{}}}`
	const base = `{metadata: {annotations: {tidelock.dev/digest: d1}}, spec: {replicas: 1, selector: {a: b},
		list: [{name: a, image: i}, {name: b, image: j}], set: [x, y], rules: [{weight: 1, path: /}]}, status: {phase: new}}`
	hash := func(fields, text, ignore string) string {
		var set fieldpath.Set
		if err := set.FromJSON(bytes.NewReader([]byte(fields))); err != nil {
			t.Fatal(err)
		}
		ignored, err := parseIgnored(ignore)
		if err != nil {
			t.Fatal(err)
		}
		return hashFields(parse(t, text), &set, []*fieldpath.Set{&set}, ignored)
	}
	const weight = `["/spec/rules/0/weight"]`
	const withoutRules = `{"f:metadata":{"f:annotations":{"f:tidelock.dev/digest":{}}},"f:spec":{"f:replicas":{},"f:selector":{},
		"f:list":{"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:image":{}}},"f:set":{"v:\"x\"":{}}}}`
	tests := map[string]struct {
		reason, fields, text, ignore string
		same                         bool
	}{
		"a value of ours":       {"drift", ours, `{spec: {replicas: 2}}`, "", false},
		"an atomic map of ours": {"it is owned whole", ours, `{spec: {selector: {a: b, c: d}}}`, "", false},
		"an item of ours": {
			"drift in a list by key", ours, `{spec: {list: [{name: a, image: k}, {name: b, image: j}]}}`, "", false,
		},
		"our item is gone":           {"drift", ours, `{spec: {list: [{name: b, image: j}]}}`, "", false},
		"our value of a set is gone": {"drift", ours, `{spec: {set: ["y"]}}`, "", false},
		"a field of others": {
			"unowned fields stay", ours,
			`{spec: {other: 1, list: [{name: b, image: k}, {name: a, image: i, more: 1}], set: [z, x]}}`, "", true,
		},
		"the digest":         {"it is not content", ours, `{metadata: {annotations: {tidelock.dev/digest: d2}}}`, "", true},
		"the status":         {"it is not ours to declare", ours, `{status: {phase: old}}`, "", true},
		"a field taken over": {"ownership is drift too", withoutRules, `{}`, "", false},
		"an ignored value":   {"others may move it", ours, `{spec: {rules: [{weight: 9, path: /}]}}`, weight, true},
		"beside an ignored value": {
			"the rest of the field is ours", ours, `{spec: {rules: [{weight: 1, path: /v2}]}}`, weight, false,
		},
		"a whole ignored field": {"nobody looks", ours, `{spec: {replicas: 5}}`, `["/spec/replicas"]`, true},
	}
	for name, tc := range tests {
		changed := overlay(t, base, tc.text)
		same := hash(ours, base, tc.ignore) == hash(tc.fields, changed, tc.ignore)
		if same != tc.same {
			t.Errorf("%s: %s: same is %v", name, tc.reason, same)
		}
	}
}

func parse(tb testing.TB, text string) map[string]any {
	tb.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil {
		tb.Fatal(err)
	}
	return m
}

// overlay returns base with the fields of the first two levels of over in their place.
func overlay(tb testing.TB, base, over string) string {
	tb.Helper()
	b := parse(tb, base)
	for top, fields := range parse(tb, over) {
		maps.Copy(b[top].(map[string]any), fields.(map[string]any))
	}
	out, err := json.Marshal(b)
	if err != nil {
		tb.Fatal(err)
	}
	return string(out)
}

func TestIgnoredFieldsKeepTheirLiveValue(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ reason, ignore, want, live, result string }{
		"a value":      {"the live one stays", `["/a/b"]`, `{a: {b: 1, c: 1}}`, `{a: {b: 2, c: 2}}`, `{a: {b: 2, c: 1}}`},
		"in a list":    {"by index", `["/a/1"]`, `{a: [1, 2]}`, `{a: [8, 9]}`, `{a: [1, 9]}`},
		"not in git":   {"applying it keeps it", `["/a/b"]`, `{a: {}}`, `{a: {b: 2}}`, `{a: {b: 2}}`},
		"not live":     {"somebody took it away", `["/a/b"]`, `{a: {b: 1}}`, `{a: {}}`, `{a: {}}`},
		"no place":     {"nothing is made for it", `["/x/b"]`, `{a: {}}`, `{x: {b: 2}}`, `{a: {}}`},
		"escaped name": {"RFC 6901", `["/a~1b/c~0d"]`, `{a/b: {c~d: 1}}`, `{a/b: {c~d: 2}}`, `{a/b: {c~d: 2}}`},
	}
	for name, tc := range tests {
		ignored, err := parseIgnored(tc.ignore)
		if err != nil {
			t.Fatal(err)
		}
		want := parse(t, tc.want)
		ignored.keep(want, parse(t, tc.live))
		if diff := cmp.Diff(parse(t, tc.result), want); diff != "" {
			t.Errorf("%s: %s: %s", name, tc.reason, diff)
		}
	}
	for _, bad := range []string{"/spec", `["spec"]`, `{"a": 1}`} {
		if _, err := parseIgnored(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestOneChangeWritesOneShardAndEmptyShardsGo(t *testing.T) {
	t.Parallel()
	l := newLedger(Config{Owner: "prod", Namespace: "tidelock"})
	const n = 2*shardSize + 1
	for i := range n {
		l.set(configMapID("shop", strconv.Itoa(i)), Entry{Version: "v1", UID: "u", Digest: "d"})
	}
	if len(l.dirty) != 3 {
		t.Fatalf("%d shards, want 3", len(l.dirty))
	}
	again := newLedger(Config{Owner: "prod", Namespace: "tidelock"})
	for shard := range 3 {
		cm, err := l.configMap(shard)
		if err != nil {
			t.Fatal(err)
		}
		if size := len(cm.BinaryData[keyEntries]); size > 100<<10 {
			t.Errorf("shard %d has %d bytes", shard, size)
		}
		if got, err := again.read(cm); err != nil || got != shard {
			t.Fatalf("read shard %d: %d, %v", shard, got, err)
		}
	}
	if diff := cmp.Diff(l.entries, again.entries); diff != "" {
		t.Error(diff)
	}
	clear(again.dirty)
	again.set(configMapID("shop", "7"), Entry{Version: "v1", UID: "u", Digest: "d"})
	if len(again.dirty) != 0 {
		t.Error("an equal entry is to be written")
	}
	again.drop(configMapID("shop", strconv.Itoa(n-1)))
	if len(again.dirty) != 1 || again.counts[2] != 0 {
		t.Errorf("dirty %v, counts %v", again.dirty, again.counts)
	}
	again.set(configMapID("shop", "new"), Entry{Version: "v1"})
	if again.homes[configMapID("shop", "new")] != 2 {
		t.Error("a new entry has not filled the shard with room")
	}
}

func TestABrokenInventoryIsAnErrorAndNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	l := newLedger(Config{Owner: "prod"})
	var cm corev1.ConfigMap
	cm.Name = "tidelock-prod-0"
	cm.BinaryData = map[string][]byte{keyEntries: []byte("no gzip")}
	if _, err := l.read(&cm); err == nil {
		t.Error("taken")
	}
	cm.Name = "tidelock-prod-x"
	if _, err := l.read(&cm); err == nil {
		t.Error("a name without a number is taken")
	}
}

func TestCorrectionsComeBackOneByOne(t *testing.T) {
	t.Parallel()
	now := time.Unix(0, 0)
	f := &fights{now: func() time.Time { return now }}
	id := configMapID("shop", "cm")
	for i := range fightLimit {
		if !f.take(id) {
			t.Errorf("correction %d is refused", i+1)
		}
	}
	if f.take(id) {
		t.Error("one too many")
	}
	if !f.take(configMapID("shop", "other")) {
		t.Error("another object pays for it")
	}
	f.wrote(id, true)
	for range fightLimit {
		if !f.take(id) {
			t.Error("what a failed write of ours left is taken for somebody's doing")
		}
	}
	f.wrote(id, false)
	if f.take(id) {
		t.Error("one too many, after a write of ours went well")
	}
	now = now.Add(fightWindow / fightLimit)
	if !f.take(id) || f.take(id) {
		t.Error("want one correction back after a fifth of the window")
	}
}

func TestEchoesOfAWriteAreNoChange(t *testing.T) {
	t.Parallel()
	b := newBook()
	gvk := configMapID("", "").GroupKind().WithVersion("v1")
	w := b.want(map[schema.GroupVersionKind]bool{gvk: true})[0]
	b.listed(w, true, nil, "1")
	id := configMapID("shop", "cm")
	live := func(version, fields string) Live {
		return Live{ID: id, UID: "u", ResourceVersion: version, Fields: fields}
	}
	start := b.generation

	b.begin(id)
	b.see(event{gvk: gvk, live: live("5", "ours")}) // the watch is faster than the answer
	b.end(gvk, id, new(live("5", "ours")))
	b.see(event{gvk: gvk, live: live("5", "ours")})
	b.see(event{gvk: gvk, live: live("4", "before")}) // late
	if b.generation != start {
		t.Error("an echo moved the generation")
	}
	b.begin(id)
	b.see(event{gvk: gvk, live: live("7", "theirs")})
	b.end(gvk, id, new(live("6", "ours")))
	if b.generation != start+1 || b.snapshot().Objects[id].Fields != "theirs" {
		t.Error("a change right after our write was taken for its echo")
	}
	b.begin(id)
	b.ended(id, "u")
	b.see(event{gvk: gvk, live: live("7", "theirs")}) // late
	b.see(event{gvk: gvk, live: live("8", "theirs"), deleted: true})
	if _, there := b.snapshot().Objects[id]; there || b.generation != start+1 {
		t.Error("the echo of a delete is a change")
	}
	b.listed(w, true, nil, "9")
	b.begin(id)
	b.end(gvk, id, new(live("12", "ours")))
	b.listed(w, true, nil, "11")
	if _, there := b.snapshot().Objects[id]; !there {
		t.Error("a list from before our write took the object away")
	}
}

func TestDigestsAreContentAndSharedBetweenCommits(t *testing.T) {
	t.Parallel()
	o := object("ConfigMap shop/cm", nil)
	first, err := Declare([]desired.Object{o}, Declared{})
	if err != nil {
		t.Fatal(err)
	}
	first.digests[o.Content] = "remembered"
	second, err := Declare([]desired.Object{o}, first)
	if err != nil || second.objects[0].digest != "remembered" {
		t.Errorf("content that did not change was digested again: %v, %v", second, err)
	}
}
