package reconcile

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tidelock/tidelock/api/v1alpha1"
	"github.com/tidelock/tidelock/internal/apply"
	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/mock"
	"github.com/tidelock/tidelock/internal/xds"
)

// commit is a revision, what it declares, and the same ready to be compared with the cluster.
type commit struct {
	rev      desired.Revision
	state    desired.State
	declared apply.Declared
	// mocks are its documents, where this process answers them; groups are the proxy groups that its routes name.
	mocks  map[desired.Key]mock.LocalMock
	groups []string
	// kinds counts its objects.
	kinds map[string]int
	// steps are which step of each split is in force: since asOf, and until the next one begins (zero for never).
	steps       string
	asOf, until time.Time
}

// known reports whether there is one.
func (c commit) known() bool { return c.rev.Commit != "" }

// is reports whether both are the same commit.
func (c commit) is(o commit) bool { return c.rev.Commit == o.rev.Commit }

// refusal is a commit that was not taken, and why.
type refusal struct {
	rev desired.Revision
	err error
	// again is when it is looked at again although it is the same commit; zero for never: its content is wrong.
	again time.Time
}

// standing is where a pass left the instance. The next pass gets it and returns its own; nothing else remembers.
type standing struct {
	// waitsLogged is set while the log's last word is that something is waited for.
	waitsLogged bool
	// unserved are proxies of an earlier daemon that this process does not serve.
	unserved []string
	// before is what an earlier life of the daemon reported; its proxies are shown as missing until absent.
	before v1alpha1.SyncStatus
	absent time.Time
	// lost is why the commit that was accepted before cannot be had; nil where it can.
	lost error
	// spec is what users had set on the Sync when the pass began, in its generation.
	spec       v1alpha1.SyncSpec
	generation int64
	// accepted is the commit that cluster and proxies are kept at.
	accepted commit
	// refused is the newest commit, where it was refused; unknown is why there is no newest commit to be had; unchecked is
	// why it was neither accepted nor refused.
	refused   *refusal
	unknown   error
	unchecked error
	// trouble is what kept the pass from acting, without a word against the commit.
	trouble error
	// thought is what the last pass wanted, kept so that a pass over the same content costs nothing; checking is what it
	// found out about the unchecked commit.
	thought  thought
	checking thought
	// asked is what the view of endpoints was asked for.
	asked asked
	// live are, by proxy group, the routes that its proxies may still serve; full is the commit that they serve in full.
	live map[string][]desired.Route
	full map[string]string
	// published is how far each group is.
	published map[string]xds.Progress
	// mocks are the documents that this process answers.
	mocks map[desired.Key]mock.LocalMock
	// writing and pruning are what failed of the last attempt at each.
	writing, pruning attempt
	// result is what the last pass did. released are the objects that the accepted commit left behind, done is what was done
	// for it, drift what was put back.
	result   apply.Result
	released []desired.ID
	done     tally
	drift    *v1alpha1.Drift
	// remarks are what the API server remarked on what the accepted commit changed, since this process accepted it.
	remarks []desired.Problem
	// waits are what the instance waits for, and since when each has been waited for, in this life of the daemon and in all.
	waits []desired.Wait
	since map[desired.Wait]time.Time
	shown map[desired.Wait]time.Time
	// again is how many passes in a row changed what they had looked at, so that the next one comes at once.
	again int
	// failures counts the passes in a row that ended in trouble, and retry is when the next one is due.
	failures int
	retry    time.Time
	// told is what was reported last, untold counts the reports in a row that failed.
	told   told
	untold int
	// more is set where there is more to report.
	more bool
}

// key is what a thought was thought from; equal keys give equal thoughts.
type key struct {
	commit string
	steps  string
	view   uint64
	world  uint64
	groups string
	mocks  string
}

// thought is all that a pass found out before its first write.
type thought struct {
	commit commit
	// key is zero where the next pass must think afresh.
	key       key
	snapshots []xds.Snapshot
	view      apply.View
	plan      apply.Plan
	// waits keep a commit from being accepted in this pass, without a word against it: the API server did not answer.
	waits []desired.Wait
}

// attempt is a set of changes of which some failed.
type attempt struct {
	// digest names those that are left; empty where none failed.
	digest string
	left   apply.Result
	// tries counts how often they failed, and again is when they are made again.
	tries int
	again time.Time
}

// rests reports whether the changes are those that failed, and their time has not come: news of something else is no reason
// to try again.
func (a attempt) rests(digest func() string, at time.Time) bool {
	return a.digest != "" && at.Before(a.again) && a.digest == digest()
}

// next is the attempt after a, of which left did not succeed.
func (a attempt) next(digest string, left apply.Result, at time.Time) attempt {
	kept := apply.Result{Failed: left.Failed, Waits: slices.Clone(left.Waits), Kept: left.Kept}
	n := attempt{digest: digest, left: kept, tries: 1}
	if a.digest == digest {
		n.tries = a.tries + 1
	}
	n.again = at.Add(backOff(n.tries))
	return n
}

// outcome is what one pass found and did.
type outcome struct {
	newest head
	look   look
	want   thought
	// acted is set once the pass went below the line; err is what went wrong there, or kept it from it.
	acted            bool
	err              error
	result           apply.Result
	writing, pruning attempt
	published        map[string]xds.Progress
	// reverted are the routes that a group serves which went back to what it acknowledged.
	reverted map[string][]desired.Route
	mocks    map[desired.Key]mock.LocalMock
}

// head is the newest commit, or the accepted one and why there is no newer.
type head struct {
	spec       v1alpha1.SyncSpec
	generation int64

	commit commit
	// fresh is set where it is not the accepted one.
	fresh     bool
	refused   *refusal
	unknown   error
	unchecked error
	// checking is what was found out about an unchecked commit.
	checking thought
}

// told is what was reported last: on the Sync, and on each resource of ours with the UID that it had.
type told struct {
	sync    *v1alpha1.SyncStatus
	objects map[desired.ID]toldOf
	// from is what objects were made from; zero where they must be made again.
	from toldFrom
}

type toldOf struct {
	uid    string
	status apply.ObjectStatus
}

type toldFrom struct {
	key key
	// until is when the next step begins.
	until time.Time
	// runs changes when a schedule's standing does.
	runs     uint64
	failures string
	refusals string
}

// but returns what it is with other runs.
func (f toldFrom) but(runs uint64) toldFrom {
	f.runs = runs
	return f
}

// condition returns one of the conditions of a status; the time of its last transition is set where it is written.
func condition(kind string, yes bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if yes {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message}
}
