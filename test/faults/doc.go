// Package faults lets everything around the daemon fail, one thing at a time: each write to the API server in each way, the
// daemon itself between any two of them, watches, the API server, the git server, the proxies. What goes in is a mixed
// commit and a fault; what must come out is what came of the same commit undisturbed, with no orphan, nothing lost and
// nothing of others touched. Its tests carry the build tag e2e and take a sample; with -every they take all.
package faults
