package render

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tidelock/tidelock/internal/desired"
)

// The example that people copy from renders to what its golden says, for each environment, so that it cannot rot.
func TestTheExampleRendersAsItsGoldensSay(t *testing.T) {
	t.Parallel()
	for _, environment := range []string{"staging", "production"} {
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			opts := Options{Path: "overlays/" + environment}
			state, err := Render(t.Context(), desired.Revision{}, os.DirFS(filepath.Join("..", "..", "examples", "repo")), opts)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "example", environment+".txtar")
			a, err := txtar.ParseFile(file)
			if err != nil && !*update {
				t.Fatal(err)
			}
			if a == nil {
				a = &txtar.Archive{Comment: []byte("What examples/repo declares for " + environment + ".\n\n")}
			}
			compare(t, file, a, txtar.File{Name: "state.yaml", Data: dump(t, state)})
		})
	}
}
