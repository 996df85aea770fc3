// Package desired is the vocabulary that the stages share: what a commit declares (State, made of Objects, Routes and
// Schedules), where each part came from, and what a pass waits for. It holds values; it talks to nothing.
package desired
