//go:build e2e

package faults

import (
	"encoding/json"
	"net/http"
	"testing"
)

// watches are the requests that open a watch, reads all those that look.
func watches(req *http.Request) bool {
	w := req.URL.Query().Get("watch")
	return w == "true" || w == "1"
}

func lists(req *http.Request) bool {
	return req.Method == http.MethodGet && !watches(req) && req.URL.Query().Has("labelSelector")
}

// expired opens a watch, and says in it that the resource version is too old.
func expired(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	event, err := json.Marshal(map[string]any{"type": "ERROR", "object": map[string]any{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusGone, "reason": "Expired",
		"message": "too old resource version",
	}})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(event)
}

// empty opens a watch and closes it at once.
func empty(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
}

// Watches end, and neither they nor lists are had again for a while, in each way; meanwhile objects drift and a commit comes.
func TestWatchesMayFail(t *testing.T) {
	t.Parallel()
	x := newTrial(t)
	ways := []struct {
		name  string
		sort  func(*http.Request) bool
		fault fault
		times int // how many in a row fail
	}{
		{"watches end", watches, empty, 0},
		{"watches are refused with 410", watches, refuse(http.StatusGone, "Expired"), 40},
		{"watches say that they are expired", watches, expired, 40},
		{"watches are cut", watches, cut, 20},
		{"watches are refused with 500", watches, refuse(http.StatusInternalServerError, "InternalError"), 20},
		{"watches are refused with 429", watches, busy, 20},
		{"lists are refused with 410", lists, refuse(http.StatusGone, "Expired"), 5},
		{"lists are refused with 503", lists, refuse(http.StatusServiceUnavailable, "ServiceUnavailable"), 5},
		{"half a list is answered", lists, half, 5},
	}
	for n, way := range ways {
		t.Log(way.name)
		x.proxy.armTimes(way.sort, way.times, way.fault)
		x.proxy.endWatches()
		x.drift(t)
		commit := x.push(t, x.texts(n+1))
		x.drift(t)
		x.check(t, n%2, commit)
		x.proxy.disarm()
	}
	t.Logf("%d ways, all converged", len(ways))
}
