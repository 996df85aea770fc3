package cli

import (
	"os"
	"runtime"
	"runtime/debug"
)

// lendHeap lets the heap grow by some megabytes between two collections. What lives on in a mock is the document and the
// program, and to mark that for each few megabytes of short-lived requests costs more than to answer them. A large document
// has that much room by the runtime's own rule, and GOGC of the environment is left alone.
func lendHeap() {
	const room, usual, full = 64 << 20, 100, 100
	if os.Getenv("GOGC") != "" {
		return
	}
	runtime.GC() // what loading left behind does not live on
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	debug.SetGCPercent(max(usual, int(room*full/max(m.HeapAlloc, 1)))) //nolint:gosec // some megabytes
}
