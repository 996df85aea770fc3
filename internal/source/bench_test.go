package source_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tidelock/tidelock/internal/source"
)

// BenchmarkHead measures one push of a one-file change over HTTP until its tree is there, by the size of the repository,
// and what Head costs where nothing changed. git's own part is in it: compare the sizes, not the figures.
func BenchmarkHead(b *testing.B) {
	for _, files := range []int{1000, 10_000} {
		f := newFixture(b)
		for i := range files {
			f.write(fmt.Sprintf("apps/%03d/%05d.yaml", i%100, i), configMap("x", fmt.Sprint(i)))
		}
		f.push("a.yaml", configMap("a", "0"))
		remote := serveHTTP(b, f)
		for kind, repository := range map[string]string{"remote": remote.repo(), "local": f.origin} {
			s := open(b, source.Config{Repository: repository, Interval: always})
			if _, _, err := s.Head(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("change/%s/%d", kind, files), func(b *testing.B) {
				b.ReportAllocs()
				remote.asked()
				n := 0
				for b.Loop() {
					b.StopTimer()
					head := f.push("apps/000/00000.yaml", configMap("x", fmt.Sprint(time.Now().UnixNano())))
					n++
					b.StartTimer()
					wantHead(b, s, head, nil)
				}
				_, bytes := remote.asked()
				b.ReportMetric(float64(bytes)/float64(n), "gitbytes/op")
			})
			b.Run(fmt.Sprintf("keep/%s/%d", kind, files), func(b *testing.B) {
				rev, _, err := s.Head(b.Context())
				if err := errors.Join(err, s.Keep(b.Context(), rev.Commit)); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					b.StopTimer()
					head := f.push("apps/000/00000.yaml", configMap("x", fmt.Sprint(time.Now().UnixNano())))
					wantHead(b, s, head, nil)
					b.StartTimer()
					if err := s.Keep(b.Context(), head); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("same/%s/%d", kind, files), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := s.Head(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkHeadOfAFolder measures a look at a folder of which one file changed.
func BenchmarkHeadOfAFolder(b *testing.B) {
	for _, files := range []int{1000, 10_000} {
		dir := b.TempDir()
		for i := range files {
			writeFile(b, fmt.Sprintf("%s/apps/%03d/%05d.yaml", dir, i%100, i), configMap("x", fmt.Sprint(i)))
		}
		s := open(b, source.Config{Repository: dir})
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				writeFile(b, dir+"/a.yaml", fmt.Sprint(i))
				if _, _, err := s.Head(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
