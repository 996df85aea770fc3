package render

import (
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"
)

// patchPod merges a patch over a pod template, as kubectl patch does: lists of named things are merged by name. container
// is the name of the template's own one.
func patchPod(pod corev1.PodTemplateSpec, patch []byte, container string) (_ corev1.PodTemplateSpec, err error) {
	// The library panics on some patches that are none.
	defer func() {
		if recover() != nil {
			err = errors.New("no patch of a pod template")
		}
	}()
	if _, err := kjson.UnmarshalStrict(patch, &corev1.PodTemplateSpec{}); err != nil {
		return pod, fmt.Errorf("no patch of a pod template: %w", err)
	}
	original, err := json.Marshal(pod)
	if err != nil {
		return pod, fmt.Errorf("encode the pod template: %w", err)
	}
	merged, err := strategicpatch.StrategicMergePatch(original, patch, corev1.PodTemplateSpec{})
	if err != nil {
		// Its error repeats the patch, which may hold a secret.
		return pod, fmt.Errorf("cannot be merged: name each container (its own one is %q), volume and variable", container)
	}
	var out corev1.PodTemplateSpec
	strict, err := kjson.UnmarshalStrict(merged, &out)
	if err != nil {
		return pod, err
	}
	if len(strict) > 0 {
		return pod, strict[0]
	}
	return out, nil
}
