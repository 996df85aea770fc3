package reconcile

import (
	"time"

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
}

// known reports whether there is one.
func (c commit) known() bool { return c.rev.Commit != "" }

// refusal is a commit that was not taken, and why.
type refusal struct {
	rev desired.Revision
	err error
	// again is when it is looked at again although it is the same commit; zero for never: its content is wrong.
	again time.Time
}

// standing is where a pass left the instance. The next pass gets it and returns its own; nothing else remembers.
type standing struct {
	// before is what an earlier life of the daemon reported.
	before v1alpha1.SyncStatus
	// accepted is the commit that cluster and proxies are kept at.
	accepted commit
	// refused is the newest commit, where it was refused; unknown is why there is no newest commit to be had.
	refused *refusal
	unknown error
	// trouble is what kept the pass from acting, without a word against the commit.
	trouble error
	// thought is what the last pass wanted, kept so that a pass over the same content costs nothing.
	thought thought
	// live are, by proxy group, the routes that its proxies may still serve; full is the commit that they serve in full.
	live map[string][]desired.Route
	full map[string]string
	// published is how far each group is.
	published map[string]xds.Progress
	// mocks are the documents that this process answers.
	mocks map[desired.Key]mock.LocalMock
	// result is what the last pass did, last what the last one did that wrote anything.
	result apply.Result
	last   apply.Result
	// waits are what the instance waits for, and since when each has been waited for.
	waits []desired.Wait
	since map[desired.Wait]time.Time
	// again is set where the last pass changed what it had looked at, so that the next one comes at once.
	again bool
	// failures counts the passes in a row that ended in trouble; it sets how long the next one backs off.
	failures int
}

// key is what a thought was thought from; equal keys give equal thoughts.
type key struct {
	commit string
	view   uint64
	world  uint64
	groups string
	mocks  string
}

// thought is all that a pass found out before its first write.
type thought struct {
	commit    commit
	key       key
	snapshots []xds.Snapshot
	view      apply.View
	plan      apply.Plan
	// waits keep a commit from being accepted in this pass, without a word against it: the API server did not answer.
	waits []desired.Wait
}

// outcome is what one pass found and did.
type outcome struct {
	newest head
	want   thought
	// acted is set once the pass went below the line; err is what went wrong there, or kept it from it.
	acted     bool
	err       error
	result    apply.Result
	published map[string]xds.Progress
	mocks     map[desired.Key]mock.LocalMock
}

// head is the newest commit, or the accepted one and why there is no newer.
type head struct {
	commit commit
	// fresh is set where it is not the accepted one.
	fresh   bool
	refused *refusal
	unknown error
}
