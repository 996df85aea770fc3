package desired

import (
	batchv1 "k8s.io/api/batch/v1"
)

// Schedule runs a Job at an instant, or at the instants of a cron expression.
type Schedule struct {
	Key
	// Origin is where the At stands.
	Origin Origin
	// Schedule is RFC 3339 or five cron fields, as written; it has been parsed once without an error.
	Schedule string
	// TimeZone is an IANA name; empty means UTC.
	TimeZone string
	// Suspend, ConcurrencyPolicy, StartingDeadlineSeconds and the history limits are as in a CronJob.
	Suspend                    bool
	ConcurrencyPolicy          batchv1.ConcurrencyPolicy
	StartingDeadlineSeconds    *int64
	SuccessfulJobsHistoryLimit int32
	FailedJobsHistoryLimit     int32
	// Job is the template of each run.
	Job batchv1.JobTemplateSpec
}
