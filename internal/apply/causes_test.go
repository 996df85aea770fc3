package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatTheServerSaysIsToldFieldByFieldAndWithoutValues(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason, message string
		want            []string
	}{
		"a duplicate key": {
			"kubectl create takes it, so the reader must be told who does not",
			`failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): .spec.containers[name="c"].env: duplicate ` +
				`entries for key [name="A"]`,
			[]string{`spec.containers[name="c"].env: more than one entry has name="A": server-side apply takes each once`},
		},
		"several types that do not fit": {
			"each is a mistake of its own, and one may be a secret",
			"failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): errors:\n" +
				"  .spec.a: expected string, got &value.valueUnstructured{Value:4711}\n" +
				"  .spec.b: expected list, got &value.valueUnstructured{Value:map[string]interface {}{\"p\":\"hunter2\"}}",
			[]string{
				"spec.a: expected string, got something else: put it in quotes",
				"spec.b: expected list, got something else",
			},
		},
		"a dump of what differs": {
			"values of environment variables stand in it",
			"Forbidden: pod updates may not change fields other than `image`\n@@ -1,2 +1,2 @@\n-     \"Value\": \"hunter2\",\n",
			[]string{": Forbidden: pod updates may not change fields other than `image`"},
		},
		"an older dump": {
			"servers before 1.33 print Go values",
			"Forbidden: pod updates may not change fields other than `image`\n  core.PodSpec{\n- Value: \"hunter2\",\n",
			[]string{": Forbidden: pod updates may not change fields other than `image`"},
		},
		"an unknown field": {
			"the decoder names it in words alone", `strict decoding error: unknown field "spec.replica"`,
			[]string{`spec.replica: strict decoding error: unknown field "spec.replica"`},
		},
	}
	for name, tc := range tests {
		var got []string
		for _, cause := range causesOf(metav1.Status{Message: tc.message}) {
			got = append(got, cause.Field+": "+causeText(cause))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s: %s", name, tc.reason, diff)
		}
	}
}

func TestWhoRefusesASecretIsNamedAndNothingElseIsSaid(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`secrets "s" is forbidden: ValidatingAdmissionPolicy 'no.plain' with binding 'b' denied request: hunter2`: "ValidatingAdmissionPolicy 'no.plain'",
		`admission webhook "guard.example.com" denied the request: hunter2`:                                       `admission webhook "guard.example.com"`,
		`admission webhook "hunter2 x" denied the request`:                                                        "the API server",
		`data[hunter2]: Invalid value`:                                                                            "the API server",
	}
	for message, want := range tests {
		if got := refuserIn(message); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}
