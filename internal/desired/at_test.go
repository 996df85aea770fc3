package desired_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tidelock/tidelock/internal/desired"
)

func step(t *testing.T, schedule, zone string, weights ...uint32) desired.Step {
	t.Helper()
	at, err := desired.ParseSchedule(schedule, zone)
	if err != nil {
		t.Fatal(err)
	}
	return desired.Step{Instants: at, Weights: weights}
}

func split(steps ...desired.Step) desired.Split {
	return desired.Split{
		Key:     desired.Key{Namespace: "shop", Name: "web"},
		Targets: []string{"stable", "canary"}, Own: []uint32{100, 0}, Steps: steps,
	}
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTheWeightsInForceAreThoseOfTheLatestInstant(t *testing.T) {
	t.Parallel()
	const berlin = "Europe/Berlin"
	rollout := split(
		step(t, "2026-12-24T09:00:00Z", "", 90, 10),
		step(t, "2026-12-24T11:00:00+01:00", "", 50, 50),
		step(t, "2026-12-24T12:00:00Z", "", 0, 100),
	)
	hours := split(step(t, "0 9 * * 1-5", berlin, 50, 50), step(t, "0 17 * * 1-5", berlin, 100, 0))
	ties := split(step(t, "0 9 * * *", "", 1, 1), step(t, "2026-12-24T09:00:00Z", "", 2, 2), step(t, "0 9 24 * *", "", 3, 3))
	for name, tc := range map[string]struct {
		reason          string
		split           desired.Split
		at              string
		want            string
		next, nextWants string
	}{
		"before every step": {
			reason: "the targets' own weights", split: rollout,
			at: "2026-12-24T08:59:59.999999999Z", want: "stable=100 canary=0",
			next: "2026-12-24T09:00:00Z", nextWants: "stable=90 canary=10",
		},
		"at the instant itself": {
			reason: "an instant belongs to its step", split: rollout,
			at: "2026-12-24T09:00:00Z", want: "stable=90 canary=10",
			next: "2026-12-24T10:00:00Z", nextWants: "stable=50 canary=50",
		},
		"after the last": {
			reason: "nothing ends it", split: rollout, at: "2030-01-01T00:00:00Z", want: "stable=0 canary=100",
		},
		"a commit at noon": {
			reason: "takes the nine o'clock weights, in the step's own zone", split: hours,
			at: "2026-12-02T11:00:00Z", want: "stable=50 canary=50",
			next: "2026-12-02T16:00:00Z", nextWants: "stable=100 canary=0",
		},
		"on Sunday": {
			reason: "Friday evening's weights, over the weekend", split: hours,
			at: "2026-12-06T10:00:00Z", want: "stable=100 canary=0",
			next: "2026-12-07T08:00:00Z", nextWants: "stable=50 canary=50",
		},
		"in summer": {
			reason: "nine o'clock in Berlin is seven o'clock in UTC then", split: hours,
			at: "2026-07-01T07:00:00Z", want: "stable=50 canary=50",
			next: "2026-07-01T15:00:00Z", nextWants: "stable=100 canary=0",
		},
		"of three at one instant": {
			reason: "the last in the list", split: ties,
			at: "2026-12-24T10:00:00Z", want: "stable=3 canary=3",
			next: "2026-12-25T09:00:00Z", nextWants: "stable=1 canary=1",
		},
		"of two ahead at one instant": {
			reason: "the last in the list is announced too", split: ties,
			at: "2026-12-24T08:00:00Z", want: "stable=1 canary=1",
			next: "2026-12-24T09:00:00Z", nextWants: "stable=3 canary=3",
		},
		"without steps": {reason: "nothing moves", split: split(), at: "2026-12-24T10:00:00Z", want: "stable=100 canary=0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := instant(t, tc.at)
			s := desired.State{Splits: []desired.Split{tc.split}}.At(at)
			if got := s.Splits[0].String(); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
			next, weights := s.Splits[0].Next(at)
			if !next.Equal(s.Next(at)) {
				t.Errorf("the split moves at %s, the state at %s", next, s.Next(at))
			}
			if tc.next == "" && next.IsZero() && weights == "" {
				return
			}
			if tc.next == "" || !next.Equal(instant(t, tc.next)) || weights != tc.nextWants {
				t.Errorf("%s: next is %s at %s, want %s at %s", tc.reason, weights, next, tc.nextWants, tc.next)
			}
		})
	}
}

// state has a split that steps, one that does not, and what was made of both.
func state(t *testing.T) desired.State {
	t.Helper()
	still := split()
	still.Name = "still"
	content := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"is": text}}
	}
	route := func(name string) desired.Route {
		return desired.Route{
			Split:    desired.Key{Namespace: "shop", Name: name},
			Backends: []desired.Backend{{Name: "stable", Weight: 100}, {Name: "canary"}},
		}
	}
	web := desired.Source{Kind: "TrafficSplit", Key: desired.Key{Namespace: "shop", Name: "web"}}
	own := content("own")
	return desired.State{
		Objects: []desired.Object{
			{Content: content("plain")},
			{Source: web, Content: own, Steps: []*unstructured.Unstructured{own, content("one"), content("two")}},
			{Source: web, Content: content("a Service of it")},
		},
		Routes: []desired.Route{route("still"), route("web"), {}},
		Splits: []desired.Split{still, split(
			step(t, "2026-12-24T09:00:00Z", "", 90, 10), step(t, "2026-12-24T10:00:00Z", "", 0, 100),
		)},
	}
}

func TestAStepMovesWhatTheSplitIsMadeOfAndNothingElse(t *testing.T) {
	t.Parallel()
	s := state(t)
	before := s.At(instant(t, "2026-12-24T08:00:00Z"))
	if &before.Routes[0] != &s.Routes[0] || &before.Objects[0] != &s.Objects[0] || &before.Splits[0] != &s.Splits[0] {
		t.Error("before any step the lists are not the very same")
	}
	one := before.At(instant(t, "2026-12-24T09:30:00Z"))
	want := state(t)
	want.Routes[1].Backends[0].Weight, want.Routes[1].Backends[1].Weight = 90, 10
	want.Objects[1].Content, want.Splits[1].InForce = want.Objects[1].Steps[1], 1
	if d := cmp.Diff(want.Routes, one.Routes); d != "" {
		t.Errorf("routes (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want.Objects, one.Objects); d != "" {
		t.Errorf("objects (-want +got):\n%s", d)
	}
	if d := cmp.Diff(state(t).Routes, s.Routes); d != "" {
		t.Errorf("what was there before has changed:\n%s", d)
	}
	again := one.At(instant(t, "2026-12-24T09:59:59Z"))
	if &again.Routes[0] != &one.Routes[0] || &again.Objects[0] != &one.Objects[0] {
		t.Error("within a step the lists are not the very same")
	}
}

// A daemon that was away for steps, or whose clock was set back, is where it would be anyway.
func TestTheStateInForceDependsOnTheInstantAlone(t *testing.T) {
	t.Parallel()
	s, from := state(t), instant(t, "2026-12-24T08:00:00Z")
	moved := s
	for range 200 {
		at := from.Add(time.Duration(rand.Int64N(int64(3 * time.Hour))))
		moved = moved.At(at)
		fresh := s.At(at)
		if d := cmp.Diff(fresh.Routes, moved.Routes); d != "" {
			t.Fatalf("at %s (-fresh +moved):\n%s", at, d)
		}
		if d := cmp.Diff(fresh.Objects, moved.Objects); d != "" {
			t.Fatalf("at %s (-fresh +moved):\n%s", at, d)
		}
		if next := s.Next(at); !next.IsZero() && fresh.Splits[1].InForce == s.At(next).Splits[1].InForce {
			t.Fatalf("at %s: nothing moves at the next instant %s", at, next)
		}
	}
}
