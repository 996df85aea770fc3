package mock

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/tidelock/tidelock/internal/desired"
	"github.com/tidelock/tidelock/internal/openapi"
)

func packed(t *testing.T, file string) []byte {
	t.Helper()
	return openapi.Pack(bundle(t, file))
}

func fetch(t *testing.T, at netip.AddrPort, path string) string {
	t.Helper()
	body, err := tryFetch(t.Context(), at, path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func tryFetch(ctx context.Context, at netip.AddrPort, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at.String()+path, http.NoBody)
	if err != nil {
		return "", err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// running runs f until the test ends.
func running(t *testing.T, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestLocalMocksKeepTheirPortWhileTheirDocumentChanges(t *testing.T) {
	shop, pets := desired.Key{Namespace: "a", Name: "shop"}, desired.Key{Namespace: "a", Name: "pets"}
	v1, v4 := packed(t, "testdata/bad-update-keeps-last-good/v1.yaml"), packed(t, "testdata/bad-update-keeps-last-good/v4.yaml")
	l := NewLocal(LocalConfig{})
	set := func(mocks map[desired.Key]LocalMock) {
		t.Helper()
		if err := l.Set(t.Context(), mocks); err != nil {
			t.Fatal(err)
		}
	}
	set(map[desired.Key]LocalMock{shop: {Packed: v1, Replicas: 1}, pets: {Packed: v4, Replicas: 0}})
	running(t, l.Run) // what was set before is served

	first := l.Addresses()
	if _, ok := first[pets]; ok || len(first) != 1 {
		t.Fatalf("a mock of 0 replicas is off, one of 1 is on: %v", first)
	}
	if got := fetch(t, first[shop], "/pet"); got != `{"id":1,"v":"one"}` {
		t.Error(got)
	}
	set(map[desired.Key]LocalMock{shop: {Packed: v4, Replicas: 1}, pets: {Packed: v1, Replicas: 2}})
	second := l.Addresses()
	if second[shop] != first[shop] {
		t.Errorf("the port moved from %v to %v", first[shop], second[shop])
	}
	if got := fetch(t, second[shop], "/pet"); got != `{"id":4,"v":"four"}` {
		t.Error(got)
	}
	if got := fetch(t, second[pets], "/pet"); got != `{"id":1,"v":"one"}` {
		t.Error(got)
	}

	set(nil)
	if len(l.Addresses()) != 0 {
		t.Error("a mock that is gone has an address")
	}
	for { // it closes once Run has seen it
		if _, err := tryFetch(t.Context(), second[shop], "/pet"); err != nil {
			break
		}
	}
}

func TestABrokenLocalMockIsNamedAndStopsNoOther(t *testing.T) {
	shop, pets := desired.Key{Namespace: "a", Name: "shop"}, desired.Key{Namespace: "a", Name: "pets"}
	v1 := packed(t, "testdata/bad-update-keeps-last-good/v1.yaml")
	l := NewLocal(LocalConfig{})
	running(t, l.Run)
	if err := l.Set(t.Context(), map[desired.Key]LocalMock{shop: {Packed: v1, Replicas: 1}}); err != nil {
		t.Fatal(err)
	}
	before := l.Addresses()
	broken := map[desired.Key]LocalMock{shop: {Packed: []byte("no gzip"), Replicas: 1}, pets: {Packed: v1, Replicas: 1}}
	for range 2 { // it is said in each pass
		err := l.Set(t.Context(), broken)
		if err == nil || !strings.Contains(err.Error(), "mock a/shop: ") || strings.Contains(err.Error(), "pets") {
			t.Errorf("error is %v", err)
		}
	}
	after := l.Addresses()
	if got := fetch(t, after[shop], "/pet"); after[shop] != before[shop] || got != `{"id":1,"v":"one"}` {
		t.Errorf("the former document does not go on: %s", got)
	}
	if got := fetch(t, after[pets], "/pet"); got != `{"id":1,"v":"one"}` {
		t.Error(got)
	}
}

func TestUnchangedLocalMocksAreNoWork(t *testing.T) {
	v1 := packed(t, "testdata/bad-update-keeps-last-good/v1.yaml")
	l := NewLocal(LocalConfig{})
	running(t, l.Run)
	mocks := map[desired.Key]LocalMock{}
	for _, name := range []string{"a", "b", "c"} {
		mocks[desired.Key{Namespace: "n", Name: name}] = LocalMock{Packed: v1, Replicas: 1}
	}
	set := func() {
		if err := l.Set(t.Context(), mocks); err != nil {
			t.Fatal(err)
		}
	}
	set()
	before := maps.Clone(l.mocks)
	const sorting = 8 // slices of keys
	if n := testing.AllocsPerRun(10, set); n > sorting {
		t.Errorf("%v allocations", n)
	}
	if !maps.Equal(before, l.mocks) {
		t.Error("mocks were made anew")
	}
}
