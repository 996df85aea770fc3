//go:build e2e

package faults

import (
	"strconv"
	"strings"
)

// mixed returns two commits. Going from one to the other creates, changes and prunes, either way: namespaces, a definition
// with an instance, RBAC, config, workloads, a Job that is made anew, mocks, splits, routes and schedules.
func mixed(name string) (one, two string) {
	fill := func(text string, values ...string) string {
		return strings.NewReplacer(append([]string{"NAME", name}, values...)...).Replace(text)
	}
	drifting := ""
	for n := range drifts {
		drifting += fill(driftingN, "NUMBER", strconv.Itoa(n))
	}
	return drifting + fill(always, "VALUE", "one", "VERB", "get", "W1", "90", "W2", "10", "TARGET", "v1", "HOUR", "2") + fill(onlyOne),
		drifting + fill(always, "VALUE", "two", "VERB", "list", "W1", "50", "W2", "50", "TARGET", "v3", "HOUR", "3") + fill(onlyTwo)
}

// drifts is how many objects the commits hold that a test may delete: one that is deleted again and again is contested.
const drifts = 8

const driftingN = `
apiVersion: v1
kind: ConfigMap
metadata: {name: drifting-NUMBER, namespace: NAME}
data: {v: always}
---
`

// migration is the name of the Job in both commits.
const migration = "migrate"

// instant is a schedule that fires at once, and never again.
const instant = `---
apiVersion: tidelock.dev/v1alpha1
kind: At
metadata: {name: instant-%[2]d, namespace: %[1]s}
spec: {schedule: "2026-01-01T00:00:00Z", command: echo once}
`

// always is in both commits, with other values.
const always = `
apiVersion: v1
kind: ConfigMap
metadata: {name: same, namespace: NAME}
data: {v: always}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: NAME}
data: {v: VALUE}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: NAME}
stringData: {v: VALUE}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: NAME}
rules:
- {apiGroups: [""], resources: [pods], verbs: [VERB]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAME}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "web:VALUE", env: [{name: SETTING, valueFrom: {configMapKeyRef: {name: same, key: v}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAME, annotations: {value: VALUE}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NAME, annotations: {tidelock.dev/recreate: enabled}}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: m, image: "migrate:VALUE"}]}
---
apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: v1, namespace: NAME}
spec: {definition: "{openapi: 3.0.3, info: {title: v1 VALUE, version: '1'}, paths: {}}"}
---
apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: v3, namespace: NAME}
spec: {definition: "{openapi: 3.0.3, info: {title: v3, version: '1'}, paths: {}}"}
---
apiVersion: tidelock.dev/v1alpha1
kind: TrafficSplit
metadata: {name: web, namespace: NAME}
spec:
  host: split.example.com
  targets:
  - {name: a, mock: v1, weight: W1}
  - {name: b, mock: v3, weight: W2}
---
apiVersion: tidelock.dev/v1alpha1
kind: ProxyRoute
metadata: {name: web, namespace: NAME}
spec:
  hosts: [web.example.com]
  rules:
  - backend: {mock: TARGET}
---
apiVersion: tidelock.dev/v1alpha1
kind: At
metadata: {name: report, namespace: NAME}
spec: {schedule: "0 HOUR 1 1 *", command: echo VALUE}
---
apiVersion: tidelock.dev/v1alpha1
kind: At
metadata: {name: once, namespace: NAME}
spec: {schedule: "2026-01-01T00:00:00Z", command: echo once}
`

// onlyOne leaves the repository with the second commit.
const onlyOne = `---
apiVersion: v1
kind: ConfigMap
metadata: {name: old, namespace: NAME}
data: {v: old}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: old, namespace: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: legacy, namespace: NAME}
spec:
  selector: {matchLabels: {app: legacy}}
  template:
    metadata: {labels: {app: legacy}}
    spec: {containers: [{name: legacy, image: "legacy:1"}]}
---
apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: old, namespace: NAME}
spec: {definition: "{openapi: 3.0.3, info: {title: old, version: '1'}, paths: {}}", host: old.example.com}
---
apiVersion: tidelock.dev/v1alpha1
kind: At
metadata: {name: old, namespace: NAME}
spec: {schedule: "0 0 1 1 *", command: echo old}
`

// onlyTwo comes with the second commit.
const onlyTwo = `---
apiVersion: v1
kind: Namespace
metadata: {name: NAME-new, annotations: {tidelock.dev/prune: enabled}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: new, namespace: NAME-new}
data: {v: new}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.NAME.example.com, annotations: {tidelock.dev/prune: enabled}}
spec:
  group: NAME.example.com
  names: {kind: Widget, listKind: WidgetList, plural: widgets, singular: widget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
apiVersion: NAME.example.com/v1
kind: Widget
metadata: {name: new, namespace: NAME}
spec: {size: 3}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-new}
rules:
- {apiGroups: [NAME.example.com], resources: [widgets], verbs: [get]}
---
apiVersion: v1
kind: Service
metadata: {name: fresh, namespace: NAME}
spec:
  ports: [{name: http, port: 80}]
---
apiVersion: tidelock.dev/v1alpha1
kind: APIMock
metadata: {name: new, namespace: NAME}
spec: {definition: "{openapi: 3.0.3, info: {title: new, version: '1'}, paths: {}}", host: new.example.com}
---
apiVersion: tidelock.dev/v1alpha1
kind: At
metadata: {name: visit, namespace: NAME}
spec: {schedule: "2026-01-01T00:00:00Z", command: echo visit}
`
