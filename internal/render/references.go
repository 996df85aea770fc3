package render

// ourReferences tells kustomize where the kinds of ours name other objects, images and replicas, so that a reference
// follows an object whose name gets a prefix, a suffix or a hash. It is merged with kustomize's own list.
const ourReferences = `
nameReference:
- kind: ConfigMap
  version: v1
  fieldSpecs:
  - {group: tidelock.dev, kind: APIMock, path: spec/definitionFrom/configMapKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/env/valueFrom/configMapKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/volumes/configMap/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/volumes/projected/sources/configMap/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/containers/env/valueFrom/configMapKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/containers/envFrom/configMapRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/initContainers/env/valueFrom/configMapKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/initContainers/envFrom/configMapRef/name}
- kind: Secret
  version: v1
  fieldSpecs:
  - {group: tidelock.dev, kind: ProxyRoute, path: spec/listener/tls/secretName}
  - {group: tidelock.dev, kind: ProxyRoute, path: spec/rules/backend/tls/caSecretName}
  - {group: tidelock.dev, kind: At, path: spec/env/valueFrom/secretKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/volumes/secret/secretName}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/volumes/projected/sources/secret/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/containers/env/valueFrom/secretKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/containers/envFrom/secretRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/initContainers/env/valueFrom/secretKeyRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/initContainers/envFrom/secretRef/name}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/imagePullSecrets/name}
- kind: ServiceAccount
  version: v1
  fieldSpecs:
  - {group: tidelock.dev, kind: At, path: spec/serviceAccountName}
  - {group: tidelock.dev, kind: At, path: spec/template/spec/serviceAccountName}
- kind: Service
  version: v1
  fieldSpecs:
  - {group: tidelock.dev, kind: ProxyRoute, path: spec/rules/backend/service}
  - {group: tidelock.dev, kind: TrafficSplit, path: spec/targets/service}
  - {group: tidelock.dev, kind: TrafficSplit, path: spec/mirror/service}
- kind: APIMock
  group: tidelock.dev
  fieldSpecs:
  - {group: tidelock.dev, kind: ProxyRoute, path: spec/rules/backend/mock}
  - {group: tidelock.dev, kind: TrafficSplit, path: spec/targets/mock}
  - {group: tidelock.dev, kind: TrafficSplit, path: spec/mirror/mock}
- kind: TrafficSplit
  group: tidelock.dev
  fieldSpecs:
  - {group: tidelock.dev, kind: ProxyRoute, path: spec/rules/backend/split}
images:
- {group: tidelock.dev, kind: At, path: spec/image}
- {group: tidelock.dev, kind: APIMock, path: spec/image}
replicas:
- {group: tidelock.dev, kind: APIMock, path: spec/replicas, create: true}
`
