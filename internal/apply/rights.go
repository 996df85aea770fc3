package apply

import (
	"errors"
	"fmt"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// MissingRight says which rule of a Role or ClusterRole a refused request lacks, as it stands in YAML; "" where err is no such
// refusal. The API server's authorizers say it in words alone.
func MissingRight(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return ""
	}
	m := regexp.MustCompile(`User "([^"]*)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`).
		FindStringSubmatch(status.Status().Message)
	if m == nil {
		return ""
	}
	user, verb, resource, group, namespace := m[1], m[2], m[3], m[4], m[5]
	where := "in a ClusterRole"
	if namespace != "" {
		where = "in namespace " + namespace
	}
	return fmt.Sprintf("{apiGroups: [%q], resources: [%s], verbs: [%s]} for %s %s", group, resource, verb, user, where)
}
