package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// At runs a command at an instant (RFC 3339) or at the instants of a cron expression; each run is a Job.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ats,categories=tidelock
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=`.spec.schedule`
// +kubebuilder:printcolumn:name="Zone",type=string,JSONPath=`.spec.timeZone`
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.nextRun`
// +kubebuilder:printcolumn:name="Last",type=string,JSONPath=`.status.lastRun.instant`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="want at most 63 characters: Jobs are named after it"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 50 || self.spec.schedule.matches('^[0-9]{4}-')",message="want at most 50 characters where the schedule is a cron expression: Jobs are named after it and their minute"
type At struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   AtSpec   `json:"spec"`
	Status AtStatus `json:"status,omitempty"`
}

// AtSpec says what runs, and when.
//
// +kubebuilder:validation:XValidation:rule="!self.schedule.contains('TZ=')",message="name the zone in timeZone, not in the schedule"
type AtSpec struct {
	// Schedule is an RFC 3339 instant (2026-12-24T18:00:00+01:00) or a cron expression of five fields.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Schedule string `json:"schedule"`
	// TimeZone is the IANA name of the zone in which a cron expression is read; UTC if left out.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// Command replaces the image's entrypoint: a list, or a string that is split as a shell would split it.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Command Command `json:"command"`
	// Image to run; busybox if left out. It is pulled where the node lacks it; a template may say otherwise.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image,omitempty"`
	// Env of the container.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// Resources of the container.
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// ServiceAccountName of the pod; "default" if left out.
	// +kubebuilder:validation:MinLength=1
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// StartingDeadlineSeconds is how late a missed instant may still run, in seconds.
	// +kubebuilder:validation:Minimum=0
	StartingDeadlineSeconds *int64 `json:"startingDeadlineSeconds,omitempty"`
	// ConcurrencyPolicy says what happens while a run is still going on; Allow if left out.
	// +kubebuilder:validation:Enum=Allow;Forbid;Replace
	ConcurrencyPolicy string `json:"concurrencyPolicy,omitempty"`
	// Suspend stops further runs; instants that pass meanwhile are not made up for.
	Suspend bool `json:"suspend,omitempty"`
	// BackoffLimit is how often a failed pod is tried again; 6 if left out, as for a Job.
	// +kubebuilder:validation:Minimum=0
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// ActiveDeadlineSeconds ends a run that takes longer, in seconds.
	// +kubebuilder:validation:Minimum=1
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// TTLSecondsAfterFinished removes a finished run after so many seconds.
	// +kubebuilder:validation:Minimum=0
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// SuccessfulJobsHistoryLimit is how many finished runs are kept; 3 if left out.
	// +kubebuilder:validation:Minimum=0
	SuccessfulJobsHistoryLimit *int32 `json:"successfulJobsHistoryLimit,omitempty"`
	// FailedJobsHistoryLimit is how many failed runs are kept; 1 if left out.
	// +kubebuilder:validation:Minimum=0
	FailedJobsHistoryLimit *int32 `json:"failedJobsHistoryLimit,omitempty"`
	// Template is a patch of the pod's template, merged over what the fields above make; the container is named "run".
	// +kubebuilder:pruning:PreserveUnknownFields
	Template *runtime.RawExtension `json:"template,omitempty"`
}

// Phases of an At.
const (
	// AtPending: an instant lies ahead.
	AtPending = "PENDING"
	// AtRunning: a run is going on.
	AtRunning = "RUNNING"
	// AtDone: no instant lies ahead, and the last run ended well.
	AtDone = "DONE"
	// AtFailed: no instant lies ahead, and the last run failed or was missed.
	AtFailed = "FAILED"
)

// AtStatus is what the daemon reports of an At.
type AtStatus struct {
	Status `json:",inline"`
	// NextRun is the next instant, RFC 3339 in UTC; empty where none lies ahead.
	NextRun string `json:"nextRun,omitempty"`
	// Active is how many runs go on.
	Active int32 `json:"active,omitempty"`
	// LastRun is the run of the latest instant that ran.
	LastRun *AtRun `json:"lastRun,omitempty"`
	// LastMissed are the latest instants that did not run.
	LastMissed *AtMissed `json:"lastMissed,omitempty"`
}

// ConditionSucceeded is True where the latest instant ran and its run ended well, False where it did not.
const ConditionSucceeded = "Succeeded"

// AtRun is one run of an At. All times are RFC 3339 in UTC.
type AtRun struct {
	// Instant that it ran for.
	Instant string `json:"instant"`
	// Job that it is: kubectl logs job/<name>.
	Job string `json:"job"`
	// Outcome: Running, Succeeded, Failed, Deleted (before it ended) or Unknown (the Job went while the daemon was down).
	Outcome  string `json:"outcome"`
	Started  string `json:"started,omitempty"`
	Finished string `json:"finished,omitempty"`
	// ExitCode of the command, where it is known.
	ExitCode *int32 `json:"exitCode,omitempty"`
	// Reason of the Job for its failure.
	Reason string `json:"reason,omitempty"`
}

// AtMissed are instants that did not run, in a row.
type AtMissed struct {
	// From and Until are the first and the last of them.
	From  string `json:"from"`
	Until string `json:"until"`
	// Count is how many they are, up to 1000.
	Count  int32  `json:"count"`
	Reason string `json:"reason"`
}

// AtList is a list of Ats.
//
// +kubebuilder:object:root=true
type AtList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []At `json:"items"`
}
