package xds

import (
	corev1 "k8s.io/api/core/v1"
)

// caCertificate is the key of a Secret that holds certificates to trust, by custom.
const caCertificate = "ca.crt"

func readSecret(obj any) (item[Secret], bool) {
	s, ok := obj.(*corev1.Secret)
	if !ok {
		return item[Secret]{}, false
	}
	return item[Secret]{name: s.Name, owner: s.Name, value: Secret{
		Certificate: s.Data[corev1.TLSCertKey],
		Key:         s.Data[corev1.TLSPrivateKeyKey],
		CA:          s.Data[caCertificate],
	}}, true
}
