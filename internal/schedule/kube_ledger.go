package schedule

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// keyRecords is where a page is in its ConfigMap, as JSON that people can read.
const keyRecords = "records.json"

// ledgerName is the name of a page's ConfigMap. An instance's name has no dot, so no two instances share one.
func (k *Kube) ledgerName(page int) string {
	return v1alpha1.ManagedBy + "-" + k.instance + ".ledger-" + strconv.Itoa(page)
}

// Load returns all pages.
func (k *Kube) Load(ctx context.Context) ([]Page, error) {
	var list corev1.ConfigMapList
	err := k.client.List(ctx, &list, client.InNamespace(k.namespace), client.MatchingLabels{v1alpha1.LabelLedger: k.instance})
	if err != nil {
		return nil, fmt.Errorf("list the ledger in namespace %s: %w", k.namespace, err)
	}
	pages := make([]Page, 0, len(list.Items))
	for i := range list.Items {
		cm := &list.Items[i]
		number, err := strconv.Atoi(strings.TrimPrefix(cm.Name, strings.TrimSuffix(k.ledgerName(0), "0")))
		if err != nil {
			return nil, fmt.Errorf("ConfigMap %s/%s carries the label %s and is no page of the ledger", cm.Namespace, cm.Name,
				v1alpha1.LabelLedger)
		}
		pages = append(pages, Page{Number: number, Version: cm.ResourceVersion, Data: []byte(cm.Data[keyRecords])})
	}
	return pages, nil
}

// Save writes a page whose version must still be the one that is stored, else ErrConflict.
func (k *Kube) Save(ctx context.Context, p Page) (string, error) {
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: k.namespace, Name: k.ledgerName(p.Number), ResourceVersion: p.Version,
			Labels: map[string]string{v1alpha1.LabelLedger: k.instance, v1alpha1.LabelManagedBy: v1alpha1.ManagedBy},
		},
		Data: map[string]string{keyRecords: string(p.Data)},
	}
	var err error
	if p.Version == "" {
		err = k.client.Create(ctx, cm, manager)
	} else {
		err = k.client.Update(ctx, cm, manager)
	}
	switch {
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), p.Version != "" && apierrors.IsNotFound(err):
		return "", ErrConflict
	case err != nil:
		return "", fmt.Errorf("write ConfigMap %s/%s: %w", cm.Namespace, cm.Name, err)
	}
	return cm.ResourceVersion, nil
}
