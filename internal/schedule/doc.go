// Package schedule fires the schedules of a commit. Schedules go in (Runner.Set). Jobs come out, one for each instant; the
// ledger of the instants that were handled, which outlives them; and what each schedule shows of itself (Runner.Standing).
//
// An instant goes through the ledger before anything runs, so that a crash at any point leaves exactly one Job or one
// reported miss:
//
//  1. It is claimed: written into the ledger as handled.
//  2. Its Job is made, suspended: nothing runs yet. Its name says which instant it is, so making it twice makes one.
//  3. That it was made is written into the ledger. From here on it is never made again, whoever deletes it.
//  4. The Job is let go.
package schedule
