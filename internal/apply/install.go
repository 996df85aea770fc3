package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// annotationVersion is the version of the Tidelock that installed a definition.
const annotationVersion = v1alpha1.Group + "/version"

// ErrForeignDefinition is returned by Install where one of our kinds is defined by somebody else: it is left as it is.
var ErrForeignDefinition = errors.New("the definition is not ours")

// Install installs or upgrades CustomResourceDefinitions from the YAML files of fsys, and waits until they are
// Established. One that somebody else installed, or a newer Tidelock, is left alone; one that is as it should be costs a
// read. version is that of the running program.
func (c *Cluster) Install(ctx context.Context, fsys fs.FS, version string) error {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return err
	}
	var errs []error
	var written []*unstructured.Unstructured
	for _, name := range names {
		u, err := c.installFile(ctx, fsys, name, version)
		if err != nil {
			errs = append(errs, fmt.Errorf("install %s: %w", name, err))
			continue
		}
		written = append(written, u)
	}
	// The API server takes its time for each, and takes it for all at once.
	for _, u := range written {
		errs = append(errs, c.established(ctx, u))
	}
	signal(c.installed)
	return errors.Join(errs...)
}

// installFile writes one definition, where it is not as it should be, and returns it as the API server has it.
func (c *Cluster) installFile(ctx context.Context, fsys fs.FS, name, version string) (*unstructured.Unstructured, error) {
	u, due, err := c.definition(ctx, fsys, name, version)
	if err != nil || !due {
		return u, err
	}
	return u, c.apply(ctx, u, manager, asForced)
}

// definition reads one definition, and reports whether Install would write it; where not, it is the one that is live.
func (c *Cluster) definition(ctx context.Context, fsys fs.FS, name, version string) (u *unstructured.Unstructured, due bool, err error) {
	text, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, false, err
	}
	u = &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &u.Object); err != nil {
		return nil, false, err
	}
	digest, err := digestOf(u)
	if err != nil {
		return nil, false, err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(u.GroupVersionKind())
	err = c.client.Get(ctx, client.ObjectKeyFromObject(u), live)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, false, err
	}
	if err == nil {
		switch {
		case live.GetLabels()[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy:
			return nil, false, fmt.Errorf("CustomResourceDefinition %s: %w", u.GetName(), ErrForeignDefinition)
		case live.GetAnnotations()[v1alpha1.AnnotationDigest] == digest, newer(live, version):
			return live, false, nil
		}
	}
	u.SetLabels(map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBy})
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationDigest] = digest
	annotations[annotationVersion] = version
	u.SetAnnotations(annotations)
	return u, true, nil
}

// newer says that a live definition comes from a later version than this. Versions that are no versions (of a build that
// was not released) are not compared.
func newer(live *unstructured.Unstructured, version string) bool {
	theirs, err := utilversion.ParseSemantic(live.GetAnnotations()[annotationVersion])
	if err != nil {
		return false
	}
	ours, err := utilversion.ParseSemantic(version)
	return err == nil && ours.LessThan(theirs)
}

// established waits until the API server serves the kind.
func (c *Cluster) established(ctx context.Context, u *unstructured.Unstructured) error {
	const every = 100 * time.Millisecond
	err := wait.PollUntilContextCancel(ctx, every, true, func(ctx context.Context) (bool, error) {
		if state, _ := health(u); state == status.CurrentStatus.String() {
			return true, nil
		}
		return false, c.client.Get(ctx, client.ObjectKeyFromObject(u), u)
	})
	if err != nil {
		return fmt.Errorf("wait for CustomResourceDefinition %s to be Established: %w", u.GetName(), err)
	}
	return nil
}
