package apply

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/tidelock/tidelock/test/env"
)

func TestARefusedRequestNamesTheMissingRule(t *testing.T) {
	t.Parallel()
	refused := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New(text))
	}
	for _, tc := range []struct {
		reason string
		err    error
		want   string
	}{
		{
			"in a namespace, wrapped",
			fmt.Errorf("read: %w", refused(`User "system:serviceaccount:shop:tidelock" cannot list resource "configmaps" in API group "" in the namespace "shop"`)),
			`{apiGroups: [""], resources: [configmaps], verbs: [list]} for system:serviceaccount:shop:tidelock in namespace shop`,
		},
		{
			"in the cluster", refused(`User "ann" cannot patch resource "deployments/status" in API group "apps" at the cluster scope`),
			`{apiGroups: ["apps"], resources: [deployments/status], verbs: [patch]} for ann in a ClusterRole`,
		},
		{"an admission plugin's refusal is no lack of a right", refused("exceeded quota: pods"), ""},
		{"another error", errors.New(`User "ann" cannot list resource "x" in API group ""`), ""},
	} {
		if got := MissingRight(tc.err); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// The words are those of the real API server, for an account that may do nothing.
func TestTheAPIServersOwnRefusalIsUnderstood(t *testing.T) {
	t.Parallel()
	plane := env.Cluster(t)
	cfg, namespace := rest.CopyConfig(plane.Config()), plane.Namespace(t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	c, err := New(Config{REST: cfg, Owner: "weak", Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{apiGroups: [""], resources: [configmaps], verbs: [list]} for nobody in namespace %s`, namespace)
	if got := MissingRight(c.Open(t.Context())); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
