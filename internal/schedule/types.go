package schedule

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/tidelock/tidelock/internal/desired"
)

// Outcome is how a run stands.
type Outcome string

// The outcomes of a run.
const (
	Running   Outcome = "Running"
	Succeeded Outcome = "Succeeded"
	Failed    Outcome = "Failed"
	// Deleted: the Job was deleted before it ended.
	Deleted Outcome = "Deleted"
	// Unknown: the Job went while nobody looked, and how it ended is not known.
	Unknown Outcome = "Unknown"
)

// Run is one run of a schedule.
type Run struct {
	// At is the instant that it ran for; Job is its Job's name and UID that Job's identity.
	At  time.Time `json:"at"`
	Job string    `json:"job"`
	UID string    `json:"uid"`

	Outcome  Outcome   `json:"outcome"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// Reason is the Job's own for its failure.
	Reason string `json:"reason,omitempty"`
	// ExitCode of the command; nil where it is not known.
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// Missed are instants that did not run, and why.
type Missed struct {
	// From and Until are the first and the last of them, Count how many they are, up to mostCounted.
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"`
	Count  int       `json:"count"`
	Reason string    `json:"reason"`
	// Told is set once the event about them is written.
	Told bool `json:"told,omitempty"`
}

// Standing is what a schedule shows of itself. It is shared and must not be changed.
type Standing struct {
	// Next instant; zero where none lies ahead, or where the schedule is suspended.
	Next time.Time
	// Ahead is set where an instant lies ahead, suspended or not.
	Ahead bool
	// Active is how many runs go on, those that are about to among them.
	Active int
	// Last run and last miss; nil where there was none.
	Last   *Run
	Missed *Missed
	// Suspended schedules do not fire.
	Suspended bool
	// Waiting is why an instant that has come does not run yet.
	Waiting string
}

// Upcoming is an instant that lies ahead.
type Upcoming struct {
	desired.Key
	At time.Time
}

// Tally counts what a Runner did since it was made.
type Tally struct {
	// Started are runs that were let go; those that ended are counted by how, also where an earlier life had let them go.
	Started, Succeeded, Failed, Deleted uint64
	// Missed are instants that did not run, once they are reported.
	Missed uint64
}

// Job is a Job as far as schedules care.
type Job struct {
	desired.Key
	UID, Version string
	// Schedule and Instant that it runs for; zero where it is none of the instance's runs.
	Schedule desired.Key
	Instant  time.Time
	// Pending is set until it is let go.
	Pending bool
	// Outcome is Running, Succeeded or Failed; Reason is why it failed.
	Outcome           Outcome
	Started, Finished time.Time
	Reason            string
}

// Seen is what a watch has seen: all runs that there are, or some that changed and some that are gone.
type Seen struct {
	All  bool
	Jobs []Job
	Gone []Job
}

// Page is one part of the ledger, as it is stored. Version is empty for one that is not there yet.
type Page struct {
	Number  int
	Version string
	Data    []byte
}

// Event is what a schedule's At is told of, for kubectl describe.
type Event struct {
	At      desired.Key
	Reason  string
	Warning bool
	Note    string
}

// Reasons of events.
const (
	ReasonFired  = "Fired"
	ReasonMissed = "Missed"
	ReasonFailed = "Failed"
)

// What a Jobs or a Ledger may say.
var (
	// ErrNoAt: the At is not there, or its Namespace. It may come.
	ErrNoAt = errors.New("the At is not in the cluster")
	// ErrRefused: the API server refuses the Job for what it says, and will go on to.
	ErrRefused = errors.New("the API server refuses the Job")
	// ErrGone: the Job is not there any more, or another one of its name is.
	ErrGone = errors.New("the Job is gone")
	// ErrConflict: the page was written since, by somebody else or by a request whose answer was lost.
	ErrConflict = errors.New("the ledger was written by another")
)

// Jobs makes and ends runs.
type Jobs interface {
	// Create makes a Job that the At owns. Where one of that name is there, that one comes back.
	Create(ctx context.Context, at desired.Key, job *batchv1.Job) (Job, error)
	// Resume lets a Job go and returns it as it is now; ErrGone where it is not that one any more.
	Resume(ctx context.Context, job Job) (Job, error)
	// Delete removes exactly that Job, and only as it was seen where it is pending; one that is gone is fine.
	Delete(ctx context.Context, job Job) error
}

// Sight looks at runs.
type Sight interface {
	// Watch tells of the instance's runs until ctx is done, at first of all.
	Watch(ctx context.Context, see func(Seen)) error
	// ExitCode returns that of a finished run's command; nil where it is not known.
	ExitCode(ctx context.Context, job Job) (*int32, error)
}

// Ledger keeps pages.
type Ledger interface {
	Load(ctx context.Context) ([]Page, error)
	// Save writes a page whose version must still be the one that is stored, else ErrConflict; it returns the new version.
	Save(ctx context.Context, page Page) (version string, err error)
}

// Events tells people.
type Events interface {
	Event(ctx context.Context, e Event) error
}
