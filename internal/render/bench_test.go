package render

import (
	"fmt"
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/tidelock/tidelock/internal/desired"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-%d\n  namespace: shop\ndata:\n  v: %q\n"

// plainRepository holds n ConfigMaps, a hundred to a folder.
func plainRepository(n int) fstest.MapFS {
	repo := fstest.MapFS{}
	for i := range n {
		repo[fmt.Sprintf("d%03d/cm-%d.yaml", i/100, i)] = configMapFile(i, "1")
	}
	return repo
}

// configMapFile is a file whose hash is known without reading it, as in a git tree.
func configMapFile(i int, v string) *fstest.MapFile {
	data := fmt.Appendf(nil, configMap, i, v)
	return &fstest.MapFile{Data: data, Mode: 0o644, Sys: "hash-" + strconv.Itoa(i) + "-" + v}
}

func BenchmarkPlainCold(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			repo := plainRepository(n)
			b.ReportAllocs()
			for b.Loop() {
				render(b, repo, nil)
			}
		})
	}
}

func BenchmarkPlainOneChanged(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			repo, cache := plainRepository(n), NewCache()
			render(b, repo, cache)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				repo["d000/cm-7.yaml"] = configMapFile(7, strconv.Itoa(i))
				render(b, repo, cache)
			}
		})
	}
}

// BenchmarkUnits builds n kustomizations of ten objects each.
func BenchmarkUnits(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			repo := kustomizations(n)
			for b.Loop() {
				render(b, repo, nil)
			}
		})
	}
}

func BenchmarkUnitsOneChanged(b *testing.B) {
	repo, cache := kustomizations(100), NewCache()
	render(b, repo, cache)
	for i := 0; b.Loop(); i++ {
		repo["u007/cm-0.yaml"] = configMapFile(0, strconv.Itoa(i))
		render(b, repo, cache)
	}
}

func kustomizations(n int) fstest.MapFS {
	const each = 10
	repo := fstest.MapFS{}
	for u := range n {
		list := fmt.Sprintf("namespace: ns-%d\nresources:\n", u)
		for i := range each {
			repo[fmt.Sprintf("u%03d/cm-%d.yaml", u, i)] = configMapFile(i, "1")
			list += fmt.Sprintf("- cm-%d.yaml\n", i)
		}
		repo[fmt.Sprintf("u%03d/kustomization.yaml", u)] = &fstest.MapFile{
			Data: []byte(list), Mode: 0o644, Sys: "kustomization-" + strconv.Itoa(u),
		}
	}
	return repo
}

func render(tb testing.TB, repo fstest.MapFS, cache *Cache) desired.State {
	tb.Helper()
	s, err := Render(tb.Context(), desired.Revision{}, repo, Options{Cache: cache})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
