package diff

import (
	"time"

	"github.com/tidelock/tidelock/internal/desired"
)

// Diff is what a reviewer is told, in the order in which reviewers ask. Its JSON is documented in docs/diff.schema.json.
type Diff struct {
	// Base and Head are what is compared. Path is the folder that was rendered.
	Base Revision `json:"base"`
	Head Revision `json:"head"`
	Path string   `json:"path"`
	// Changed says that the daemon would do anything at all.
	Changed bool `json:"changed"`

	// BaseRefused is what is wrong with the base, where it cannot be rendered: Head is shown whole then.
	BaseRefused []Problem `json:"baseRefused,omitempty"`
	// Refused is why the head would not be accepted.
	Refused []Problem `json:"refused"`
	// Unknown is what could not be found out.
	Unknown []string `json:"unknown,omitempty"`
	// Warnings are those of the head that the base has not. OldWarnings counts the others.
	Warnings    []Problem `json:"warnings"`
	OldWarnings int       `json:"oldWarnings,omitempty"`

	Traffic []Traffic `json:"traffic"`
	Time    []Timing  `json:"time"`
	Prunes  []Prune   `json:"prunes"`
	// Brake is set where the brakes of the repository hold the commit, or are told to let it through.
	Brake   *Brake   `json:"brake,omitempty"`
	Objects []Object `json:"objects"`
	Reach   Reach    `json:"reach"`

	// Counts are how many objects of the plan are created, changed, and so on, by action.
	Counts map[Action]int `json:"counts"`
	// Plan is the same as the daemon's: each object that is written or deleted, once.
	Plan []Step `json:"plan"`
}

// Revision names a commit, or the working tree.
type Revision struct {
	// Name is "main@1a2b3c4", or "working tree".
	Name   string `json:"name"`
	Commit string `json:"commit,omitempty"`
	// Subject is the first line of the commit's message.
	Subject string `json:"subject,omitempty"`
}

// Problem is one error or warning with its place.
type Problem struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	Text   string `json:"text"`
}

// Action is what is done to an object: the actions of a plan, and Rename.
type Action string

// The actions.
const (
	Create   Action = "create"
	Adopt    Action = "adopt"
	Update   Action = "update"
	Correct  Action = "correct"
	Recreate Action = "recreate"
	Refuse   Action = "refuse"
	Delete   Action = "delete"
	Release  Action = "release"
	// Rename is a delete and a create of nearly the same content.
	Rename Action = "rename"
)

// Step is one object of the plan.
type Step struct {
	Action    Action `json:"action"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Traffic is one change of where requests go, or of what is done to them on the way.
type Traffic struct {
	// Subject is what it is about: a split, or a host and a match.
	Subject string `json:"subject"`
	// Where are the hosts and matches that are concerned: "shop.example.com /catalog".
	Where []string `json:"where"`
	// Listener that the requests enter by, and the groups of proxies; none for all.
	Listener string   `json:"listener,omitempty"`
	Proxies  []string `json:"proxies,omitempty"`
	// Text says it in plain words.
	Text string `json:"text"`
	// Moved is how many percent of the requests concerned are answered by something else than before.
	Moved float64 `json:"moved"`
	// Source is the resource that says so, with its place.
	Source string `json:"source,omitempty"`
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// Timing is one change of when something happens.
type Timing struct {
	// Subject is the schedule, "At shop/nightly-report", or the split whose steps are meant.
	Subject string `json:"subject"`
	// Change is "added", "changed", "removed" or "ahead".
	Change string `json:"change"`
	// Text says it in plain words.
	Text string `json:"text"`
	// Next are the next instants, in the schedule's own zone: none for what was removed, suspended or is past.
	Next []time.Time `json:"next,omitempty"`
	File string      `json:"file,omitempty"`
	Line int         `json:"line,omitempty"`
}

// Prune is one object that is deleted, deleted and made anew, or that left and is kept.
type Prune struct {
	// Action is Delete, Release or Recreate.
	Action Action `json:"action"`
	Object string `json:"object"`
	Reason string `json:"reason,omitempty"`
	// WaitsFor is what has to happen first, where that can be known: "Deployment shop/web to roll out".
	WaitsFor string `json:"waitsFor,omitempty"`
	// ReplacedBy is what the object is called from now on, where it is a rename.
	ReplacedBy string `json:"replacedBy,omitempty"`
	// File and Line are where it stood.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`

	id desired.ID
}

// Brake is what the brakes of tidelock.yaml say of the deletes.
type Brake struct {
	// Deletes is how many objects are deleted, of Owned.
	Deletes int `json:"deletes"`
	Owned   int `json:"owned"`
	// Digest names exactly this set of deletes; prune.approve lets it through.
	Digest string `json:"digest"`
	// Held says that the commit is held back; Text says why, and what lets it through.
	Held bool   `json:"held"`
	Text string `json:"text,omitempty"`
}

// Object is one object that changes. What is generated from it stands in Generated.
type Object struct {
	Action Action `json:"action"`
	Object string `json:"object"`
	// Was is its name before, where that changed.
	Was string `json:"was,omitempty"`
	// Reason is why the cluster's object is touched, where the repository's did not change.
	Reason    string   `json:"reason,omitempty"`
	File      string   `json:"file,omitempty"`
	Line      int      `json:"line,omitempty"`
	Fields    []Field  `json:"fields,omitempty"`
	Generated []Object `json:"generated,omitempty"`
	// Omitted is how many more fields differ.
	Omitted int `json:"omitted,omitempty"`

	id desired.ID
}

// Field is one field that differs.
type Field struct {
	// Path with names instead of positions in lists that have names: "spec.containers[name=app].image".
	Path string `json:"path"`
	// Before and After are values on one line; nil where there is none on that side. Those of a secret are a mark.
	Before *string `json:"before,omitempty"`
	After  *string `json:"after,omitempty"`
	// Lines is the difference of a text of several lines, instead of Before and After.
	Lines []Line `json:"lines,omitempty"`
	// Immutable says that the API server takes no change of this field.
	Immutable bool `json:"immutable,omitempty"`
}

// Line is one line of a text that differs.
type Line struct {
	// Op is "+", "-", " " for context, or "@" where equal lines are left out.
	Op   string `json:"op"`
	Text string `json:"text"`
}

// Reach is how far the change goes.
type Reach struct {
	Namespaces []string `json:"namespaces"`
	// ClusterScoped counts changed objects that live in no namespace.
	ClusterScoped int `json:"clusterScoped,omitempty"`
	// Hosts whose requests are concerned.
	Hosts []HostReach `json:"hosts"`
	// Proxies are the groups that get another configuration; AllProxies is set where no group is named.
	Proxies    []string `json:"proxies"`
	AllProxies bool     `json:"allProxies,omitempty"`
}

// HostReach is how far the change goes for one host.
type HostReach struct {
	Host string `json:"host"`
	// Routes that change, of All that the host has on either side.
	Routes int `json:"routes"`
	All    int `json:"all"`
	// Moved is the greatest share of the requests of one route, in percent, that something else answers now.
	Moved float64 `json:"moved"`
}
